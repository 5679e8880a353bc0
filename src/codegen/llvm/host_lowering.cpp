#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/targets.hpp"

namespace strata::codegen {
namespace {

using kernel::Builtin;
using kernel::Space;

/// The function is a `codegen::HostKernel`: a loop over cubes. A cube is one unit here (units became loops
/// before).
class HostLowering final : public Lowering {
 public:
  HostLowering(const kernel::Kernel& kernel, llvm::Module& module, const HostFeatures& features)
      : Lowering(kernel, module), features_(features) {}

 private:
  void open() override {
    if (kernel_.units() != 1)
      fail("units of a cube have to become loops before they are lowered for the host");
    llvm::Type *pointer = builder_.getPtrTy(), *i64 = builder_.getInt64Ty();
    auto* t =
        llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, pointer, pointer, i64, i64}, false);
    function_ = llvm::Function::Create(t, llvm::Function::ExternalLinkage, kernel_.name, module_);
    function_->setDoesNotThrow();
    function_->addFnAttr("no-builtins");
    for (unsigned n = 0; n < 4; ++n) {
      function_->addParamAttr(n, llvm::Attribute::NoAlias);
      function_->addParamAttr(n, llvm::Attribute::ReadOnly);
    }
    move_to(new_block("entry"));
    arguments();
    arrays();
    cubes();
  }

