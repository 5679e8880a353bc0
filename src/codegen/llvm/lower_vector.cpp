#include <numeric>

#include "codegen/llvm/lowering.hpp"
#include "strata/dtype.hpp"

namespace strata::codegen {

using kernel::Opcode;
using kernel::Scalar;

Lowering::Value* Lowering::vector(const kernel::Instruction& i) {
  auto* a = operand(i, 0);
  const unsigned n = lanes_of(a);
  switch (i.opcode) {
    case Opcode::splat:
      return splat(a, type_of(i.result).lanes);
    case Opcode::extract:
      return n == 1 ? a : builder_.CreateExtractElement(a, static_cast<std::uint64_t>(i.immediate));
    case Opcode::insert:
      if (n == 1) return operand(i, 1);
      return builder_.CreateInsertElement(a, operand(i, 1), static_cast<std::uint64_t>(i.immediate));
    case Opcode::shuffle: {
      auto* b = operand(i, 1);
      if (n == 1) {
        a = builder_.CreateVectorSplat(1, a);
        b = builder_.CreateVectorSplat(1, b);
      }
      if (type_of(i.result).lanes > 1) return builder_.CreateShuffleVector(a, b, i.indices);
      const auto lane = static_cast<unsigned>(i.indices[0]);
      return lane < n ? builder_.CreateExtractElement(a, lane) : builder_.CreateExtractElement(b, lane - n);
    }
    case Opcode::reduce_add:
      return reduce(Opcode::add, type_of(i.result).scalar, a);
    case Opcode::reduce_mul:
      return reduce(Opcode::mul, type_of(i.result).scalar, a);
    case Opcode::reduce_min:
      return reduce(Opcode::min, type_of(i.result).scalar, a);
    default:
      return reduce(Opcode::max, type_of(i.result).scalar, a);
  }
}

Lowering::Value* Lowering::splat(Value* x, unsigned count) {
  return count == 1 ? x : builder_.CreateVectorSplat(count, x);
}

/// Lanes [first, first + count) as a vector, or a scalar when it is one.
Lowering::Value* Lowering::lanes(Value* v, unsigned first, unsigned count) {
  if (count == lanes_of(v)) return v;
  if (count == 1) return builder_.CreateExtractElement(v, first);
  llvm::SmallVector<int, 64> indices(count);
  std::iota(indices.begin(), indices.end(), static_cast<int>(first));
  return builder_.CreateShuffleVector(v, indices);
}

Lowering::Value* Lowering::lane_index(kernel::Type t) {
  auto* e = element_type(t.scalar);
  llvm::SmallVector<llvm::Constant*, 64> values;
  for (unsigned l = 0; l < t.lanes; ++l) {
    if (e->isFloatingPointTy())
      values.push_back(llvm::ConstantFP::get(e, l));
    else if (t.scalar == Scalar::f16)
      values.push_back(builder_.getInt16(Float16(static_cast<float>(l)).bits));
    else if (t.scalar == Scalar::bf16)
      values.push_back(builder_.getInt16(BFloat16(static_cast<float>(l)).bits));
    else
      values.push_back(llvm::ConstantInt::get(e, l));
  }
  return t.lanes == 1 ? values[0] : llvm::ConstantVector::get(values);
}

/// In halves, the middle lane of an odd count waiting for the next round (the order ir.hpp promises).
Lowering::Value* Lowering::reduce(Opcode op, Scalar s, Value* v) {
  for (unsigned n = lanes_of(v); n > 1;) {
    const unsigned half = (n + 1) / 2, pairs = n - half;
    auto* sum = arithmetic(op, s, lanes(v, 0, pairs), lanes(v, half, pairs));
    if (pairs != half) {
      auto* middle = builder_.CreateExtractElement(v, half - 1);
      llvm::SmallVector<int, 64> indices(half, -1);
      std::iota(indices.begin(), indices.end() - 1, 0);
      auto* wider =
          pairs == 1 ? builder_.CreateVectorSplat(2, sum) : builder_.CreateShuffleVector(sum, indices);
      sum = builder_.CreateInsertElement(wider, middle, half - 1);
    }
    v = sum;
    n = half;
  }
  return v;
}

Lowering::Value* Lowering::in_pieces(Value* v, Value* w, unsigned width,
                                     const std::function<Value*(Value*, Value*)>& f) {
  const unsigned n = lanes_of(v);
  const auto piece = [&](Value* x, unsigned first) -> Value* {
    if (n == 1)
      return builder_.CreateInsertElement(
          llvm::PoisonValue::get(llvm::FixedVectorType::get(x->getType(), width)), x, std::uint64_t{0});
    llvm::SmallVector<int, 64> indices(width, -1);
    for (unsigned l = 0; l < width && first + l < n; ++l) indices[l] = static_cast<int>(first + l);
    return builder_.CreateShuffleVector(x, indices);
  };
  Value* joined = nullptr;
  for (unsigned first = 0; first < n; first += width) {
    auto* r = f(piece(v, first), piece(w, first));
    if (n == 1) return builder_.CreateExtractElement(r, std::uint64_t{0});
    llvm::SmallVector<int, 64> spread(n, -1), merge(n);
    for (unsigned l = 0; l < width && first + l < n; ++l) spread[first + l] = static_cast<int>(l);
    auto* wide = builder_.CreateShuffleVector(r, spread);
    if (joined == nullptr) {
      joined = wide;
      continue;
    }
    for (unsigned l = 0; l < n; ++l) merge[l] = static_cast<int>(l < first ? l : n + l);
    joined = builder_.CreateShuffleVector(joined, wide, merge);
  }
  return joined;
}

}  // namespace strata::codegen
