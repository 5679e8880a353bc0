#include "fuzz/fuzzer/interval.hpp"

#include <algorithm>
#include <initializer_list>
#include <numbers>

#include "conformance/special_functions.hpp"

namespace strata::fuzz {
namespace {

using op::BinaryKind;
using op::UnaryKind;
using Maybe = std::optional<Interval>;

/// The hull of the values at the corners of a box on which the function is monotone in each argument. Its
/// domain, where not every number, must not end on both sides within the box.
Maybe hull(std::initializer_list<Real> corners) {
  const auto nans = std::ranges::count_if(corners, [](Real v) { return std::isnan(v); });
  if (nans != 0) {
    if (static_cast<std::size_t>(nans) != corners.size()) return std::nullopt;
    return Interval{NAN, NAN};
  }
  return Interval{std::min(corners), std::max(corners)};
}
template <class F>
Maybe monotone(Interval x, F f) {
  return hull({f(x.low), f(x.high)});
}
/// Monotone where it is defined, from -1 to 1.
template <class F>
Maybe monotone_to_1(Interval x, F f) {
  if (x.low < -1 && x.high > 1) return std::nullopt;
  return monotone(x, f);
}
/// Piecewise constant: nothing when a jump lies inside.
template <class F>
Maybe stepped(Interval x, F f) {
  const Real a = f(x.low), b = f(x.high);
  if (std::isnan(a)) return Interval{a, a};
  return a == b ? Maybe(Interval{a, a}) : std::nullopt;
}
template <class F>
Maybe lipschitz_1(Interval x, F f) {
  const Real middle = x.low + (x.high - x.low) / 2, y = f(middle), r = (x.high - x.low) / 2;
  return std::isnan(y) ? Interval{y, y} : Interval{std::max(y - r, Real{-1}), std::min(y + r, Real{1})};
}

/// A function whose slope stays below `slope` in size.
template <class F>
Maybe sloped(Interval x, Real slope, F f) {
  if (x.is_point() || std::isinf(x.magnitude())) return monotone(x, f);
  const Real y = f(x.low + (x.high - x.low) / 2), r = slope * (x.high - x.low) / 2;
  return Interval{y - r, y + r};
}
Maybe tangent(Interval x) {
  const auto branch = [](Real v) { return std::floor(v / std::numbers::pi_v<Real> + 0.5L); };
  if (branch(x.low) != branch(x.high)) return std::nullopt;  // a pole lies inside
  return monotone(x, [](Real v) { return std::tan(v); });
}
Maybe log_gamma(Interval x) {
  const auto f = [](Real v) { return std::lgamma(v); };
  if (x.is_point()) return monotone(x, f);
  if (!(x.low > 0)) return std::nullopt;
  const Real slope = std::max(std::abs(conformance::digamma(x.low)), std::abs(conformance::digamma(x.high)));
  return sloped(x, slope, f);
}
Maybe angle(Interval y, Interval x) {
  // The sign of a zero shows on the negative axis, and nothing is known at the origin.
  if (y.contains(0) && !(x.low > 0)) return std::nullopt;
  const auto f = [](Real a, Real b) { return std::atan2(a, b); };
  return hull({f(y.low, x.low), f(y.low, x.high), f(y.high, x.low), f(y.high, x.high)});
}
Maybe distance(Interval a, Interval b) {
  const auto least = [](Interval v) {
    return v.contains(0) ? Real{0} : std::min(std::abs(v.low), std::abs(v.high));
  };
  return Interval{std::hypot(least(a), least(b)), std::hypot(a.magnitude(), b.magnitude())};
}

/// From one infinity to the other: products of all corners with 0, and quotients by infinity, are NaN, those
/// of the numbers between are not.
bool spans_everything(Interval x) { return std::isinf(x.low) && std::isinf(x.high) && !x.is_point(); }

Real sign(Real x) { return std::isnan(x) ? x : static_cast<Real>((x > 0) - (x < 0)); }
Real sigmoid(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Real floored_remainder(Real a, Real b) {
  const Real r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Maybe remainder(Interval a, Interval b) {
  if (a.is_point() && b.is_point()) {
    const Real r = floored_remainder(a.low, b.low);
    return Interval{r, r};
  }
  if (b.contains(0) || std::isinf(a.magnitude()) || std::isinf(b.magnitude())) return std::nullopt;
  const auto quotient = hull({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  const Real n = std::floor(quotient->low), slack = std::abs(n) * 0x1p-60L;
  // Near a multiple of b a device may round across the jump.
  if (std::floor(quotient->low - slack) != std::floor(quotient->high + slack)) return std::nullopt;
  return n >= 0 ? Interval{a.low - n * b.high, a.high - n * b.low}
                : Interval{a.low - n * b.low, a.high - n * b.high};
}

Maybe power(Interval x, Interval y) {
  const auto f = [](Real a, Real b) { return std::pow(a, b); };
  if (x.is_point() && y.is_point()) {
    // The sign of a zero base shows in the result.
    if (x.low == 0 && !(y.low > 0)) return y.low == 0 ? Maybe(Interval{1, 1}) : std::nullopt;
    const Real p = f(x.low, y.low);
    return Interval{p, p};
  }
  if (!(x.low > 0)) return std::nullopt;
  return hull({f(x.low, y.low), f(x.low, y.high), f(x.high, y.low), f(x.high, y.high)});
}

}  // namespace

Maybe apply(UnaryKind kind, Interval x) {
  if (x.is_nan()) return x;
  switch (kind) {
    case UnaryKind::neg:
      return Interval{-x.high, -x.low};
    case UnaryKind::abs:
      if (x.contains(0)) return Interval{0, x.magnitude()};
      return hull({std::abs(x.low), std::abs(x.high)});
    case UnaryKind::sign:
      return stepped(x, [](Real v) { return sign(v); });
    case UnaryKind::floor:
      return stepped(x, [](Real v) { return std::floor(v); });
    case UnaryKind::ceil:
      return stepped(x, [](Real v) { return std::ceil(v); });
    case UnaryKind::round:
      return stepped(x, [](Real v) { return std::nearbyint(v); });
    case UnaryKind::trunc:
      return stepped(x, [](Real v) { return std::trunc(v); });
    case UnaryKind::recip:
      if (x.contains(0)) return std::nullopt;
      return monotone(x, [](Real v) { return 1 / v; });
    case UnaryKind::sqrt:
      return monotone(x, [](Real v) { return std::sqrt(v); });
    case UnaryKind::rsqrt:
      if (x.contains(0)) return std::nullopt;
      return monotone(x, [](Real v) { return 1 / std::sqrt(v); });
    case UnaryKind::exp:
      return monotone(x, [](Real v) { return std::exp(v); });
    case UnaryKind::expm1:
      return monotone(x, [](Real v) { return std::expm1(v); });
    case UnaryKind::log:
      return monotone(x, [](Real v) { return std::log(v); });
    case UnaryKind::log1p:
      return monotone(x, [](Real v) { return std::log1p(v); });
    case UnaryKind::sin:
      return lipschitz_1(x, [](Real v) { return std::sin(v); });
    case UnaryKind::cos:
      return lipschitz_1(x, [](Real v) { return std::cos(v); });
    case UnaryKind::tanh:
      return monotone(x, [](Real v) { return std::tanh(v); });
    case UnaryKind::sigmoid:
      return monotone(x, sigmoid);
    case UnaryKind::erf:
      return monotone(x, [](Real v) { return std::erf(v); });
    case UnaryKind::exp2:
      return monotone(x, [](Real v) { return std::exp2(v); });
    case UnaryKind::log2:
      return monotone(x, [](Real v) { return std::log2(v); });
    case UnaryKind::log10:
      return monotone(x, [](Real v) { return std::log10(v); });
    case UnaryKind::tan:
      return tangent(x);
    case UnaryKind::asin:
      return monotone_to_1(x, [](Real v) { return std::asin(v); });
    case UnaryKind::acos:
      return monotone_to_1(x, [](Real v) { return std::acos(v); });
    case UnaryKind::atan:
      return monotone(x, [](Real v) { return std::atan(v); });
    case UnaryKind::sinh:
      return monotone(x, [](Real v) { return std::sinh(v); });
    case UnaryKind::cosh:
      if (x.contains(0)) return Interval{1, std::cosh(x.magnitude())};
      return monotone(x, [](Real v) { return std::cosh(v); });
    case UnaryKind::asinh:
      return monotone(x, [](Real v) { return std::asinh(v); });
    case UnaryKind::acosh:
      return monotone(x, [](Real v) { return std::acosh(v); });
    case UnaryKind::atanh:
      return monotone_to_1(x, [](Real v) { return std::atanh(v); });
    case UnaryKind::gelu:
      return sloped(x, 1.13L, conformance::gelu<Real>);
    case UnaryKind::silu:
      return sloped(x, 1.1L, conformance::silu<Real>);
    case UnaryKind::softplus:
      return monotone(x, conformance::softplus<Real>);
    case UnaryKind::erfinv:
      return monotone_to_1(x, conformance::erfinv<Real>);
    case UnaryKind::lgamma:
      return log_gamma(x);
    case UnaryKind::digamma:
      if (!x.is_point() && !(x.low > 0)) return std::nullopt;
      if (x.is_point() && x.low == 0) return std::nullopt;  // by the sign of zero
      return monotone(x, conformance::digamma<Real>);
    case UnaryKind::logical_not:
    case UnaryKind::bit_not:
      break;  // never of floats
  }
  return std::nullopt;
}

Maybe apply(BinaryKind kind, Interval a, Interval b) {
  if (kind == BinaryKind::pow) {
    if ((a.is_point() && a.low == 1) || (b.is_point() && b.low == 0)) return Interval{1, 1};  // even of NaN
  }
  if (kind == BinaryKind::hypot && (std::isinf(a.magnitude()) || std::isinf(b.magnitude()))) {
    return Interval{HUGE_VALL, HUGE_VALL};  // even of NaN
  }
  if (a.is_nan()) return a;
  if (b.is_nan()) return b;
  switch (kind) {
    case BinaryKind::add:
      return hull({a.low + b.low, a.high + b.high});
    case BinaryKind::sub:
      return hull({a.low - b.high, a.high - b.low});
    case BinaryKind::mul:
      if (spans_everything(a) || spans_everything(b)) return std::nullopt;
      return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    case BinaryKind::div:
      if (b.contains(0))
        return a.is_point() && a.low == 0 && b.is_point() ? Maybe(Interval{NAN, NAN}) : std::nullopt;
      if (spans_everything(a)) return std::nullopt;
      return hull({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
    case BinaryKind::max:
      return Interval{std::max(a.low, b.low), std::max(a.high, b.high)};
    case BinaryKind::min:
      return Interval{std::min(a.low, b.low), std::min(a.high, b.high)};
    case BinaryKind::rem:
      return remainder(a, b);
    case BinaryKind::pow:
      return power(a, b);
    case BinaryKind::fmod: {
      if (!a.is_point() || !b.is_point()) return std::nullopt;
      const Real r = std::fmod(a.low, b.low);
      return Interval{r, r};
    }
    case BinaryKind::atan2:
      return angle(a, b);
    case BinaryKind::hypot:
      return distance(a, b);
    case BinaryKind::bit_and:
    case BinaryKind::bit_or:
    case BinaryKind::bit_xor:
    case BinaryKind::shift_left:
    case BinaryKind::shift_right:
      break;  // never of floats
  }
  return std::nullopt;
}

bool decided(op::CompareKind, Interval a, Interval b) {
  if (a.is_nan() || b.is_nan()) return true;
  return (a.is_point() && b.is_point()) || a.high < b.low || b.high < a.low;
}

bool decided_cast(DType to, Interval x) {
  if (x.is_nan() || x.is_point()) return true;
  if (to == DType::boolean) return !x.contains(0);
  const Real low = to == DType::i64 ? -0x1p63L : to == DType::i32 ? -0x1p31L : 0;
  const Real high = to == DType::i64 ? 0x1p63L - 1 : to == DType::i32 ? 0x1p31L - 1 : 255;
  const auto whole = [&](Real v) { return std::trunc(std::clamp(v, low, high)); };
  return whole(x.low) == whole(x.high);
}

Real rounding(UnaryKind kind, DType t, Interval exact, Real operand) {
  if (kind <= UnaryKind::trunc || kind == UnaryKind::sqrt) return 0;
  const auto c = compute_dtype(t);
  // Twice the 8 ULP that the conformance suite grants a device. Around their zeros away from 0, functions are
  // granted 4 epsilon, and the reduction of the angle fails beyond a power of two (lower_math.hpp).
  Real absolute = 2 * smallest_subnormal(c);
  if (kind == UnaryKind::sin || kind == UnaryKind::cos) {
    if (operand > (c == DType::f64 ? 0x1p30L : 0x1p20L)) return 2;
    absolute += 8 * epsilon(c);
  }
  if (kind == UnaryKind::log || kind == UnaryKind::log2 || kind == UnaryKind::log10)
    absolute += 8 * epsilon(c);
  if (kind == UnaryKind::lgamma || kind == UnaryKind::digamma) {  // in units of 1 around their roots
    return 64 * epsilon(c) * (1 + exact.magnitude());
  }
  if (kind == UnaryKind::tan) {  // the reduced angle's rounding, as steep as the function
    if (operand > (c == DType::f64 ? 0x1p30L : 0x1p20L)) return largest(c);
    absolute += 8 * epsilon(c) * (1 + exact.magnitude() * exact.magnitude());
  }
  if (kind == UnaryKind::gelu || kind == UnaryKind::silu)
    absolute += 2 * smallest_normal(c);  // far negative tails
  return 16 * epsilon(c) * exact.magnitude() + absolute;
}

Real rounding(BinaryKind kind, DType t, Interval exact, Interval a, Interval b) {
  const auto c = compute_dtype(t);
  if (kind == BinaryKind::rem) return epsilon(c) * b.magnitude();  // moving a rest to the divisor's side
  if (kind == BinaryKind::atan2 || kind == BinaryKind::hypot) {
    return exact.is_nan() ? 0 : 16 * epsilon(c) * exact.magnitude() + 2 * smallest_subnormal(c);
  }
  if (kind != BinaryKind::pow || exact.is_nan()) return 0;
  if (exact.is_point() && (exact.low == 0 || exact.low == 1)) return 0;
  const Real logarithm = std::max(std::abs(std::log(std::abs(a.low))), std::abs(std::log(std::abs(a.high))));
  const Real exponent = b.magnitude() * logarithm;
  const Real condition = std::isfinite(exponent) ? 8 + 4 * exponent : 8;
  return 2 * epsilon(c) * condition * exact.magnitude() + 2 * smallest_subnormal(c);
}

}  // namespace strata::fuzz
