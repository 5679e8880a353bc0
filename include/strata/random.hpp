/// Random numbers shaped by other tensors.
#pragma once

#include "strata/detail/functions.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

/// Seeds the random numbers of this process; without it they differ from run to run.
STRATA_API void manual_seed(std::uint64_t seed);

/// Uniform in [low, high), with the shape, dtype and device of x.
template <int D, class Kind>
Tensor<D, Kind> random_like(const Tensor<D, Kind>& x, double low = 0, double high = 1) {
  return Tensor<D, Kind>::random(x.shape(), low, high, x.device(), x.dtype());
}
template <int D>
Tensor<D> random_normal_like(const Tensor<D>& x, double mean = 0, double stddev = 1) {
  return Tensor<D>::random_normal(x.shape(), mean, stddev, x.device(), x.dtype());
}
/// Class numbers drawn with replacement: weights [.., classes], not negative and of positive sum along the
/// last axis -> [.., count].
template <int D>
requires(D >= 1) Tensor<D, Int> categorical(const Tensor<D>& weights, std::int64_t count) {
  return Tensor<D, Int>(detail::categorical(weights.value(), count));
}

}  // namespace strata::inline v0
