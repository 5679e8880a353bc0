#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/lowering.hpp"

namespace strata::codegen {

using kernel::Opcode;
using kernel::Scalar;

llvm::Type* Lowering::element_type(Scalar s) {
  switch (s) {
    case Scalar::f64:
      return builder_.getDoubleTy();
    case Scalar::f32:
      return builder_.getFloatTy();
    case Scalar::f16:
    case Scalar::bf16:
      return builder_.getInt16Ty();
    case Scalar::i64:
    case Scalar::u64:
      return builder_.getInt64Ty();
    case Scalar::i32:
    case Scalar::u32:
      return builder_.getInt32Ty();
    case Scalar::u8:
      return builder_.getInt8Ty();
    case Scalar::boolean:
      return builder_.getInt1Ty();
  }
  fail("unknown scalar type");
}
llvm::Type* Lowering::memory_type(Scalar s) {
  return s == Scalar::boolean ? builder_.getInt8Ty() : element_type(s);
}
llvm::Type* Lowering::type(kernel::Type t) {
  auto* e = element_type(t.scalar);
  return t.lanes == 1 ? e : llvm::FixedVectorType::get(e, t.lanes);
}
llvm::Type* Lowering::like(Value* shape, llvm::Type* element) {
  auto* v = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType());
  return v == nullptr ? element : llvm::FixedVectorType::get(element, v->getNumElements());
}
unsigned Lowering::lanes_of(Value* v) {
  auto* t = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return t == nullptr ? 1 : t->getNumElements();
}

Lowering::Value* Lowering::constant(kernel::Type t, std::int64_t bits) {
  auto* e = element_type(t.scalar);
  const unsigned width = e->getPrimitiveSizeInBits();
  const llvm::APInt raw(64, static_cast<std::uint64_t>(bits));
  llvm::Constant* c = nullptr;
  if (e->isFloatingPointTy())
    c = llvm::ConstantFP::get(module_.getContext(), llvm::APFloat(e->getFltSemantics(), raw.trunc(width)));
  else
    c = llvm::ConstantInt::get(module_.getContext(), raw.trunc(width));
  return t.lanes == 1 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(t.lanes), c);
}
Lowering::Value* Lowering::real(Value* shape, double x) { return llvm::ConstantFP::get(shape->getType(), x); }
Lowering::Value* Lowering::integer(Value* shape, std::int64_t x) {
  return llvm::ConstantInt::get(shape->getType(), static_cast<std::uint64_t>(x), true);
}

Lowering::Value* Lowering::intrinsic(llvm::Intrinsic::ID id, Value* a) {
  return builder_.CreateUnaryIntrinsic(id, a);
}

Lowering::Value* Lowering::matrix_unit(const kernel::Instruction& i) {
  fail(i, "has no instruction on this target");
}
Lowering::Value* Lowering::approximate(Opcode op, Value*) {
  fail(std::string(kernel::name_of(op)) + " has no instruction on this target");
}

Lowering::Value* Lowering::elementwise(const kernel::Instruction& i) {
  const Opcode op = i.opcode;
  const Scalar s = type_of(i.operands[0]).scalar;
  auto* a = operand(i, 0);
  if (op == Opcode::select) return builder_.CreateSelect(a, operand(i, 1), operand(i, 2));
  if (op == Opcode::convert) return convert(a, s, type_of(i.result).scalar);
  if (op == Opcode::bitcast) return builder_.CreateBitCast(a, type(type_of(i.result)));
  if (kernel::is_half(s)) fail(i, "arithmetic on halves has to be promoted first");
  const bool real_type = kernel::is_float(s);
  switch (op) {
    case Opcode::neg:
      return real_type ? builder_.CreateFNeg(a) : builder_.CreateNeg(a);
    case Opcode::abs:
      if (real_type) return intrinsic(llvm::Intrinsic::fabs, a);
      if (!kernel::is_signed(s)) return a;
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder_.getFalse());
    case Opcode::exp2_fast:
    case Opcode::recip_fast:
      return approximate(op, a);
    case Opcode::sqrt:
      return intrinsic(llvm::Intrinsic::sqrt, a);
    case Opcode::floor:
      return intrinsic(llvm::Intrinsic::floor, a);
    case Opcode::ceil:
      return intrinsic(llvm::Intrinsic::ceil, a);
    case Opcode::rint:
      return intrinsic(llvm::Intrinsic::rint, a);
    case Opcode::trunc:
      return intrinsic(llvm::Intrinsic::trunc, a);
    case Opcode::bit_not:
      return builder_.CreateNot(a);
    case Opcode::is_nan:
      return builder_.CreateFCmpUNO(a, a);
    case Opcode::scale_exponent:
      return scale_exponent(a, operand(i, 1));
    case Opcode::mul_high:
      return mul_high(s, a, operand(i, 1));
    case Opcode::fma:
      return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()},
                                      {a, operand(i, 1), operand(i, 2)});
    default:
      break;
  }
  if (kernel::is_math(op)) fail(i, "has to be expanded first");
  auto* b = operand(i, 1);
  return op >= Opcode::eq && op <= Opcode::ge ? compare(op, s, a, b) : arithmetic(op, s, a, b);
}

