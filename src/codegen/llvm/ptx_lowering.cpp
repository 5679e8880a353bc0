#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <cctype>

#include "codegen/llvm/targets.hpp"

namespace strata::codegen {
namespace {

using kernel::Builtin;
using kernel::Opcode;
using kernel::Scalar;
using kernel::Space;

constexpr unsigned global_space = 1, shared_space = 3;
constexpr std::uint32_t plane_size = 32;

/// An `.entry` function; parameters as compiler.hpp says.
class PtxLowering final : public Lowering {
 public:
  using Lowering::Lowering;
  PtxLowering(const kernel::Kernel& kernel, llvm::Module& module) : Lowering(kernel, module) {}

 private:
  void open() override {
    check_limits();
    const std::size_t buffers = kernel_.buffer_count();
    std::vector<llvm::Type*> types(buffers, builder_.getPtrTy(global_space));
    types.resize(2 * buffers + kernel_.scalars.size(), builder_.getInt64Ty());
    auto* t = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
    function_ = llvm::Function::Create(t, llvm::Function::ExternalLinkage, kernel_.name, module_);
    function_->setDoesNotThrow();
    annotate();
    move_to(new_block("entry"));
    for (unsigned m = 0; m < buffers; ++m) {
      if (!kernel_.memories[m].written) {  // lets reads go through the read-only cache, and before stores
        function_->addParamAttr(m, llvm::Attribute::NoAlias);
        function_->addParamAttr(m, llvm::Attribute::ReadOnly);
      }
      bases_[m] = function_->getArg(m);
      lengths_.push_back(function_->getArg(static_cast<unsigned>(buffers) + m));
    }
    for (std::size_t n = 0; n < kernel_.scalars.size(); ++n) {
      const auto s = kernel_.scalars[n].scalar;
      auto* word = function_->getArg(static_cast<unsigned>(2 * buffers + n));
      const auto bits = static_cast<unsigned>(8 * kernel::size_of(s));
      auto* narrow = builder_.CreateTrunc(word, builder_.getIntNTy(bits));
      parameters_.push_back(from_memory(s, builder_.CreateBitCast(narrow, memory_type(s))));
    }
    arrays();
    unit_end_ = new_block("end");
  }
  void close() override { builder_.CreateRetVoid(); }

  void check_limits() const {
    const auto letter = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
    };
    const auto& name = kernel_.name;
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0 ||
        !std::all_of(name.begin(), name.end(), letter))
      fail("PTX names consist of letters, digits, _ and $");
    if (kernel_.units() > 1024)
      fail("PTX allows 1024 units in a cube, not " + std::to_string(kernel_.units()));
  }

