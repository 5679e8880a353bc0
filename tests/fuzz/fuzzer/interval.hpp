/// Element-wise operations over intervals, exact but for long double's own rounding. Nothing: the result is
/// not one interval (a pole or a jump lies inside), or NaN for some values and a number for others.
#pragma once

#include <optional>

#include "fuzz/fuzzer/bounds.hpp"

namespace strata::fuzz {

std::optional<Interval> apply(op::UnaryKind kind, Interval x);
/// Floats only.
std::optional<Interval> apply(op::BinaryKind kind, Interval a, Interval b);
/// Whether a comparison has one outcome.
bool decided(op::CompareKind kind, Interval a, Interval b);
/// Conversion of a float to an integer or bool has one outcome.
bool decided_cast(DType to, Interval x);

/// How far two devices may round apart where they compute `kind` of the same numbers of dtype `t`; `exact` is
/// the result, `operand` the largest operand's magnitude.
Real rounding(op::UnaryKind kind, DType t, Interval exact, Real operand);
Real rounding(op::BinaryKind kind, DType t, Interval exact, Interval a, Interval b);

}  // namespace strata::fuzz
