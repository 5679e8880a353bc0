#include <llvm/ADT/SmallVector.h>

#include <algorithm>

#include "codegen/llvm/lowering.hpp"

namespace strata::codegen {

using kernel::Opcode;
using kernel::Scalar;
using kernel::Space;

Lowering::Value* Lowering::memory(const kernel::Instruction& i) {
  switch (i.opcode) {
    case Opcode::load:
      return load(i);
    case Opcode::store:
      store(i);
      break;
    case Opcode::gather:
      return gather(i);
    case Opcode::scatter:
      scatter(i);
      break;
    case Opcode::prefetch:
      prefetch(i);
      break;
    default:
      return atomic(i);
  }
  return nullptr;
}

Lowering::Value* Lowering::from_memory(Scalar s, Value* v) {
  return s == Scalar::boolean ? builder_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}
Lowering::Value* Lowering::to_memory(Scalar s, Value* v) {
  return s == Scalar::boolean ? builder_.CreateZExt(v, like(v, builder_.getInt8Ty())) : v;
}

/// A sum of 64-bit terms becomes a chain of pointer steps, outermost loop first: what does not change in a
/// loop is then hoisted out of it, and constants end up as displacements, without loop strength reduction.
Lowering::Value* Lowering::address(kernel::MemoryId m, Value* index) {
  llvm::SmallVector<Value*, 8> terms, open{index};
  std::int64_t constant = 0;
  while (!open.empty()) {
    auto* v = open.pop_back_val();
    auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(v);
    if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(v)) {
      constant += c->getSExtValue();
    } else if (sum != nullptr && sum->getOpcode() == llvm::Instruction::Add &&
               v->getType()->isIntegerTy(64)) {
      open.push_back(sum->getOperand(1));
      open.push_back(sum->getOperand(0));
    } else {
      terms.push_back(v);
    }
  }
  const auto depth = [&](Value* v) {
    auto* i = llvm::dyn_cast<llvm::Instruction>(v);
    return i == nullptr ? 0u : depths_.lookup(i->getParent());
  };
  std::stable_sort(terms.begin(), terms.end(), [&](Value* a, Value* b) { return depth(a) < depth(b); });
  auto* e = memory_type(kernel_.memories[m].scalar);
  Value* p = bases_[m];
  for (std::size_t n = 0; n < terms.size();) {
    auto* step = builder_.CreateSExt(terms[n], builder_.getInt64Ty());
    const unsigned d = depth(terms[n]);
    for (++n; n < terms.size() && depth(terms[n]) == d; ++n)
      step = builder_.CreateAdd(step, builder_.CreateSExt(terms[n], builder_.getInt64Ty()));
    p = builder_.CreateGEP(e, p, step);
  }
  return constant == 0 ? p
                       : builder_.CreateGEP(e, p, builder_.getInt64(static_cast<std::uint64_t>(constant)));
}

Lowering::Value* Lowering::addresses(kernel::MemoryId m, Value* indices) {
  auto* wide = builder_.CreateSExt(indices, like(indices, builder_.getInt64Ty()));
  return builder_.CreateGEP(memory_type(kernel_.memories[m].scalar), bases_[m], wide);
}

/// The mask as a vector (of one lane for scalars), or null.
Lowering::Value* Lowering::mask_operand(const kernel::Instruction& i, std::size_t n) const {
  return i.operands.size() > n ? operand(i, n) : nullptr;
}

llvm::Align Lowering::alignment(const kernel::Instruction& i, unsigned lane_count) const {
  const auto& m = kernel_.memories[i.memory];
  const std::uint64_t element = kernel::size_of(m.scalar), bytes = lane_count * element;
  if ((i.flags & (kernel::aligned | kernel::non_temporal)) == 0) return llvm::Align(element);
  return llvm::Align(std::max(element, std::min<std::uint64_t>(bytes & (~bytes + 1), m.alignment)));
}

Lowering::Value* Lowering::load_lanes(llvm::Type* type, Value* p) {
  auto* vector = llvm::cast<llvm::FixedVectorType>(type);
  Value* v = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    auto* element = builder_.CreateConstInBoundsGEP1_64(vector->getElementType(), p, lane);
    v = builder_.CreateInsertElement(v, builder_.CreateLoad(vector->getElementType(), element), lane);
  }
  return v;
}

Lowering::Value* Lowering::load(const kernel::Instruction& i) {
  const Scalar s = kernel_.memories[i.memory].scalar;
  const unsigned n = type_of(i.result).lanes;
  auto* t = n == 1 ? memory_type(s) : llvm::FixedVectorType::get(memory_type(s), n);
  auto* p = address(i.memory, operand(i, 0));
  auto* mask = mask_operand(i, 1);
  if (mask == nullptr && n * kernel::size_of(s) > alignment(i, n).value() && !loads_unaligned_vectors())
    return from_memory(s, load_lanes(t, p));
  if (mask == nullptr) return from_memory(s, builder_.CreateAlignedLoad(t, p, alignment(i, n)));
  auto* other = i.operands.size() > 2 ? to_memory(s, operand(i, 2)) : llvm::Constant::getNullValue(t);
  if (n > 1) return from_memory(s, builder_.CreateMaskedLoad(t, p, alignment(i, n), mask, other));
  auto* before = builder_.GetInsertBlock();
  auto *read = new_block("read"), *end = new_block("end");
  builder_.CreateCondBr(mask, read, end);
  move_to(read);
  auto* loaded = builder_.CreateAlignedLoad(t, p, alignment(i, n));
  builder_.CreateBr(end);
  move_to(end);
  auto* result = builder_.CreatePHI(t, 2);
  result->addIncoming(loaded, read);
  result->addIncoming(other, before);
  return from_memory(s, result);
}

