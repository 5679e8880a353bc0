/// The error model: how far apart two correct devices may be, element by element.
///
/// A program is run once on flex with a bound beside every float: `e[i]` says that a correct device's element
/// i lies within e[i] of flex's. 0 means the same number (or NaN, or infinity); infinity that the element is
/// not determined and must be left out of the comparison. Integers and bools have 0 or infinity. Inputs have
/// 0. Each family's rule in tests/fuzz/rules makes the bounds of its result from
///   - the spread of the exact operation over the intervals x[i] +- e[i] of its operands, evaluated in
///     long double (interval.hpp): this holds the condition of the operation;
///   - the rounding errors that either device may make itself: 0 for what IEEE 754 or strata defines
///     to the bit (+ - * / and all that moves or selects), else twice what the conformance suites grant one
///     device (some ULP for functions, length * epsilon * sum of magnitudes for sums in any order);
///   - one rounding to the dtype where the operands differ, and subnormals where they may get lost.
/// Where the intervals meet a jump (floor, sign, comparisons, casts to integers, a pole, the border of what
/// overflows, the sign of a zero that is divided by), the element is not determined.
#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "backend/backend.hpp"
#include "fuzz/fuzzer/rules.hpp"

namespace strata::fuzz {

using backend::ValueRef;
using Real = long double;

inline constexpr double undetermined = std::numeric_limits<double>::infinity();

/// Distance between 1 and the next number of a float type.
Real epsilon(DType t);
Real smallest_subnormal(DType t);
Real smallest_normal(DType t);
Real largest(DType t);
/// What values of a float dtype are computed and summed in.
inline DType compute_dtype(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

/// Every value between the two; both NaN for a certain NaN.
struct Interval {
  Real low, high;
  bool is_nan() const { return std::isnan(low); }
  bool is_point() const { return low == high; }
  bool contains(Real x) const { return low <= x && x <= high; }
  Real magnitude() const { return std::max(std::abs(low), std::abs(high)); }
};
inline Interval around(double x, double e) {
  return std::isfinite(x) ? Interval{static_cast<Real>(x) - e, static_cast<Real>(x) + e} : Interval{x, x};
}

/// The bound of an element of dtype `t` for which flex has `flex`, the exact result lies in `exact`, and two
/// devices round apart by at most `rounding` (0: they do not). Nothing known of the exact result:
/// undetermined.
double bound(DType t, const std::optional<Interval>& exact, double flex, Real rounding);

/// One executed operation, for the rules: operands and result on flex, and the operands' bounds.
class Propagation {
 public:
  Propagation(backend::Backend& flex, backend::Inputs operands, std::span<const Errors> errors,
              const ValueRef& result)
      : flex_(flex), operands_(operands), errors_(errors), result_(result) {}

  DType dtype() const { return result_->dtype; }
  const Shape& shape() const { return result_->shape; }
  std::size_t size() const { return static_cast<std::size_t>(result_->shape.product()); }
  std::size_t operand_count() const { return operands_.size(); }
  const backend::Value& operand(std::size_t i) const { return *operands_[i]; }
  const ValueRef& operand_ref(std::size_t i) const { return operands_[i]; }
  /// Whether every element of the operand, or of all operands, is the same on every device.
  bool certain(std::size_t i) const { return !errors_[i]; }
  bool certain() const;

  /// Elements of flex's result.
  std::vector<double> result() const { return doubles(result_); }
  /// Elements of an operand, or their bounds, broadcast to `shape`.
  std::vector<double> values(std::size_t i, const Shape& shape) const;
  std::vector<double> errors(std::size_t i, const Shape& shape) const;
  std::vector<double> values(std::size_t i) const { return values(i, shape()); }
  std::vector<double> errors(std::size_t i) const { return errors(i, shape()); }

  /// Bounds for the result from numbers; null when all are 0.
  Errors store(const std::vector<double>& e) const;
  /// The operands' bounds put through an operation that only moves elements.
  Errors moved(const op::Operation& op) const;
  /// All undetermined as soon as one operand is uncertain: for integers.
  Errors all_or_nothing() const;
  /// Undetermined along every line of `axis` that holds an uncertain element of operand 0, in the result's
  /// shape or with that axis gone from it.
  Errors lines(int axis) const;

  /// Undetermined where an operand's element is: for element-wise operations on integers.
  Errors any_of_operands() const;

  /// For rules that need flex's own operations.
  ValueRef run(const op::Operation& op, const ValueRef& x) const { return flex_.execute(op, {&x, 1})[0]; }
  ValueRef run(const op::Operation& op, const std::vector<ValueRef>& x) const {
    return flex_.execute(op, x)[0];
  }
  std::vector<double> doubles(const ValueRef& v) const { return flex_.read(v).to_doubles(); }
  /// The bounds of an operand, zeros where there are none.
  ValueRef error_tensor(std::size_t i) const;

 private:
  backend::Backend& flex_;
  const backend::Inputs operands_;
  const std::span<const Errors> errors_;
  const ValueRef& result_;
};

}  // namespace strata::fuzz
