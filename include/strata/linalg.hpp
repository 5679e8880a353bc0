/// Linear algebra on the last two axes of Float tensors; leading axes are a batch. Differentiable. A matrix
/// that is singular or not positive definite where it must not be is a MatrixError, on a lazy device when the
/// result is read.
#pragma once

#include "strata/detail/functional.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {
namespace linalg {

template <int D>
concept Matrices = D >= 2;

/// Lower L with a = L L^T; reads the lower triangle of a.
template <int D>
requires Matrices<D> Tensor<D> cholesky(const Tensor<D>& a) {
  return Tensor<D>(detail::linalg(op::LinalgKind::cholesky, {a.value()})[0]);
}
/// x with a x = b: a [.., n, n], b [.., n, k].
template <int D>
requires Matrices<D> Tensor<D> solve(const Tensor<D>& a, const Tensor<D>& b) {
  return Tensor<D>(detail::linalg(op::LinalgKind::solve, {a.value(), b.value()})[0]);
}
template <int D>
requires Matrices<D> Tensor<D> inverse(const Tensor<D>& a) {
  return Tensor<D>(detail::linalg(op::LinalgKind::inverse, {a.value()})[0]);
}
template <int D>
requires Matrices<D>
auto det(const Tensor<D>& a) {
  return Tensor<D - 2>(detail::linalg(op::LinalgKind::determinant, {a.value()})[0]);
}

template <int D>
struct QR {
  Tensor<D> q, r;
};
/// a [.., m, n] = q r with q [.., m, k] orthonormal and r [.., k, n] upper triangular, k = min(m, n).
/// Gradients need m >= n.
template <int D>
requires Matrices<D> QR<D> qr(const Tensor<D>& a) {
  const auto r = detail::linalg(op::LinalgKind::qr, {a.value()});
  return {Tensor<D>(r[0]), Tensor<D>(r[1])};
}

template <int D>
struct SVD {
  Tensor<D> u;
  Tensor<D - 1> s;  ///< descending
  Tensor<D> vt;
};
/// a [.., m, n] = u diag(s) vt with u [.., m, k] and vt [.., k, n], k = min(m, n). Gradients of u and vt need
/// distinct singular values.
template <int D>
requires Matrices<D> SVD<D> svd(const Tensor<D>& a) {
  const auto r = detail::linalg(op::LinalgKind::svd, {a.value()});
  return {Tensor<D>(r[0]), Tensor<D - 1>(r[1]), Tensor<D>(r[2])};
}

template <int D>
struct Eigen {
  Tensor<D - 1> values;  ///< ascending
  Tensor<D> vectors;     ///< in columns
};
/// Of symmetric matrices; reads the lower triangle. Gradients of the vectors need distinct values.
template <int D>
requires Matrices<D> Eigen<D> eigh(const Tensor<D>& a) {
  const auto r = detail::linalg(op::LinalgKind::eigh, {a.value()});
  return {Tensor<D - 1>(r[0]), Tensor<D>(r[1])};
}

}  // namespace linalg
}  // namespace strata::inline v0
