/// Reading several tensors to the host together.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "strata/tensor.hpp"

namespace strata::inline v0 {

namespace detail {
template <std::size_t N, class T>
std::array<T, N> array_of(std::vector<T> parts) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::array{std::move(parts[I])...}; }
  (std::make_index_sequence<N>());
}
}  // namespace detail

/// The elements of tensors of any ranks, kinds, dtypes and devices: `auto [loss, hits] = read_all(a, b)`. All
/// reads are queued before the first is waited for, so that a lazy device computes what they need in one go
/// and the host waits once. Throws the error of the first tensor, in their order, that could not be made.
template <int... D, class... Kind>
std::array<TensorData, sizeof...(D)> read_all(const Tensor<D, Kind>&... tensors) {
  return detail::array_of<sizeof...(D)>(detail::read_all({tensors.value()...}));
}
template <int D, class Kind>
std::vector<TensorData> read_all(const std::vector<Tensor<D, Kind>>& tensors) {
  return detail::read_all(detail::values_of(tensors));
}

/// The same without waiting: a future for each, which has the error of its own tensor.
template <int... D, class... Kind>
std::array<Future<TensorData>, sizeof...(D)> read_all_async(const Tensor<D, Kind>&... tensors) {
  return detail::array_of<sizeof...(D)>(detail::read_all_async({tensors.value()...}));
}
template <int D, class Kind>
std::vector<Future<TensorData>> read_all_async(const std::vector<Tensor<D, Kind>>& tensors) {
  return detail::read_all_async(detail::values_of(tensors));
}

}  // namespace strata::inline v0
