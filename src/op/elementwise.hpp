/// Element-wise families. Binary, Compare and Where broadcast; operands of one op share a dtype.
#pragma once

#include "op/common.hpp"

namespace strata::op {

/// One operand. `floor`...`trunc` keep integers as they are. `sign` of NaN is NaN. `round` is half to even.
enum class UnaryKind : std::uint8_t {
  neg, abs, sign,                                    // float, int (u8: abs and sign only)
  floor, ceil, round, trunc,                         // float
  recip, sqrt, rsqrt, exp, expm1, log, log1p,        // float
  sin, cos, tanh, sigmoid, erf,                      // float
  logical_not,                                       // bool
  bit_not,                                           // int
};
inline constexpr int unary_count = 21;
std::string_view name_of(UnaryKind);

/// Two operands of one dtype. Integers wrap. Integer `div` and `rem` are floored, with x / 0 = 0 and x rem 0 = 0;
/// float `rem` has the sign of the divisor. `max` and `min` return NaN when either operand is NaN.
/// Integer `pow` with a negative exponent is 0 unless the base is 1 or -1.
enum class BinaryKind : std::uint8_t {
  add, sub, mul, div, rem, pow, max, min,            // float, int
  bit_and, bit_or, bit_xor,                          // int, bool
  shift_left, shift_right,                           // int; counts outside [0, bits) give 0 (or -1: arithmetic)
};
inline constexpr int binary_count = 13;
std::string_view name_of(BinaryKind);

/// Two operands of one dtype, result bool. Every comparison with NaN is false except `not_equal`.
enum class CompareKind : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
inline constexpr int compare_count = 6;
std::string_view name_of(CompareKind);

struct Unary {
  UnaryKind kind{};
  bool operator==(const Unary&) const = default;
};
struct Binary {
  BinaryKind kind{};
  bool operator==(const Binary&) const = default;
};
struct Compare {
  CompareKind kind{};
  bool operator==(const Compare&) const = default;
};
/// inputs: condition (bool), if_true, if_false (equal dtypes); all three broadcast.
struct Where {
  bool operator==(const Where&) const = default;
};
/// Float to integer truncates and saturates, NaN becomes 0; non-zero is true; integers wrap.
struct Cast {
  DType dtype{};
  bool operator==(const Cast&) const = default;
};

TensorTypes infer(const Unary&, const Site&);
TensorTypes infer(const Binary&, const Site&);
TensorTypes infer(const Compare&, const Site&);
TensorTypes infer(const Where&, const Site&);
TensorTypes infer(const Cast&, const Site&);

}  // namespace strata::op
