/// Functions of several tensors: products beyond matmul, convolution and pooling, normalisation, activations
/// with parameters, attention. Losses: see loss.hpp. Shapes are written [batch, channels, ...]; Float tensors
/// throughout unless said otherwise. All are differentiable.
#pragma once

#include <array>
#include <string>

#include "strata/detail/functional.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

// ---- products

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
/// x w^T + b: x [.., in], weight [out, in], bias [out].
template <int D>
requires(D >= 2) Tensor<D> linear(const Tensor<D>& x, const Tensor<2>& weight, const Tensor<1>& bias) {
  return x.matmul(weight.t()) + bias;
}
template <int D>
requires(D >= 2) Tensor<D> linear(const Tensor<D>& x, const Tensor<2>& weight) {
  return x.matmul(weight.t());
}

// ---- convolution and pooling; N spatial axes

/// Per-axis numbers, or one for all axes.
template <int N>
struct PerAxis {
  std::array<std::int64_t, N> values;
  PerAxis(std::int64_t all) { values.fill(all); }  // NOLINT(google-explicit-constructor)
  PerAxis(std::initializer_list<std::int64_t> each) {
    if (each.size() != N) throw ArgumentError("expected one number for each spatial axis");
    std::copy(each.begin(), each.end(), values.begin());
  }
};

template <int N>
struct ConvOptions {
  PerAxis<N> stride = 1, padding = 0, dilation = 1;
  std::int64_t groups = 1;
  PerAxis<N> output_padding = 0;  ///< of a transposed convolution
};

/// x [n, c, ...], weight [k, c / groups, ...] -> [n, k, ...]: cross-correlation.
template <int N>
Tensor<N + 2> conv(const Tensor<N + 2>& x, const Tensor<N + 2>& weight, const ConvOptions<N>& o) {
  return Tensor<N + 2>(detail::conv(x.value(), weight.value(), o.stride.values, o.padding.values,
                                    o.dilation.values, o.groups, false, {}));
}
/// x [n, c, ...], weight [c, k / groups, ...] -> [n, k, ...].
template <int N>
Tensor<N + 2> conv_transpose(const Tensor<N + 2>& x, const Tensor<N + 2>& weight, const ConvOptions<N>& o) {
  return Tensor<N + 2>(detail::conv(x.value(), weight.value(), o.stride.values, o.padding.values,
                                    o.dilation.values, o.groups, true, o.output_padding.values));
}
inline Tensor<3> conv1d(const Tensor<3>& x, const Tensor<3>& w, const ConvOptions<1>& o = {}) {
  return conv<1>(x, w, o);
}
inline Tensor<4> conv2d(const Tensor<4>& x, const Tensor<4>& w, const ConvOptions<2>& o = {}) {
  return conv<2>(x, w, o);
}
inline Tensor<5> conv3d(const Tensor<5>& x, const Tensor<5>& w, const ConvOptions<3>& o = {}) {
  return conv<3>(x, w, o);
}
inline Tensor<3> conv_transpose1d(const Tensor<3>& x, const Tensor<3>& w, const ConvOptions<1>& o = {}) {
  return conv_transpose<1>(x, w, o);
}
inline Tensor<4> conv_transpose2d(const Tensor<4>& x, const Tensor<4>& w, const ConvOptions<2>& o = {}) {
  return conv_transpose<2>(x, w, o);
}
inline Tensor<5> conv_transpose3d(const Tensor<5>& x, const Tensor<5>& w, const ConvOptions<3>& o = {}) {
  return conv_transpose<3>(x, w, o);
}

template <int N>
struct PoolOptions {
  PerAxis<N> window;
  PerAxis<N> stride = window;  ///< as far apart as they are wide, unless said otherwise
  PerAxis<N> padding = 0, dilation = 1;
  bool ceil_mode = false;
  bool count_padding = true;  ///< means divide by the whole window, padding included
};