  /// What lies in the argument arrays does not change, whatever the kernel writes.
  Value* argument(unsigned array, std::size_t n, llvm::Type* t, std::uint64_t stride) {
    auto* p = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), function_->getArg(array), n * stride);
    auto* l = builder_.CreateAlignedLoad(t, p, llvm::Align(std::min<std::uint64_t>(stride, 8)));
    l->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module_.getContext(), {}));
    return l;
  }

  void arguments() {
    for (std::size_t m = 0; m < kernel_.buffer_count(); ++m) {
      bases_[m] = argument(0, m, builder_.getPtrTy(), 8);
      lengths_.push_back(argument(1, m, builder_.getInt64Ty(), 8));
    }
    for (std::size_t n = 0; n < kernel_.scalars.size(); ++n) {
      const auto s = kernel_.scalars[n].scalar;
      parameters_.push_back(from_memory(s, argument(2, n, memory_type(s), 8)));
    }
    for (unsigned axis = 0; axis < 3; ++axis) count_[axis] = argument(3, axis, builder_.getInt32Ty(), 4);
  }

  void arrays() {
    constexpr std::int64_t most = std::int64_t{4} << 20;  // threads have stacks of 8 MiB
    std::int64_t bytes = 0;
    for (std::size_t m = kernel_.buffer_count(); m < kernel_.memories.size(); ++m) {
      const auto& memory = kernel_.memories[m];
      bytes += memory.length * static_cast<std::int64_t>(kernel::size_of(memory.scalar));
      if (memory.length > most || bytes > most) fail("shared and local arrays exceed 4 MiB");
      auto* t = llvm::ArrayType::get(memory_type(memory.scalar), static_cast<std::uint64_t>(memory.length));
      auto* a = builder_.CreateAlloca(t, nullptr, memory.name);
      a->setAlignment(llvm::Align(memory.alignment));
      bases_[m] = a;
    }
  }

  /// Positions are counted up; only a call that starts behind the first row divides.
  void cubes() {
    auto *begin = function_->getArg(4), *end = function_->getArg(5);
    auto *some = new_block("some"), *divide = new_block("divide"), *start = new_block("start"),
         *done = new_block("done");
    ++depth_;
    auto* cube = new_block("cube");
    unit_end_ = new_block("next");
    --depth_;
    auto* i32 = builder_.getInt32Ty();
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), some, done);

    move_to(some);
    auto* x0 = builder_.CreateTrunc(begin, i32);
    auto* count_x = builder_.CreateZExt(count_[0], builder_.getInt64Ty());
    builder_.CreateCondBr(builder_.CreateICmpULT(begin, count_x), start, divide);

    move_to(divide);
    auto* row = builder_.CreateUDiv(begin, count_x);
    auto* x1 = builder_.CreateTrunc(builder_.CreateURem(begin, count_x), i32);
    auto* count_y = builder_.CreateZExt(count_[1], builder_.getInt64Ty());
    auto* z1 = builder_.CreateTrunc(builder_.CreateUDiv(row, count_y), i32);
    auto* y1 = builder_.CreateTrunc(builder_.CreateURem(row, count_y), i32);
    builder_.CreateBr(start);

    move_to(start);
    Value* first[3];
    for (unsigned axis = 0; axis < 3; ++axis) {
      auto* phi = builder_.CreatePHI(i32, 2);
      phi->addIncoming(axis == 0 ? x0 : builder_.getInt32(0), some);
      phi->addIncoming(axis == 0 ? x1 : axis == 1 ? y1 : z1, divide);
      first[axis] = phi;
    }
    builder_.CreateBr(cube);

    move_to(cube);
    linear_ = builder_.CreatePHI(builder_.getInt64Ty(), 2, "cube");
    linear_->addIncoming(begin, start);
    for (unsigned axis = 0; axis < 3; ++axis) {
      position_[axis] = builder_.CreatePHI(i32, 2);
      position_[axis]->addIncoming(first[axis], start);
    }
    head_ = cube;
    done_ = done;
    ++depth_;
  }

  void close() override {
    --depth_;
    auto* next = builder_.CreateNSWAdd(linear_, builder_.getInt64(1));
    linear_->addIncoming(next, unit_end_);
    Value* carry = builder_.getInt32(1);
    for (unsigned axis = 0; axis < 3; ++axis) {
      auto* sum = builder_.CreateAdd(position_[axis], carry);
      auto* wraps = builder_.CreateICmpEQ(sum, count_[axis]);
      position_[axis]->addIncoming(builder_.CreateSelect(wraps, builder_.getInt32(0), sum), unit_end_);
      carry = builder_.CreateZExt(wraps, builder_.getInt32Ty());
    }
    keep_rolled(builder_.CreateCondBr(builder_.CreateICmpSLT(next, function_->getArg(5)), head_, done_));
    move_to(done_);
    // x86 does not order non-temporal stores with the release operation that ends a thread's part of a
    // launch.
    if (streams_ && llvm::Triple(module_.getTargetTriple()).isX86()) {
      builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    }
    builder_.CreateRetVoid();
  }

  Value* builtin(Builtin b) override {
    switch (b) {
      case Builtin::cube_x:
      case Builtin::cube_y:
      case Builtin::cube_z:
        return position_[static_cast<int>(b) - static_cast<int>(Builtin::cube_x)];
      case Builtin::cube_count_x:
      case Builtin::cube_count_y:
      case Builtin::cube_count_z:
        return count_[static_cast<int>(b) - static_cast<int>(Builtin::cube_count_x)];
      default:
        return builder_.getInt32(0);
    }
  }
  void barrier() override {}
  /// A plane is one unit: every shuffle and reduction gives the unit its own value.
  Value* plane(const kernel::Instruction& i) override { return operand(i, 0); }
  bool has_prefetch() const override { return true; }
  bool loads_unaligned_vectors() const override { return true; }
  bool units_are_serial() const override { return true; }
  std::size_t longest_unrolled_body() const override { return 0; }

  Value* minimum(Value* a, Value* b) override {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, a, b);
  }
  Value* maximum(Value* a, Value* b) override {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, a, b);
  }
  Value* widen_f16(Value* bits) override {
    if (!features_.f16c) return Lowering::widen_f16(bits);
    auto* half = builder_.CreateBitCast(bits, like(bits, builder_.getHalfTy()));
    return builder_.CreateFPExt(half, like(bits, builder_.getFloatTy()));
  }
  Value* narrow_f16(Value* x) override {
    if (!features_.f16c) return Lowering::narrow_f16(x);
    auto* half = builder_.CreateFPTrunc(x, like(x, builder_.getHalfTy()));
    return builder_.CreateBitCast(half, like(x, builder_.getInt16Ty()));
  }
  Value* scale_exponent(Value* x, Value* n) override {
    if (!features_.avx512) return Lowering::scale_exponent(x, n);
    const bool single = x->getType()->getScalarType()->isFloatTy();
    auto* as_float = builder_.CreateSIToFP(n, x->getType());
    const unsigned wide = single ? 16 : 8, width = lanes_of(x) <= wide / 4   ? wide / 4
                                                   : lanes_of(x) <= wide / 2 ? wide / 2
                                                                             : wide;
    return in_pieces(x, as_float, width,
                     [&](Value* a, Value* b) { return scalef(a, b, single, width == wide); });
  }
  Value* scalef(Value* a, Value* b, bool single, bool full) {
    const bool quarter = lanes_of(a) == (single ? 4u : 2u);
    const auto id = single ? (full      ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                              : quarter ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_128
                                        : llvm::Intrinsic::x86_avx512_mask_scalef_ps_256)
                           : (full      ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                              : quarter ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_128
                                        : llvm::Intrinsic::x86_avx512_mask_scalef_pd_256);
    auto* mask =
        llvm::Constant::getAllOnesValue(single && full ? builder_.getInt16Ty() : builder_.getInt8Ty());
    std::vector<Value*> operands{a, b, a, mask};
    if (full) operands.push_back(builder_.getInt32(4));  // the current rounding mode
    return builder_.CreateIntrinsic(id, {}, operands);
  }

  HostFeatures features_;
  Value* count_[3] = {};
  llvm::PHINode* linear_ = nullptr;
  llvm::PHINode* position_[3] = {};
  llvm::BasicBlock *head_ = nullptr, *done_ = nullptr;
};

}  // namespace

void lower_for_host(const kernel::Kernel& kernel, llvm::Module& module, const HostFeatures& features) {
  HostLowering(kernel, module, features).run();
}

}  // namespace strata::codegen
