/// Functions that C++ does not have, for the models the devices are compared with.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

namespace strata::conformance {

/// x times the normal distribution function; `Float` is double or long double.
template <class Float>
Float gelu(Float x) {
  if (std::isinf(x)) return x > 0 ? x : -Float{0};
  return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<Float>);
}

template <class Float>
Float silu(Float x) {
  if (std::isinf(x)) return x > 0 ? x : -Float{0};
  return x / (1 + std::exp(-x));
}

template <class Float>
Float softplus(Float x) {
  return std::fmax(x, Float{0}) + std::log1p(std::exp(-std::abs(x))) + (std::isnan(x) ? x : 0);
}

/// The root of erfc(y) = 1 - |x| by Newton's method on its logarithm, from below.
template <class Float>
Float erfinv(Float x) {
  const Float a = std::abs(x);
  if (!(a < 1)) {
    return a == 1 ? std::copysign(std::numeric_limits<Float>::infinity(), x)
                  : std::numeric_limits<Float>::quiet_NaN();
  }
  Float y = a;
  for (int i = 0; i < 60; ++i) {
    const Float rest = std::erfc(y), slope = 2 * std::numbers::inv_sqrtpi_v<Float> * std::exp(-y * y);
    y += a < Float{0.5} ? (a - std::erf(y)) / slope : std::log(rest / (1 - a)) * rest / slope;
  }
  return std::copysign(y, x);
}

/// The recurrence down from x + n >= 40, where the series' first terms are exact to long double.
template <class Float>
Float digamma(Float x) {
  if (std::isnan(x) || x == std::numeric_limits<Float>::infinity()) return x;
  if (x <= 0) {
    const Float rest = x - std::nearbyint(x);
    if (std::isinf(x) || rest == 0) return std::numeric_limits<Float>::quiet_NaN();
    return digamma(1 - x) - std::numbers::pi_v<Float> / std::tan(std::numbers::pi_v<Float> * rest);
  }
  Float sum = 0;
  for (; x < 40; x += 1) sum += 1 / x;
  const Float z = 1 / (x * x);
  const Float series =
      z *
      (Float{1} / 12 -
       z * (Float{1} / 120 -
            z * (Float{1} / 252 - z * (Float{1} / 240 - z * (Float{1} / 132 - z * (Float{691} / 32760))))));
  return std::log(x) - 1 / (2 * x) - series - sum;
}

}  // namespace strata::conformance