template <int N, class Kind>
Tensor<N, Kind> max_pool(const Tensor<N, Kind>& x, const PoolOptions<N - 2>& o) {
  return Tensor<N, Kind>(detail::pool(op::PoolKind::max, x.value(), o.window.values, o.stride.values,
                                      o.padding.values, o.dilation.values, o.ceil_mode, true));
}
/// Indices are positions in the flattened spatial axes.
template <int N, class Kind>
WithIndices<N, Kind> max_pool_with_indices(const Tensor<N, Kind>& x, const PoolOptions<N - 2>& o) {
  return {max_pool(x, o), Tensor<N, Int>(detail::arg_pool(x.value(), o.window.values, o.stride.values,
                                                          o.padding.values, o.dilation.values, o.ceil_mode))};
}
template <int N>
Tensor<N> avg_pool(const Tensor<N>& x, const PoolOptions<N - 2>& o) {
  return Tensor<N>(detail::pool(op::PoolKind::mean, x.value(), o.window.values, o.stride.values,
                                o.padding.values, o.dilation.values, o.ceil_mode, o.count_padding));
}
/// Windows that cover each spatial axis in `size` (almost) equal parts.
template <int N>
Tensor<N> adaptive_avg_pool(const Tensor<N>& x, const PerAxis<N - 2>& size) {
  return Tensor<N>(detail::adaptive_pool(op::PoolKind::mean, x.value(), size.values));
}
template <int N>
Tensor<N> adaptive_max_pool(const Tensor<N>& x, const PerAxis<N - 2>& size) {
  return Tensor<N>(detail::adaptive_pool(op::PoolKind::max, x.value(), size.values));
}

using detail::Interpolation;
/// Spatial axes resampled to `size`.
template <int N>
Tensor<N> interpolate(const Tensor<N>& x, const PerAxis<N - 2>& size, Interpolation how,
                      bool align_corners = false) {
  return Tensor<N>(detail::interpolate(x.value(), size.values, how, align_corners));
}

// ---- normalisation

/// Over the last axis: weight and bias [n].
template <int D>
Tensor<D> layer_norm(const Tensor<D>& x, double eps = 1e-5) {
  return Tensor<D>(detail::norm(op::NormKind::layer, x.value(), {}, eps));
}
template <int D>
Tensor<D> layer_norm(const Tensor<D>& x, const Tensor<1>& weight, const Tensor<1>& bias, double eps = 1e-5) {
  return Tensor<D>(detail::norm(op::NormKind::layer, x.value(), {weight.value(), bias.value()}, eps));
}
template <int D>
Tensor<D> rms_norm(const Tensor<D>& x, const Tensor<1>& weight, double eps = 1e-5) {
  return Tensor<D>(detail::norm(op::NormKind::rms, x.value(), {weight.value()}, eps));
}
/// Channels in `groups` groups, each normalised over itself and the spatial axes; weight and bias [channels].
template <int D>
Tensor<D> group_norm(const Tensor<D>& x, std::int64_t groups, const Tensor<1>& weight, const Tensor<1>& bias,
                     double eps = 1e-5) {
  return Tensor<D>(detail::group_norm(x.value(), groups, weight.value(), bias.value(), eps));
}
/// With given statistics (inference); everything [channels].
template <int D>
Tensor<D> batch_norm(const Tensor<D>& x, const Tensor<1>& mean, const Tensor<1>& variance,
                     const Tensor<1>& weight, const Tensor<1>& bias, double eps = 1e-5) {
  return Tensor<D>(
      detail::batch_norm(x.value(), mean.value(), variance.value(), weight.value(), bias.value(), eps));
}

// ---- activations

