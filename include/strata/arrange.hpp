/// Joining, splitting and arranging tensors of any kind. Differentiable.
#pragma once

#include <initializer_list>
#include <vector>

#include "strata/detail/functions.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

namespace detail {
/// Joined along `axis` after raising the rank to R.
template <int R, int D, class Kind>
Tensor<R, Kind> joined(const std::vector<Tensor<D, Kind>>& tensors, int axis) {
  std::vector<ValueRef> values;
  for (const auto& t : tensors) values.push_back(raised(t.value(), R));
  return Tensor<R, Kind>(cat(values, axis));
}
template <int D, class Kind>
std::vector<Tensor<D, Kind>> typed(const std::vector<ValueRef>& values) {
  std::vector<Tensor<D, Kind>> tensors;
  for (const auto& v : values) tensors.emplace_back(v);
  return tensors;
}
}  // namespace detail

// ---- joining

/// Joins along an existing axis.
template <int D, class Kind>
Tensor<D, Kind> cat(const std::vector<Tensor<D, Kind>>& tensors, int axis) {
  return Tensor<D, Kind>(detail::cat(detail::values_of(tensors), axis));
}
template <int D, class Kind>
Tensor<D, Kind> cat(std::initializer_list<Tensor<D, Kind>> tensors, int axis) {
  return cat(std::vector<Tensor<D, Kind>>(tensors), axis);
}
/// Joins along a new axis.
template <int D, class Kind>
Tensor<D + 1, Kind> stack(const std::vector<Tensor<D, Kind>>& tensors, int axis) {
  return Tensor<D + 1, Kind>(detail::stack(detail::values_of(tensors), axis));
}

template <int D, class Kind>
Tensor<D + 1, Kind> stack(std::initializer_list<Tensor<D, Kind>> tensors, int axis) {
  return stack(std::vector<Tensor<D, Kind>>(tensors), axis);
}

// ---- joining, with the ranks of NumPy

/// Vectors end to end, others along axis 1. Numbers count as vectors of one.
template <int D, class Kind>
auto hstack(const std::vector<Tensor<D, Kind>>& tensors) {
  return detail::joined<(D > 0 ? D : 1)>(tensors, D < 2 ? 0 : 1);
}
/// Along axis 0; vectors are rows.
template <int D, class Kind>
auto vstack(const std::vector<Tensor<D, Kind>>& tensors) {
  return detail::joined<(D > 2 ? D : 2)>(tensors, 0);
}
/// Along axis 2: vectors [n] count as [1, n, 1], matrices [m, n] as [m, n, 1].
template <int D, class Kind>
auto dstack(const std::vector<Tensor<D, Kind>>& tensors) {
  return detail::joined<(D > 3 ? D : 3)>(tensors, 2);
}
template <int D, class Kind>
auto hstack(std::initializer_list<Tensor<D, Kind>> tensors) {
  return hstack(std::vector<Tensor<D, Kind>>(tensors));
}
template <int D, class Kind>
auto vstack(std::initializer_list<Tensor<D, Kind>> tensors) {
  return vstack(std::vector<Tensor<D, Kind>>(tensors));
}
template <int D, class Kind>
auto dstack(std::initializer_list<Tensor<D, Kind>> tensors) {
  return dstack(std::vector<Tensor<D, Kind>>(tensors));
}

// ---- splitting

/// At most `count` pieces of equal size along an axis; the last one may be shorter. Throws ArgumentError
/// unless count >= 1.
template <int D, class Kind>
requires(D >= 1) std::vector<Tensor<D, Kind>> chunk(const Tensor<D, Kind>& x, std::int64_t count, int axis) {
  return detail::typed<D, Kind>(detail::chunk(x.value(), count, axis));
}
/// Pieces of the given sizes along an axis. Throws ShapeError unless they add up to its extent.
template <int D, class Kind>
requires(D >= 1) std::vector<Tensor<D, Kind>> split(const Tensor<D, Kind>& x,
                                                    const std::vector<std::int64_t>& sizes, int axis) {
  return detail::typed<D, Kind>(detail::split(x.value(), sizes, axis));
}
/// The entries of an axis, which goes: `for (const auto& row : unbind(x))`.
template <int D, class Kind>
requires(D >= 1) std::vector<Tensor<D - 1, Kind>> unbind(const Tensor<D, Kind>& x, int axis = 0) {
  return detail::typed<D - 1, Kind>(detail::unbind(x.value(), axis));
}

// ---- repeating and moving

/// The whole tensor `count` times along one axis.
template <int D, class Kind>
requires(D >= 1) Tensor<D, Kind> repeat(const Tensor<D, Kind>& x, std::int64_t count, int axis) {
  return Tensor<D, Kind>(detail::repeat_along(x.value(), count, axis));
}
/// Moves entries by shifts[i] along axes[i]; those that leave one end enter at the other.
template <int D, class Kind>
Tensor<D, Kind> roll(const Tensor<D, Kind>& x, const std::vector<std::int64_t>& shifts,
                     const std::vector<int>& axes) {
  return Tensor<D, Kind>(detail::roll(x.value(), shifts, axes));
}

// ---- diagonals. `diagonal` k is that of elements [i, i + k].

/// True on and below a diagonal.
inline Tensor<2, Bool> tril_mask(std::int64_t rows, std::int64_t columns, std::int64_t diagonal = 0,
                                 const Device& device = Device()) {
  return Tensor<2, Bool>(detail::mask(op::CompareKind::less_equal, rows, columns, diagonal, device));
}
/// True on and above a diagonal.
inline Tensor<2, Bool> triu_mask(std::int64_t rows, std::int64_t columns, std::int64_t diagonal = 0,
                                 const Device& device = Device()) {
  return Tensor<2, Bool>(detail::mask(op::CompareKind::greater_equal, rows, columns, diagonal, device));
}
/// True on a diagonal.
inline Tensor<2, Bool> diag_mask(std::int64_t rows, std::int64_t columns, std::int64_t diagonal = 0,
                                 const Device& device = Device()) {
  return Tensor<2, Bool>(detail::mask(op::CompareKind::equal, rows, columns, diagonal, device));
}
/// Matrices with the vectors of the last axis on a diagonal and 0 elsewhere: [.., n] -> [.., m, m], m = n +
/// |diagonal|. The inverse of `Tensor::diagonal`.
template <int D, class Kind>
requires(D >= 1 && D < max_rank) Tensor<D + 1, Kind> diag(const Tensor<D, Kind>& x,
                                                          std::int64_t diagonal = 0) {
  return Tensor<D + 1, Kind>(detail::diagonal_matrix(x.value(), diagonal));
}

}  // namespace strata::inline v0
