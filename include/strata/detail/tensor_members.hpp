/// Members of `Tensor` that do more than pass their arguments on, and what the functions of several tensors
/// share. Included by tensor.hpp; not part of the public API.
#pragma once

#include <algorithm>
#include <vector>

#include "strata/tensor.hpp"

namespace strata::inline v0 {

template <int D, class Kind>
std::vector<Tensor<D, Kind>> Tensor<D, Kind>::split(std::int64_t size, int axis) const {
  if (size < 1) throw ArgumentError("[split] pieces need at least one entry");
  std::vector<Tensor> parts;
  for (std::int64_t at = 0; at < dim(axis); at += size) {
    parts.push_back(narrow(axis, at, std::min(size, dim(axis) - at)));
  }
  return parts;
}

template <int D, class Kind>
auto Tensor<D, Kind>::extremum(op::ExtremumKind kind, int axis) const {
  const auto indices = detail::unsqueeze(detail::arg_reduce(kind, value_, axis), axis < 0 ? axis + D : axis);
  const auto values = detail::gather(value_, axis, indices);
  return WithIndices<reduced_rank, Kind>{Tensor<reduced_rank, Kind>(detail::squeeze(values, axis)),
                                         Tensor<reduced_rank, Int>(detail::squeeze(indices, axis))};
}
template <int D, class Kind>
WithIndices<D, Kind> Tensor<D, Kind>::sort_with_indices(int axis, bool descending) const requires(D >= 1) {
  const auto indices = argsort(axis, descending);
  return {gather(axis, indices), indices};
}
template <int D, class Kind>
WithIndices<D, Kind> Tensor<D, Kind>::topk(std::int64_t k, int axis, bool largest) const requires(D >= 1) {
  if (k < 0) throw ArgumentError("[topk] k must not be negative");
  const auto indices = detail::argsort(value_, axis, largest, k);
  return {Tensor(detail::gather(value_, axis, indices)), Tensor<D, Int>(indices)};
}

template <int D, class Kind>
Gradients Tensor<D, Kind>::backward() const requires is_float_kind {
  return Gradients(detail::backward(value_));
}
template <int D, class Kind>
Tensor<D, Kind> Tensor<D, Kind>::grad(const Gradients& gradients) const requires is_float_kind {
  return Tensor(detail::gradient_of(gradients.impl(), value_));
}

namespace detail {
template <int D, class Kind>
std::vector<ValueRef> values_of(const std::vector<Tensor<D, Kind>>& tensors) {
  std::vector<ValueRef> values;
  for (const auto& t : tensors) values.push_back(t.value());
  return values;
}
}  // namespace detail

}  // namespace strata::inline v0