template <int D>
Tensor<D> leaky_relu(const Tensor<D>& x, double slope = 0.01) {
  return x.greater(0).where(x, x * slope);
}
template <int D>
Tensor<D> elu(const Tensor<D>& x, double alpha = 1) {
  return x.greater(0).where(x, x.min_with(0).expm1() * alpha);
}
template <int D>
Tensor<D> celu(const Tensor<D>& x, double alpha = 1) {
  return x.greater(0).where(x, (x.min_with(0) / alpha).expm1() * alpha);
}
/// Klambauer et al., "Self-normalizing neural networks", 2017.
template <int D>
Tensor<D> selu(const Tensor<D>& x) {
  return elu(x, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946;
}
template <int D>
Tensor<D> relu6(const Tensor<D>& x) {
  return x.clamp(0, 6);
}
template <int D>
Tensor<D> hardtanh(const Tensor<D>& x, double low = -1, double high = 1) {
  return x.clamp(low, high);
}
template <int D>
Tensor<D> hard_sigmoid(const Tensor<D>& x) {
  return (x / 6 + 0.5).clamp(0, 1);
}
template <int D>
Tensor<D> hard_swish(const Tensor<D>& x) {
  return x * hard_sigmoid(x);
}
template <int D>
Tensor<D> softsign(const Tensor<D>& x) {
  return x / (x.abs() + 1);
}
template <int D>
Tensor<D> tanhshrink(const Tensor<D>& x) {
  return x - x.tanh();
}
template <int D>
Tensor<D> hard_shrink(const Tensor<D>& x, double lambda = 0.5) {
  return x.mask_fill(x.abs().less_equal(lambda), 0);
}
template <int D>
Tensor<D> soft_shrink(const Tensor<D>& x, double lambda = 0.5) {
  return x - x.clamp(-lambda, lambda);
}
/// `value` where x is not above the threshold.
template <int D>
Tensor<D> threshold(const Tensor<D>& x, double limit, double value) {
  return x.mask_fill(!x.greater(limit), value);
}
/// x for x > 0, weight * x else; the weight broadcasts.
template <int D, int E>
Tensor<D> prelu(const Tensor<D>& x, const Tensor<E>& weight) {
  return x.greater(0).where(x, x * weight);
}
/// The first half of an axis times the sigmoid of the second.
template <int D>
Tensor<D> glu(const Tensor<D>& x, int axis = -1) {
  const auto half = x.dim(axis) / 2;
  return x.narrow(axis, 0, half) * x.narrow(axis, half, x.dim(axis) - half).sigmoid();
}
template <int D>
Tensor<D> softmin(const Tensor<D>& x, int axis) {
  return (-x).softmax(axis);
}

// ---- embedding and attention

/// Rows of the table [classes, width] by index.
template <int D>
requires(D + 1 <= max_rank) Tensor<D + 1> embedding(const Tensor<2>& table, const Tensor<D, Int>& index) {
  return Tensor<D + 1>(detail::embedding(table.value(), index.value()));
}

struct AttentionOptions {
  bool causal = false;  ///< a query sees the keys up to its own place, counted from the end of both
  double scale = 0;     ///< of the scores; 0: 1 / sqrt(width)
};
/// softmax(q k^T * scale) v: q [batch, heads, m, d], k [batch, groups, n, d], v [batch, groups, n, e] where
/// groups divides heads (grouped heads). With a mask [batch or 1, heads or 1, m or 1, n or 1]: true where a
/// query may look, or numbers added to the scores. A query that may look nowhere gets zeros. The weights are
/// never in memory at once.
inline Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v,
                           const AttentionOptions& o = {}) {
  return Tensor<4>(detail::attention(q.value(), k.value(), v.value(), {}, o.causal, o.scale));
}
inline Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v,
                           const Tensor<4, Bool>& mask, const AttentionOptions& o = {}) {
  return Tensor<4>(detail::attention(q.value(), k.value(), v.value(), mask.value(), o.causal, o.scale));
}
inline Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v, const Tensor<4>& bias,
                           const AttentionOptions& o = {}) {
  return Tensor<4>(detail::attention(q.value(), k.value(), v.value(), bias.value(), o.causal, o.scale));
}

}  // namespace strata::inline v0
