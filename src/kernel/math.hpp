/// Mathematics of the language that the opcodes do not have: what tensor operations mean on every device.
///
/// Errors of the transcendental opcodes once lowered (passes/lower_math.hpp) stand there. The functions here
/// accept any lane count; half-precision operands are computed in f32 and rounded once at the end.
#pragma once

#include <array>

#include "kernel/builder.hpp"

namespace strata::kernel {

/// Floored quotient: integers with x / 0 = 0 and INT_MIN / -1 = INT_MIN, nothing traps; floats floor(a / b).
Val floor_div(Val a, Val b);
/// Remainder with the sign of the divisor (as NumPy). Integers: x % 0 = 0. Floats: exact for every pair whose
/// quotient does not overflow f64; NaN for b = 0 or infinite a; a zero result has the sign of b.
Val floor_rem(Val a, Val b);
/// Remainder with the sign of the dividend (as C's fmod), also of a zero result. Otherwise as floor_rem.
Val truncated_rem(Val a, Val b);

/// Integers: by squaring, wrapping; a negative exponent gives 1 for base 1, 1 or -1 for base -1, else 0.
/// Floats: the cases of IEEE 754 `pow`; f32 within 0.51 ULP (through f64), f64 within 2 ULP.
Val pow(Val x, Val y);
/// 1 / (1 + exp(-x)), also accurate where it is small. Within 2.3 ULP in f32 and f64.
Val sigmoid(Val x);

/// -1, 0 or 1; NaN stays NaN.
Val sign(Val x);
/// |magnitude| with the sign bit of `sign`; f32 and f64.
Val copy_sign(Val magnitude, Val sign);
/// True when any lane is.
Val any(Val condition);

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): 128 random bits
/// from a counter and a key, all u32 of one lane count.
std::array<Val, 4> philox(const std::array<Val, 4>& counter, const std::array<Val, 2>& key);
/// The same with the counter as two u64, low half first, and a scalar or vector key.
std::array<Val, 4> philox(Val counter_low, Val counter_high, Val key_low, Val key_high);

}  // namespace strata::kernel