Lowering::Value* Lowering::arithmetic(Opcode op, Scalar s, Value* a, Value* b) {
  const bool real_type = kernel::is_float(s), sign = kernel::is_signed(s);
  switch (op) {
    case Opcode::add:
      return real_type ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b);
    case Opcode::sub:
      return real_type ? builder_.CreateFSub(a, b) : builder_.CreateSub(a, b);
    case Opcode::mul:
      return real_type ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b);
    case Opcode::div:
      return real_type ? builder_.CreateFDiv(a, b)
             : sign    ? builder_.CreateSDiv(a, b)
                       : builder_.CreateUDiv(a, b);
    case Opcode::rem:
      return sign ? builder_.CreateSRem(a, b) : builder_.CreateURem(a, b);
    case Opcode::min:
      if (real_type) return minimum(a, b);
      return builder_.CreateBinaryIntrinsic(sign ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case Opcode::max:
      if (real_type) return maximum(a, b);
      return builder_.CreateBinaryIntrinsic(sign ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case Opcode::bit_and:
      return builder_.CreateAnd(a, b);
    case Opcode::bit_or:
      return builder_.CreateOr(a, b);
    case Opcode::bit_xor:
      return builder_.CreateXor(a, b);
    case Opcode::shift_left:
      return builder_.CreateShl(a, b);
    case Opcode::shift_right:
      return sign ? builder_.CreateAShr(a, b) : builder_.CreateLShr(a, b);
    default:
      fail(std::string(kernel::name_of(op)) + ": not an element-wise operation of two operands");
  }
}

Lowering::Value* Lowering::compare(Opcode op, Scalar s, Value* a, Value* b) {
  using P = llvm::CmpInst::Predicate;
  const int n = static_cast<int>(op) - static_cast<int>(Opcode::eq);  // eq, ne, lt, le, gt, ge
  static constexpr P floats[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT,
                                 P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  static constexpr P with_sign[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT,
                                    P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  static constexpr P without[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  return builder_.CreateCmp(kernel::is_float(s)    ? floats[n]
                            : kernel::is_signed(s) ? with_sign[n]
                                                   : without[n],
                            a, b);
}

Lowering::Value* Lowering::mul_high(Scalar s, Value* a, Value* b) {
  auto* wide = like(a, builder_.getInt64Ty());
  const bool sign = kernel::is_signed(s);
  const auto extend = [&](Value* v) {
    return sign ? builder_.CreateSExt(v, wide) : builder_.CreateZExt(v, wide);
  };
  return builder_.CreateTrunc(builder_.CreateLShr(builder_.CreateMul(extend(a), extend(b)), 32),
                              a->getType());
}

/// x * 2^n with powers of two that are themselves normal: n is clamped to where the result has long been 0 or
/// infinite and applied in steps that keep the intermediate product normal, so that it is rounded once (as
/// musl's scalbn does).
Lowering::Value* Lowering::scale_exponent(Value* x, Value* n) {
  const bool single = x->getType()->getScalarType()->isFloatTy();
  const int mantissa = single ? 23 : 52, bias = single ? 127 : 1023;
  const auto power = [&](Value* e) {
    auto* bits = builder_.CreateShl(builder_.CreateAdd(e, integer(e, bias)), integer(e, mantissa));
    return builder_.CreateBitCast(bits, x->getType());
  };
  const auto clamp = [&](Value* e, int low, int high) {
    auto* above = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e, integer(e, low));
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, above, integer(e, high));
  };
  const int down =
      -(bias - 1) + mantissa + 1;  // a product scaled by this much stays exact until the last step
  Value* rest = n;
  for (int step = 0; step < 2; ++step) {
    auto* e = clamp(rest, down, bias);
    x = builder_.CreateFMul(x, power(e));
    rest = builder_.CreateSub(clamp(rest, -4 * bias, 4 * bias), e);
  }
  return builder_.CreateFMul(x, power(clamp(rest, -(bias - 1), bias)));
}

}  // namespace strata::codegen
