#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/lowering.hpp"

namespace strata::codegen {

using kernel::Scalar;

/// Halves convert by way of f32, as everywhere (base/convert.hpp).
Lowering::Value* Lowering::convert(Value* x, Scalar from, Scalar to) {
  if (from == to) return x;
  if (kernel::is_half(from)) return convert(widen(x, from), Scalar::f32, to);
  if (kernel::is_half(to)) return narrow(convert(x, from, Scalar::f32), to);
  if (to == Scalar::boolean) {
    auto* zero = llvm::Constant::getNullValue(x->getType());
    return kernel::is_float(from) ? builder_.CreateFCmpUNE(x, zero) : builder_.CreateICmpNE(x, zero);
  }
  if (kernel::is_float(to)) return to_float(x, from, to);
  if (kernel::is_float(from)) return float_to_int(x, to);
  return builder_.CreateIntCast(x, like(x, element_type(to)), kernel::is_signed(from));
}

Lowering::Value* Lowering::to_float(Value* x, Scalar from, Scalar to) {
  auto* t = like(x, element_type(to));
  if (kernel::is_float(from)) return builder_.CreateFPCast(x, t);
  return kernel::is_signed(from) ? builder_.CreateSIToFP(x, t) : builder_.CreateUIToFP(x, t);
}

Lowering::Value* Lowering::float_to_int(Value* x, Scalar to) {
  auto* t = like(x, element_type(to == Scalar::u8 ? Scalar::i32 : to));
  Value* n = nullptr;
  if (kernel::is_signed(to) || to == Scalar::u8) {
    // Not llvm.fptosi.sat: on vectors it becomes a loop over lanes. Out of range the plain conversion is
    // poison, which the selects do not choose.
    const unsigned bits = t->getScalarSizeInBits();
    const double limit = bits == 64 ? 0x1p63 : 0x1p31;
    auto* f = x->getType();
    n = builder_.CreateFPToSI(x, t);
    n = builder_.CreateSelect(builder_.CreateFCmpOLT(x, llvm::ConstantFP::get(f, -limit)),
                              llvm::ConstantInt::get(t, llvm::APInt::getSignedMinValue(bits)), n);
    n = builder_.CreateSelect(builder_.CreateFCmpOGE(x, llvm::ConstantFP::get(f, limit)),
                              llvm::ConstantInt::get(t, llvm::APInt::getSignedMaxValue(bits)), n);
    n = builder_.CreateSelect(builder_.CreateFCmpUNO(x, x), llvm::Constant::getNullValue(t), n);
  } else {
    n = builder_.CreateIntrinsic(llvm::Intrinsic::fptoui_sat, {t, x->getType()}, {x});
  }
  if (to != Scalar::u8) return n;
  auto* low = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, integer(n, 0));
  auto* both = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, integer(n, 255));
  return builder_.CreateTrunc(both, like(x, builder_.getInt8Ty()));
}

Lowering::Value* Lowering::widen(Value* bits, Scalar half) {
  if (half == Scalar::f16) return widen_f16(bits);
  auto* wide = builder_.CreateZExt(bits, like(bits, builder_.getInt32Ty()));
  return builder_.CreateBitCast(builder_.CreateShl(wide, 16), like(bits, builder_.getFloatTy()));
}
Lowering::Value* Lowering::narrow(Value* x, Scalar half) {
  return half == Scalar::f16 ? narrow_f16(x) : narrow_bf16(x);
}

/// By integer arithmetic: the instruction of AVX512-BF16 flushes subnormals.
Lowering::Value* Lowering::narrow_bf16(Value* x) {
  auto* u = builder_.CreateBitCast(x, like(x, builder_.getInt32Ty()));
  auto* high = builder_.CreateLShr(u, 16);
  auto* odd = builder_.CreateAnd(high, integer(u, 1));
  auto* rounded = builder_.CreateLShr(builder_.CreateAdd(builder_.CreateAdd(u, integer(u, 0x7fff)), odd), 16);
  auto* quiet = builder_.CreateOr(high, integer(u, 0x40));
  return builder_.CreateTrunc(builder_.CreateSelect(builder_.CreateFCmpUNO(x, x), quiet, rounded),
                              like(x, builder_.getInt16Ty()));
}

/// Without instructions for it. Exponent and mantissa move to their places, a multiplication by 2^112 moves
/// the bias and normalises subnormals.
Lowering::Value* Lowering::widen_f16(Value* bits) {
  auto* f = like(bits, builder_.getFloatTy());
  auto* u = builder_.CreateZExt(bits, like(bits, builder_.getInt32Ty()));
  auto* shifted = builder_.CreateShl(builder_.CreateAnd(u, integer(u, 0x7fff)), 13);
  auto* scaled = builder_.CreateFMul(builder_.CreateBitCast(shifted, f), llvm::ConstantFP::get(f, 0x1p112));
  auto* finite = builder_.CreateBitCast(scaled, u->getType());
  auto* special = builder_.CreateOr(shifted, integer(u, 0x7f800000));
  auto* is_special = builder_.CreateICmpUGE(shifted, integer(u, 0x7c00 << 13));
  auto* sign = builder_.CreateShl(builder_.CreateAnd(u, integer(u, 0x8000)), 16);
  return builder_.CreateBitCast(builder_.CreateOr(builder_.CreateSelect(is_special, special, finite), sign),
                                f);
}

/// As `Float16(float)`: below the smallest normal the float adder does the rounding.
Lowering::Value* Lowering::narrow_f16(Value* x) {
  auto* u = builder_.CreateBitCast(x, like(x, builder_.getInt32Ty()));
  auto* magnitude = builder_.CreateAnd(u, integer(u, 0x7fffffff));
  auto* sign = builder_.CreateAnd(builder_.CreateLShr(u, 16), integer(u, 0x8000));
  auto* odd = builder_.CreateAnd(builder_.CreateLShr(magnitude, 13), integer(u, 1));
  auto* sum = builder_.CreateAdd(builder_.CreateAdd(magnitude, integer(u, 0xfff - 0x38000000LL)), odd);
  auto* normal = builder_.CreateLShr(sum, 13);
  auto* half = llvm::ConstantFP::get(x->getType(), 0.5);
  auto* added = builder_.CreateFAdd(builder_.CreateBitCast(magnitude, x->getType()), half);
  auto* subnormal = builder_.CreateSub(builder_.CreateBitCast(added, u->getType()), integer(u, 0x3f000000));
  auto* r =
      builder_.CreateSelect(builder_.CreateICmpULT(magnitude, integer(u, 0x38800000)), subnormal, normal);
  r = builder_.CreateSelect(builder_.CreateICmpUGE(magnitude, integer(u, 0x477ff000)), integer(u, 0x7c00), r);
  r = builder_.CreateSelect(builder_.CreateICmpUGT(magnitude, integer(u, 0x7f800000)), integer(u, 0x7e00), r);
  return builder_.CreateTrunc(builder_.CreateOr(r, sign), like(x, builder_.getInt16Ty()));
}

}  // namespace strata::codegen
