/// Products beyond matmul, and distances. Differentiable.
#pragma once

#include <string>

#include "strata/detail/functional.hpp"
#include "strata/detail/functions.hpp"
#include "strata/precision.hpp"
#include "strata/statistics.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

/// [.., m, k] x [.., k, n] -> [.., m, n] in this precision, whatever scope holds.
template <int D, int E, class Kind>
auto matmul(const Tensor<D, Kind>& a, const Tensor<E, Kind>& b, Precision precision) {
  const MatmulPrecision scope(precision);
  return a.matmul(b);
}
/// Einstein summation: `einsum<2>("ij,jk->ik", a, b)`. Letters name axes; those missing on the right are
/// summed.
template <int R, int... D, class Kind>
Tensor<R, Kind> einsum(const std::string& equation, const Tensor<D, Kind>&... operands) {
  return Tensor<R, Kind>(detail::einsum(equation, {operands.value()...}));
}
/// [n] . [n] -> a number.
template <class Kind>
Tensor<0, Kind> dot(const Tensor<1, Kind>& a, const Tensor<1, Kind>& b) {
  return einsum<0>("i,i->", a, b);
}
/// [m], [n] -> [m, n].
template <class Kind>
Tensor<2, Kind> outer(const Tensor<1, Kind>& a, const Tensor<1, Kind>& b) {
  return a.unsqueeze(1) * b;
}
/// [m, n] x [n] -> [m].
template <class Kind>
Tensor<1, Kind> matvec(const Tensor<2, Kind>& a, const Tensor<1, Kind>& x) {
  return a.matmul(x.unsqueeze(1)).squeeze(1);
}
/// Kronecker product, [m, n] and [p, q] -> [m p, n q].
template <class Kind>
Tensor<2, Kind> kron(const Tensor<2, Kind>& a, const Tensor<2, Kind>& b) {
  return Tensor<2, Kind>(detail::kron(a.value(), b.value()));
}
/// beta * c + alpha * a x b.
template <int D, int E>
auto addmm(const Tensor<E>& c, const Tensor<D>& a, const Tensor<D>& b, double beta = 1, double alpha = 1) {
  return c * beta + a.matmul(b) * alpha;
}
/// a + weight * (b - a).
template <int D, int E>
auto lerp(const Tensor<D>& a, const Tensor<E>& b, double weight) {
  return a + (b - a) * weight;
}
/// Distances between rows in the p-norm: [.., m, k], [.., n, k] -> [.., m, n].
template <int D>
requires(D >= 2 && D < max_rank) Tensor<D> cdist(const Tensor<D>& a, const Tensor<D>& b, double p = 2) {
  return (a.unsqueeze(-2) - b.unsqueeze(-3)).norm(p, -1);
}
/// Cosine of the angle between vectors along `axis`; norms below eps count as eps.
template <int D>
auto cosine_similarity(const Tensor<D>& a, const Tensor<D>& b, int axis = -1, double eps = 1e-8) {
  return (a * b).sum(axis) / (a.norm(2, axis).max_with(eps) * b.norm(2, axis).max_with(eps));
}
/// beta * c + alpha * a x b for a batch: a [batch, m, k], b [batch, k, n], c broadcast to [batch, m, n].
template <int E>
requires(E <= 3) Tensor<3> baddbmm(const Tensor<E>& c, const Tensor<3>& a, const Tensor<3>& b,
                                   double beta = 1, double alpha = 1) {
  return addmm(c, a, b, beta, alpha);
}
/// Outer products of the vectors along `axis`: [.., n, ..] and [.., m, ..] -> [.., n, m, ..].
template <int D, class Kind>
requires(D >= 1 && D < max_rank) Tensor<D + 1, Kind> outer(const Tensor<D, Kind>& a, const Tensor<D, Kind>& b,
                                                           int axis) {
  const int at = axis < 0 ? axis + D : axis;
  return a.unsqueeze(at + 1) * b.unsqueeze(at);
}
/// Sums over the last N axes of a and the first N of b, which must agree; N = 0 is the outer product.
template <int N, int D, int E, class Kind>
requires(N >= 0 && N <= D && N <= E) auto tensordot(const Tensor<D, Kind>& a, const Tensor<E, Kind>& b) {
  int last[N + 1], first[N + 1];
  for (int i = 0; i < N; ++i) {
    last[i] = D - N + i;
    first[i] = i;
  }
  constexpr std::size_t count = N;
  return Tensor<D + E - 2 * N, Kind>(detail::tensordot(
      a.value(), b.value(), std::span<const int>(last, count), std::span<const int>(first, count)));
}
/// Sums over axes_a[i] of a and axes_b[i] of b; what is left of a comes first.
template <int D, int E, class Kind, std::size_t N>
auto tensordot(const Tensor<D, Kind>& a, const Tensor<E, Kind>& b, const int (&axes_a)[N],
               const int (&axes_b)[N]) {
  static_assert(N <= D && N <= E, "more axes than a tensor has");
  return Tensor<D + E - 2 * static_cast<int>(N), Kind>(
      detail::tensordot(a.value(), b.value(), axes_a, axes_b));
}
/// The cross product of the vectors along `axis`, which has 3 entries; the other axes broadcast.
template <int D, class Kind>
requires(D >= 1) Tensor<D, Kind> cross(const Tensor<D, Kind>& a, const Tensor<D, Kind>& b, int axis = -1) {
  return Tensor<D, Kind>(detail::cross(a.value(), b.value(), axis));
}

}  // namespace strata::inline v0
