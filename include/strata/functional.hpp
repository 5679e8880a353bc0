/// Layers as functions: linear, convolution and pooling, normalisation, embedding, attention. Losses: see
/// loss.hpp. Shapes are written [batch, channels, ...]; Float tensors throughout unless said otherwise. All
/// are differentiable.
#pragma once

#include <array>
#include <string>

#include "strata/activation.hpp"
#include "strata/detail/functional.hpp"
#include "strata/products.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

// ---- linear layers

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