void Lowering::store(const kernel::Instruction& i) {
  const Scalar s = kernel_.memories[i.memory].scalar;
  auto* v = to_memory(s, operand(i, 1));
  const unsigned n = lanes_of(v);
  auto* p = address(i.memory, operand(i, 0));
  auto* mask = mask_operand(i, 2);
  if (mask != nullptr && n > 1) {
    builder_.CreateMaskedStore(v, p, alignment(i, n), mask);
    return;
  }
  auto* end = mask == nullptr ? nullptr : new_block("end");
  if (mask != nullptr) {
    auto* write = new_block("write");
    builder_.CreateCondBr(mask, write, end);
    move_to(write);
  }
  auto* stored = builder_.CreateAlignedStore(v, p, alignment(i, n));
  if ((i.flags & kernel::non_temporal) != 0) {
    streams_ = true;
    stored->setMetadata(
        llvm::LLVMContext::MD_nontemporal,
        llvm::MDNode::get(module_.getContext(), llvm::ConstantAsMetadata::get(builder_.getInt32(1))));
  }
  if (end == nullptr) return;
  builder_.CreateBr(end);
  move_to(end);
}

Lowering::Value* Lowering::gather(const kernel::Instruction& i) {
  const Scalar s = kernel_.memories[i.memory].scalar;
  const unsigned n = type_of(i.result).lanes;
  if (n == 1) return load(i);
  auto* t = llvm::FixedVectorType::get(memory_type(s), n);
  return from_memory(s, builder_.CreateMaskedGather(t, addresses(i.memory, operand(i, 0)), alignment(i, 1),
                                                    mask_operand(i, 1), llvm::Constant::getNullValue(t)));
}

void Lowering::scatter(const kernel::Instruction& i) {
  const Scalar s = kernel_.memories[i.memory].scalar;
  if (type_of(i.operands[1]).lanes == 1) return store(i);
  builder_.CreateMaskedScatter(to_memory(s, operand(i, 1)), addresses(i.memory, operand(i, 0)),
                               alignment(i, 1), mask_operand(i, 2));
}

void Lowering::prefetch(const kernel::Instruction& i) {
  if (!has_prefetch() || kernel_.memories[i.memory].space != Space::global) return;
  auto* p = address(i.memory, operand(i, 0));
  const auto write = static_cast<std::uint32_t>(i.immediate != 0);
  builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {p->getType()},
                           {p, builder_.getInt32(write), builder_.getInt32(3), builder_.getInt32(1)});
}

Lowering::Value* Lowering::atomic(const kernel::Instruction& i) {
  const auto& m = kernel_.memories[i.memory];
  const Scalar s = m.scalar;
  const Opcode op = i.opcode == Opcode::atomic_add   ? Opcode::add
                    : i.opcode == Opcode::atomic_min ? Opcode::min
                                                     : Opcode::max;
  auto* p = address(i.memory, operand(i, 0));
  auto* v = operand(i, 1);
  if (units_are_serial() && m.space == Space::shared) {
    auto* old = builder_.CreateAlignedLoad(v->getType(), p, alignment(i, 1));
    builder_.CreateAlignedStore(arithmetic(op, s, old, v), p, alignment(i, 1));
    return old;
  }
  if (kernel::is_float(s) && op != Opcode::add) return exchange_loop(op, s, p, v);
  using R = llvm::AtomicRMWInst::BinOp;
  const bool sign = kernel::is_signed(s);
  const R how = op == Opcode::add   ? (kernel::is_float(s) ? R::FAdd : R::Add)
                : op == Opcode::min ? (sign ? R::Min : R::UMin)
                                    : (sign ? R::Max : R::UMax);
  return builder_.CreateAtomicRMW(how, p, v, llvm::Align(kernel::size_of(s)),
                                  llvm::AtomicOrdering::Monotonic);
}

/// Minima that propagate NaN, which no target has: compare and exchange until nobody came between.
Lowering::Value* Lowering::exchange_loop(Opcode op, Scalar s, Value* p, Value* v) {
  const llvm::Align align(kernel::size_of(s));
  auto* word = builder_.getIntNTy(static_cast<unsigned>(8 * kernel::size_of(s)));
  auto* first = builder_.CreateAlignedLoad(word, p, align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  auto* before = builder_.GetInsertBlock();
  ++depth_;
  auto* loop = new_block("exchange");
  --depth_;
  auto* done = new_block("exchanged");
  builder_.CreateBr(loop);
  move_to(loop);
  auto* seen = builder_.CreatePHI(word, 2);
  seen->addIncoming(first, before);
  auto* old = builder_.CreateBitCast(seen, v->getType());
  auto* now = builder_.CreateBitCast(arithmetic(op, s, old, v), word);
  auto* exchange = builder_.CreateAtomicCmpXchg(p, seen, now, align, llvm::AtomicOrdering::Monotonic,
                                                llvm::AtomicOrdering::Monotonic);
  seen->addIncoming(builder_.CreateExtractValue(exchange, 0), loop);
  builder_.CreateCondBr(builder_.CreateExtractValue(exchange, 1), done, loop);
  move_to(done);
  return old;
}

}  // namespace strata::codegen
