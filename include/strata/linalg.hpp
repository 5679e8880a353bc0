/// Linear algebra on the last two axes of Float tensors; leading axes are a batch. Differentiable. A matrix
/// that is singular or not positive definite where it must not be is a MatrixError, on a lazy device when the
/// result is read.
#pragma once

#include <limits>

#include "strata/detail/functional.hpp"
#include "strata/detail/functions.hpp"
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

template <int D>
struct LU {
  Tensor<D - 1, Int> order;  ///< rows of a as l and u have them: a[order] = l u
  Tensor<D> l;               ///< ones on the diagonal, zeros above
  Tensor<D> u;               ///< zeros below the diagonal
  /// The permutation matrices p with a = p l u.
  Tensor<D> p() const { return order.one_hot(order.dim(-1)).to_float(l.dtype()).transpose(); }
};
/// a [.., m, n] with its rows in another order is l [.., m, k] times u [.., k, n], k = min(m, n). Partial
/// pivoting. Gradients need an invertible leading k x k part of u.
template <int D>
requires Matrices<D> LU<D> lu(const Tensor<D>& a) {
  const auto r = detail::lu(a.value());
  return {Tensor<D - 1, Int>(r[0]), Tensor<D>(r[1]), Tensor<D>(r[2])};
}

template <int D>
struct SignAndLog {
  Tensor<D> sign;           ///< -1, 0 or 1
  Tensor<D> log_magnitude;  ///< -infinity where the matrix is singular
};
/// The determinant as sign * exp(log_magnitude), which leaves no range. The gradient needs an inverse.
template <int D>
requires Matrices<D> SignAndLog<D - 2> slogdet(const Tensor<D>& a) {
  const auto r = detail::linalg(op::LinalgKind::slogdet, {a.value()});
  return {Tensor<D - 2>(r[0]), Tensor<D - 2>(r[1])};
}
/// log(det(a)): NaN where the determinant is negative, -infinity where it is 0.
template <int D>
requires Matrices<D>
auto logdet(const Tensor<D>& a) {
  const auto [sign, log] = slogdet(a);
  return log.mask_fill(sign.less(0), std::numeric_limits<double>::quiet_NaN());
}

/// The pseudo-inverse [.., n, m] of Moore and Penrose, by svd. Singular values up to `rcond` times the
/// largest count as 0; without rcond, max(m, n) times the dtype's epsilon. Gradients need distinct singular
/// values.
template <int D>
requires Matrices<D> Tensor<D> pinv(const Tensor<D>& a, double rcond = -1) {
  return Tensor<D>(detail::pseudo_inverse(a.value(), rcond));
}

/// sqrt(sum a^2): the 2-norm of the singular values.
template <int D>
requires Matrices<D> Tensor<D - 2> frobenius_norm(const Tensor<D>& a) {
  return a.template flatten<D - 1>(-2, -1).norm(2, -1);
}
/// The sum of the singular values.
template <int D>
requires Matrices<D> Tensor<D - 2> nuclear_norm(const Tensor<D>& a) { return svd(a).s.sum(-1); }
/// The largest singular value.
template <int D>
requires Matrices<D> Tensor<D - 2> spectral_norm(const Tensor<D>& a) { return svd(a).s.max(-1); }

}  // namespace linalg
}  // namespace strata::inline v0
