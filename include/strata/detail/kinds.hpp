/// The kinds of the operation families whose members share everything but a formula.
#pragma once

#include <cstdint>
#include <string_view>

#include "strata/config.hpp"

namespace strata::op {

/// One operand. `floor`...`trunc` keep integers as they are. `sign` of NaN is NaN. `round` is half to even.
/// Outside its domain a function is NaN; at the end of it the limit, e.g. erfinv(1) = infinity. `gelu` is
/// x times the normal distribution function (by erf, not tanh), `silu` is x sigmoid(x), `softplus` is
/// log(1 + e^x). `lgamma` is log |gamma(x)|, infinite at the poles (0, -1, -2 ...), where `digamma` is NaN.
// clang-format off
enum class UnaryKind : std::uint8_t {
  neg, abs, sign,                                    // float, int (u8: abs and sign only)
  floor, ceil, round, trunc,                         // float
  recip, sqrt, rsqrt, exp, expm1, log, log1p,        // float
  sin, cos, tanh, sigmoid, erf,                      // float
  exp2, log2, log10,                                 // float
  tan, asin, acos, atan,                             // float
  sinh, cosh, asinh, acosh, atanh,                   // float
  gelu, silu, softplus,                              // float
  erfinv, lgamma, digamma,                           // float
  logical_not,                                       // bool
  bit_not,                                           // int
};
// clang-format on
inline constexpr int unary_count = 39;
STRATA_API std::string_view name_of(UnaryKind);

/// Two operands of one dtype. Integers wrap. Integer `div` and `rem` are floored, with x / 0 = 0 and x rem 0
/// = 0; float `rem` has the sign of the divisor. `fmod` is the truncated remainder: exact, with the sign of
/// the dividend; x fmod 0 is NaN for floats and 0 for integers. `max` and `min` return NaN when either
/// operand is NaN. `atan2(y, x)` and `hypot` follow C, special cases included: hypot(infinity, NaN) is
/// infinite. Integer `pow` with a negative exponent is 0 unless the base is 1 or -1.
// clang-format off
enum class BinaryKind : std::uint8_t {
  add, sub, mul, div, rem, fmod, pow, max, min,      // float, int
  atan2, hypot,                                      // float
  bit_and, bit_or, bit_xor,                          // int, bool
  shift_left, shift_right,                           // int; counts outside [0, bits) give 0 (or -1: arithmetic)
};
// clang-format on
inline constexpr int binary_count = 16;
STRATA_API std::string_view name_of(BinaryKind);

/// Two operands of one dtype, result bool. Every comparison with NaN is false except `not_equal`.
enum class CompareKind : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
inline constexpr int compare_count = 6;
STRATA_API std::string_view name_of(CompareKind);

/// sum, mean, prod: float and int; the result keeps the dtype. Halves accumulate in f32 and round once, f32
/// sums are split so that the error stays near that of pairwise summation, integers wrap; integer mean
/// floors. max, min: float, int and bool (bool: any / all); NaN wins. Over an empty axis: sum 0, prod 1,
/// float mean NaN; integer mean, max and min are errors.
enum class ReduceKind : std::uint8_t { sum, mean, prod, max, min };
inline constexpr int reduce_count = 5;
STRATA_API std::string_view name_of(ReduceKind);

enum class ExtremumKind : std::uint8_t { max, min };
STRATA_API std::string_view name_of(ExtremumKind);

enum class CumulativeKind : std::uint8_t { sum, prod, max, min };
STRATA_API std::string_view name_of(CumulativeKind);

/// What a scattered entry does to what stands there. `max` and `min`: NaN wins.
enum class ScatterMode : std::uint8_t { assign, add, mul, max, min };
STRATA_API std::string_view name_of(ScatterMode);

enum class PoolKind : std::uint8_t { max, mean };
STRATA_API std::string_view name_of(PoolKind);

enum class LinalgKind : std::uint8_t { cholesky, solve, inverse, determinant, qr, svd, eigh, lu, slogdet };
inline constexpr int linalg_count = 9;
STRATA_API std::string_view name_of(LinalgKind);

/// Of complex numbers forth and back, and of real numbers to the half of a spectrum that says it all, and
/// back.
enum class FftKind : std::uint8_t { fft, ifft, rfft, irfft };
inline constexpr int fft_count = 4;
STRATA_API std::string_view name_of(FftKind);

enum class NormKind : std::uint8_t { layer, rms };
STRATA_API std::string_view name_of(NormKind);

/// uniform: [a, b), float or int (int: floor(a) to b exclusive). normal: mean a, standard deviation b, float.
/// bernoulli: true with probability a; any dtype (1 or 0).
enum class Distribution : std::uint8_t { uniform, normal, bernoulli };
STRATA_API std::string_view name_of(Distribution);

}  // namespace strata::op