  void annotate() {
    auto& c = module_.getContext();
    const auto number = [&](std::uint32_t n) { return llvm::ConstantAsMetadata::get(builder_.getInt32(n)); };
    std::vector<llvm::Metadata*> nodes{llvm::ValueAsMetadata::get(function_),
                                       llvm::MDString::get(c, "kernel"), number(1)};
    const char* names[] = {"reqntidx", "reqntidy", "reqntidz"};
    for (unsigned axis = 0; axis < 3; ++axis) {
      nodes.push_back(llvm::MDString::get(c, names[axis]));
      nodes.push_back(number(kernel_.cube_dim[axis]));
    }
    if (kernel_.resident_cubes > 0) {
      nodes.push_back(llvm::MDString::get(c, "minctasm"));
      nodes.push_back(number(kernel_.resident_cubes));
    }
    module_.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(c, nodes));
  }

  void arrays() {
    constexpr std::int64_t most = 227 << 10;  // of one cube, on the largest
    const auto shared = kernel_.shared_bytes();
    if (shared > most) fail("shared arrays exceed 227 KiB");
    auto* dynamic = shared > kernel::fixed_shared_bytes ? dynamic_array() : nullptr;
    std::int64_t used = 0;
    for (std::size_t m = kernel_.buffer_count(); m < kernel_.memories.size(); ++m) {
      const auto& memory = kernel_.memories[m];
      auto* t = llvm::ArrayType::get(memory_type(memory.scalar), static_cast<std::uint64_t>(memory.length));
      if (memory.space == Space::shared && dynamic != nullptr) {
        const std::int64_t alignment = memory.alignment;
        used = (used + alignment - 1) / alignment * alignment;
        bases_[m] = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), dynamic,
                                                        static_cast<std::uint64_t>(used));
        used += memory.length * static_cast<std::int64_t>(kernel::size_of(memory.scalar));
      } else if (memory.space == Space::shared) {
        auto* g = new llvm::GlobalVariable(module_, t, false, llvm::GlobalValue::InternalLinkage,
                                           llvm::UndefValue::get(t), "shared" + std::to_string(m), nullptr,
                                           llvm::GlobalValue::NotThreadLocal, shared_space);
        g->setAlignment(llvm::Align(memory.alignment));
        bases_[m] = g;
      } else {
        auto* a = builder_.CreateAlloca(t);
        a->setAlignment(llvm::Align(std::min<std::uint32_t>(memory.alignment, 16)));
        bases_[m] = a;
      }
    }
  }
  /// Its length is an argument of the launch.
  Value* dynamic_array() {
    auto* t = llvm::ArrayType::get(builder_.getInt8Ty(), 0);
    auto* g = new llvm::GlobalVariable(module_, t, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                       "shared", nullptr, llvm::GlobalValue::NotThreadLocal, shared_space);
    g->setAlignment(llvm::Align(128));
    return g;
  }

  Value* call(llvm::Intrinsic::ID id, std::initializer_list<Value*> operands = {}) {
    return builder_.CreateIntrinsic(id, {}, llvm::ArrayRef<Value*>(operands.begin(), operands.size()));
  }

  Value* builtin(Builtin b) override {
    using namespace llvm;  // NOLINT(google-build-using-namespace): a table of one namespace's names
    static constexpr Intrinsic::ID registers[] = {
        Intrinsic::nvvm_read_ptx_sreg_tid_x,    Intrinsic::nvvm_read_ptx_sreg_tid_y,
        Intrinsic::nvvm_read_ptx_sreg_tid_z,    Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
        Intrinsic::nvvm_read_ptx_sreg_ctaid_y,  Intrinsic::nvvm_read_ptx_sreg_ctaid_z,
        Intrinsic::nvvm_read_ptx_sreg_nctaid_x, Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
        Intrinsic::nvvm_read_ptx_sreg_nctaid_z, Intrinsic::nvvm_read_ptx_sreg_laneid};
    return call(registers[static_cast<int>(b)]);
  }
  void barrier() override { call(llvm::Intrinsic::nvvm_barrier0); }
  bool has_prefetch() const override { return false; }
  /// LLVM 19 makes a vector load of bytes one aligned access, whatever its alignment says.
  bool loads_unaligned_vectors() const override { return false; }
  bool units_are_serial() const override { return false; }
  /// ptxas puts the loads of several iterations before their first use.
  std::size_t longest_unrolled_body() const override { return 96; }

  /// min.NaN exists for f32 only.
  Value* minimum(Value* a, Value* b) override {
    return nan_aware(llvm::Intrinsic::minimum, llvm::Intrinsic::minnum, a, b);
  }
  Value* maximum(Value* a, Value* b) override {
    return nan_aware(llvm::Intrinsic::maximum, llvm::Intrinsic::maxnum, a, b);
  }
  Value* nan_aware(llvm::Intrinsic::ID single, llvm::Intrinsic::ID other, Value* a, Value* b) {
    if (a->getType()->getScalarType()->isFloatTy()) return builder_.CreateBinaryIntrinsic(single, a, b);
    auto* r = builder_.CreateBinaryIntrinsic(other, a, b);
    return builder_.CreateSelect(builder_.CreateFCmpUNO(a, b), llvm::ConstantFP::getNaN(a->getType()), r);
  }
  Value* approximate(Opcode op, Value* a) override {
    if (const unsigned n = lanes_of(a); n > 1) {
      Value* r = llvm::PoisonValue::get(a->getType());
      for (unsigned l = 0; l < n; ++l)
        r = builder_.CreateInsertElement(r, approximate(op, builder_.CreateExtractElement(a, l)), l);
      return r;
    }
    auto* type = llvm::FunctionType::get(builder_.getFloatTy(), {builder_.getFloatTy()}, false);
    const char* text = op == Opcode::exp2_fast ? "ex2.approx.f32 $0, $1;" : "rcp.approx.f32 $0, $1;";
    return builder_.CreateCall(type, llvm::InlineAsm::get(type, text, "=f,f", false), {a});
  }
  Value* widen_f16(Value* bits) override {
    auto* half = builder_.CreateBitCast(bits, like(bits, builder_.getHalfTy()));
    return builder_.CreateFPExt(half, like(bits, builder_.getFloatTy()));
  }
  Value* narrow_f16(Value* x) override {
    auto* half = builder_.CreateFPTrunc(x, like(x, builder_.getHalfTy()));
    return builder_.CreateBitCast(half, like(x, builder_.getInt16Ty()));
  }
  /// Two at a time.
  Value* narrow_bf16(Value* x) override {
    const unsigned n = lanes_of(x);
    const auto lane = [&](unsigned l) { return n > 1 ? builder_.CreateExtractElement(x, l) : x; };
    auto* bits = builder_.getInt16Ty();
    if (n == 1) return builder_.CreateBitCast(call(llvm::Intrinsic::nvvm_f2bf16_rn, {x}), bits);
    Value* r = llvm::PoisonValue::get(like(x, bits));
    for (unsigned l = 0; l < n; l += 2) {
      auto* upper = l + 1 < n ? lane(l + 1) : lane(l);
      auto* pair = builder_.CreateBitCast(call(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {upper, lane(l)}),
                                          llvm::FixedVectorType::get(bits, 2));
      for (unsigned e = 0; e < 2 && l + e < n; ++e)
        r = builder_.CreateInsertElement(r, builder_.CreateExtractElement(pair, e), l + e);
    }
    return r;
  }

  // --- matrices and copies past the registers

  /// One line of PTX; what has an effect keeps its place among the others.
  Value* assembly(llvm::Type* result, const char* text, const char* constraints,
                  llvm::ArrayRef<Value*> operands, bool effect) {
    std::vector<llvm::Type*> types;
    for (auto* v : operands) types.push_back(v->getType());
    auto* t = llvm::FunctionType::get(result, types, false);
    auto* call = builder_.CreateCall(t, llvm::InlineAsm::get(t, text, constraints, effect), operands);
    call->setConvergent();
    call->setDoesNotThrow();
    return call;
  }
  /// Lanes [first, first + 2 words) of a vector of halves as 32-bit words.
  std::vector<Value*> words(Value* halves) {
    auto* t = llvm::FixedVectorType::get(builder_.getInt32Ty(), lanes_of(halves) / 2);
    auto* v = builder_.CreateBitCast(halves, t);
    std::vector<Value*> r;
    for (unsigned n = 0; n < t->getNumElements(); ++n) r.push_back(builder_.CreateExtractElement(v, n));
    return r;
  }
  /// Lanes of f32 in the format of tf32.
  std::vector<Value*> rounded_words(Value* singles) {
    std::vector<Value*> r;
    for (unsigned n = 0; n < lanes_of(singles); ++n)
      r.push_back(call(llvm::Intrinsic::nvvm_f2tf32_rna, {builder_.CreateExtractElement(singles, n)}));
    return r;
  }
  Value* shared_address(kernel::MemoryId m, Value* index) {
    return builder_.CreatePtrToInt(address(m, index), builder_.getInt32Ty());
  }

  Value* matrix_unit(const kernel::Instruction& i) override {
    auto* none = builder_.getVoidTy();
    switch (i.opcode) {
      case Opcode::matrix_multiply:
        return multiply(i);
      case Opcode::load_matrix:
        return load_matrix(i);
      case Opcode::copy_async: {
        auto* to = shared_address(i.memory, operand(i, 0));
        auto* from = address(static_cast<kernel::MemoryId>(i.immediate), operand(i, 1));
        if (i.operands.size() == 2) {
          assembly(none, "cp.async.cg.shared.global [$0], [$1], 16;", "r,l,~{memory}", {to, from}, true);
        } else {
          auto* bytes = builder_.CreateSelect(operand(i, 2), builder_.getInt32(16), builder_.getInt32(0));
          assembly(none, "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}",
                   {to, from, bytes}, true);
        }
        return nullptr;
      }
      case Opcode::copy_commit:
        assembly(none, "cp.async.commit_group;", "~{memory}", {}, true);
        return nullptr;
      default:
        assembly(none, "cp.async.wait_group $0;", "n,~{memory}",
                 {builder_.getInt32(static_cast<std::uint32_t>(i.immediate))}, true);
        return nullptr;
    }
  }
  Value* load_matrix(const kernel::Instruction& i) {
    auto* word = builder_.getInt32Ty();
    auto* four = llvm::StructType::get(word, word, word, word);
    auto* loaded =
        assembly(four,
                 i.immediate ? "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4];"
                             : "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];",
                 "=r,=r,=r,=r,r,~{memory}", {shared_address(i.memory, operand(i, 0))}, true);
    Value* v = llvm::PoisonValue::get(llvm::FixedVectorType::get(word, 4));
    for (unsigned n = 0; n < 4; ++n)
      v = builder_.CreateInsertElement(v, builder_.CreateExtractValue(loaded, n), n);
    return builder_.CreateBitCast(v, type(type_of(i.result)));
  }
  Value* multiply(const kernel::Instruction& i) {
    const auto& s = kernel_.matrix_shapes[static_cast<std::size_t>(i.immediate)];
    const bool halves = kernel::is_half(s.a);
    const unsigned lanes = halves ? 4 : 2;  // of b
    const bool known = s.m == 16 && s.n == 8 && s.k == (halves ? 16 : 8) && (halves || s.a == Scalar::f32) &&
                       s.a == s.b && s.c == Scalar::f32 && lanes_of(operand(i, 0)) == 2 * lanes &&
                       lanes_of(operand(i, 1)) == lanes && lanes_of(operand(i, 2)) == 4;
    if (!known)
      fail(i, "this shape has no instruction: m16n8k16 of halves and m16n8k8 of f32 with f32 sums have");
    std::vector<Value*> operands;
    for (std::size_t n = 0; n < 2; ++n) {
      for (auto* w : halves ? words(operand(i, n)) : rounded_words(operand(i, n))) operands.push_back(w);
    }
    for (unsigned n = 0; n < 4; ++n) operands.push_back(builder_.CreateExtractElement(operand(i, 2), n));
    auto* f = builder_.getFloatTy();
    auto* sums =
        assembly(llvm::StructType::get(f, f, f, f),
                 s.a == Scalar::f32    ? "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$0, $1, "
                                         "$2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};"
                 : s.a == Scalar::bf16 ? "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0, "
                                         "$1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};"
                                       : "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, "
                                         "$2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};",
                 "=f,=f,=f,=f,r,r,r,r,r,r,0,1,2,3", operands, false);
    Value* v = llvm::PoisonValue::get(llvm::FixedVectorType::get(f, 4));
    for (unsigned n = 0; n < 4; ++n)
      v = builder_.CreateInsertElement(v, builder_.CreateExtractValue(sums, n), n);
    return v;
  }

  // --- planes. All units of a plane have to come by together; the last plane of a cube may be short.

  std::uint32_t units_in_last_plane() const {
    const auto rest = kernel_.units() % plane_size;
    return rest == 0 ? plane_size : rest;
  }
  /// Units of this plane: an i32.
  Value* plane_units() {
    if (units_in_last_plane() == plane_size) return builder_.getInt32(plane_size);
    auto* y = builder_.CreateAdd(
        builtin(Builtin::unit_y),
        builder_.CreateMul(builtin(Builtin::unit_z), builder_.getInt32(kernel_.cube_dim[1])));
    auto* linear = builder_.CreateAdd(builtin(Builtin::unit_x),
                                      builder_.CreateMul(y, builder_.getInt32(kernel_.cube_dim[0])));
    const auto full = kernel_.units() / plane_size * plane_size;
    return builder_.CreateSelect(builder_.CreateICmpULT(linear, builder_.getInt32(full)),
                                 builder_.getInt32(plane_size), builder_.getInt32(units_in_last_plane()));
  }
  Value* members(Value* units) {
    return builder_.CreateLShr(builder_.getInt32(~0u),
                               builder_.CreateSub(builder_.getInt32(plane_size), units));
  }

  /// One 32-bit word through `shfl.sync`; wider and narrower lanes are cut and padded.
  Value* shuffled(Value* v, const std::function<Value*(Value*)>& word) {
    if (const unsigned n = lanes_of(v); n > 1) {
      Value* r = llvm::PoisonValue::get(v->getType());
      for (unsigned l = 0; l < n; ++l)
        r = builder_.CreateInsertElement(r, shuffled(builder_.CreateExtractElement(v, l), word), l);
      return r;
    }
    const unsigned bits = v->getType()->getPrimitiveSizeInBits();
    auto* raw = builder_.CreateBitCast(v, builder_.getIntNTy(bits));
    auto* i32 = builder_.getInt32Ty();
    if (bits <= 32) {
      auto* moved = word(builder_.CreateZExt(raw, i32));
      return builder_.CreateBitCast(builder_.CreateTrunc(moved, raw->getType()), v->getType());
    }
    auto* low = word(builder_.CreateTrunc(raw, i32));
    auto* high = word(builder_.CreateTrunc(builder_.CreateLShr(raw, 32), i32));
    auto* joined = builder_.CreateOr(builder_.CreateZExt(low, raw->getType()),
                                     builder_.CreateShl(builder_.CreateZExt(high, raw->getType()), 32));
    return builder_.CreateBitCast(joined, v->getType());
  }
  Value* shuffle(llvm::Intrinsic::ID id, Value* v, Value* lane) {
    auto* mask = members(plane_units());
    return shuffled(v, [&](Value* word) {
      return call(id, {mask, word, lane, builder_.getInt32(plane_size - 1)});
    });
  }

  Value* plane(const kernel::Instruction& i) override {
    auto* v = operand(i, 0);
    if (i.opcode == Opcode::plane_shuffle || i.opcode == Opcode::plane_shuffle_xor) {
      auto* lane = operand(i, 1);
      if (i.opcode == Opcode::plane_shuffle_xor)
        lane = builder_.CreateXor(lane, builtin(Builtin::plane_lane));
      auto* inside = builder_.CreateICmpULT(lane, plane_units());
      return builder_.CreateSelect(inside, shuffle(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, v, lane), v);
    }
    const Opcode op = i.opcode == Opcode::plane_reduce_add   ? Opcode::add
                      : i.opcode == Opcode::plane_reduce_min ? Opcode::min
                                                             : Opcode::max;
    const Scalar s = type_of(i.result).scalar;
    if (v->getType()->isIntegerTy(32)) return redux(op, s, v);
    return units_in_last_plane() == plane_size ? butterfly(op, s, v) : fold(op, s, v);
  }

  Value* redux(Opcode op, Scalar s, Value* v) {
    const bool sign = kernel::is_signed(s);
    const auto id =
        op == Opcode::add ? llvm::Intrinsic::nvvm_redux_sync_add
        : op == Opcode::min
            ? (sign ? llvm::Intrinsic::nvvm_redux_sync_min : llvm::Intrinsic::nvvm_redux_sync_umin)
            : (sign ? llvm::Intrinsic::nvvm_redux_sync_max : llvm::Intrinsic::nvvm_redux_sync_umax);
    return call(id, {v, members(plane_units())});
  }
  Value* butterfly(Opcode op, Scalar s, Value* v) {
    for (std::uint32_t step = plane_size / 2; step > 0; step /= 2)
      v = arithmetic(op, s, v, shuffle(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, v, builder_.getInt32(step)));
    return v;
  }
  /// A short plane: sum into lane 0, then hand out.
  Value* fold(Opcode op, Scalar s, Value* v) {
    auto *units = plane_units(), *lane = builtin(Builtin::plane_lane);
    for (std::uint32_t step = plane_size / 2; step > 0; step /= 2) {
      auto* sum =
          arithmetic(op, s, v, shuffle(llvm::Intrinsic::nvvm_shfl_sync_down_i32, v, builder_.getInt32(step)));
      auto* inside = builder_.CreateICmpULT(builder_.CreateAdd(lane, builder_.getInt32(step)), units);
      v = builder_.CreateSelect(inside, sum, v);
    }
    return shuffle(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, v, builder_.getInt32(0));
  }
};

}  // namespace

void lower_for_ptx(const kernel::Kernel& kernel, llvm::Module& module) { PtxLowering(kernel, module).run(); }

}  // namespace strata::codegen
