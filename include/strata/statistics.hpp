/// Statistics and norms beyond the methods of Tensor. Differentiable where they give floats.
#pragma once

#include <limits>
#include <numbers>

#include "strata/detail/functions.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

template <int D>
struct VarianceAndMean {
  Tensor<D> variance, mean;
};
/// Sum of squared deviations over (count - correction), and the mean.
template <int D>
requires(D >= 1) VarianceAndMean<D - 1> var_mean(const Tensor<D>& x, int axis, std::int64_t correction = 1) {
  return {x.var(axis, correction), x.mean(axis)};
}
/// Covariances of the rows of x [variables, observations] -> [variables, variables], over (observations -
/// correction).
inline Tensor<2> cov(const Tensor<2>& x, std::int64_t correction = 1) {
  return Tensor<2>(detail::covariance(x.value(), correction));
}
/// The lower one of the two in the middle where there are two, and its first place.
template <int D, class Kind>
requires(D >= 1) WithIndices<D - 1, Kind> median_with_indices(const Tensor<D, Kind>& x, int axis = -1) {
  const auto k = (x.dim(axis) + 1) / 2;
  const auto index = x.argsort(axis).narrow(axis, k - 1, 1);
  return {x.gather(axis, index).squeeze(axis), index.squeeze(axis)};
}

/// The largest magnitude, of all elements or along an axis. NaN where there is one.
template <int D, class Kind>
Tensor<0, Kind> max_abs(const Tensor<D, Kind>& x) {
  return x.abs().max();
}
template <int D, class Kind>
requires(D >= 1) Tensor<D - 1, Kind> max_abs(const Tensor<D, Kind>& x, int axis) { return x.abs().max(axis); }
/// Number of entries that are not 0.
template <int D>
requires(D >= 1) Tensor<D - 1> l0_norm(const Tensor<D>& x, int axis) { return x.norm(0, axis); }
template <int D>
requires(D >= 1) Tensor<D - 1> l1_norm(const Tensor<D>& x, int axis) { return x.norm(1, axis); }
template <int D>
requires(D >= 1) Tensor<D - 1> l2_norm(const Tensor<D>& x, int axis) { return x.norm(2, axis); }
template <int D>
requires(D >= 1) Tensor<D - 1> max_abs_norm(const Tensor<D>& x, int axis) {
  return x.norm(std::numeric_limits<double>::infinity(), axis);
}
template <int D>
requires(D >= 1) Tensor<D - 1> min_abs_norm(const Tensor<D>& x, int axis) {
  return x.norm(-std::numeric_limits<double>::infinity(), axis);
}
/// Vectors along `axis` divided by their p-norm; norms below eps count as eps. p > 0, or infinite. Throws
/// ArgumentError for another p.
template <int D>
requires(D >= 1) Tensor<D> normalize(const Tensor<D>& x, double p = 2, int axis = -1, double eps = 1e-12) {
  return Tensor<D>(detail::normalise(x.value(), p, axis, eps));
}

/// Whether any element is NaN.
template <int D>
Tensor<0, Bool> contains_nan(const Tensor<D>& x) {
  return x.is_nan().any();
}
/// |a - b| <= atol + rtol |b|, element by element; equal infinities are close. Integers and bools: equal.
template <int D, class Kind>
Tensor<D, Bool> is_close(const Tensor<D, Kind>& a, const Tensor<D, Kind>& b, double rtol = 1e-5,
                         double atol = 1e-8, bool equal_nan = false) {
  return Tensor<D, Bool>(detail::is_close(a.value(), b.value(), rtol, atol, equal_nan));
}
/// Degrees as radians, and back.
template <int D>
Tensor<D> deg2rad(const Tensor<D>& x) {
  return x * (std::numbers::pi / 180);
}
template <int D>
Tensor<D> rad2deg(const Tensor<D>& x) {
  return x * (180 / std::numbers::pi);
}

}  // namespace strata::inline v0
