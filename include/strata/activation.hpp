/// Activations of Float tensors, element by element unless said otherwise. Differentiable. Those without
/// parameters that are one operation (relu, gelu, silu, sigmoid, softplus, tanh ...) are methods of Tensor.
#pragma once

#include <cmath>
#include <numbers>

#include "strata/arrange.hpp"

namespace strata::inline v0 {

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

/// The softmax of an axis that has one more entry of 0: exp(x) / (1 + sum exp(x)). All may be small at once.
template <int D>
requires(D >= 1) Tensor<D> quiet_softmax(const Tensor<D>& x, int axis) {
  const auto silent = Tensor<D>::zeros_like(x).sum_keep({axis});
  return cat({x, silent}, axis).softmax(axis).narrow(axis, 0, x.dim(axis));
}
/// gelu by tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. Hendrycks and Gimpel, "Gaussian error
/// linear units", 2016.
template <int D>
Tensor<D> gelu_tanh(const Tensor<D>& input) {
  const auto x = input.max_with(-1000);  // the limit of -infinity is -0
  return x * ((x * x * 0.044715 + 1) * x * (2 * std::sqrt(2 / std::numbers::pi))).sigmoid();
}
/// log(sigmoid(x)).
template <int D>
Tensor<D> log_sigmoid(const Tensor<D>& x) {
  return -(-x).softplus();
}
/// x tanh(softplus(x)). Misra, "Mish: a self regularized non-monotonic activation function", 2019.
template <int D>
Tensor<D> mish(const Tensor<D>& input) {
  const auto x = input.max_with(-1000);  // the limit of -infinity is -0
  return x * x.softplus().tanh();
}
/// x above alpha, 0 elsewhere.
template <int D>
Tensor<D> thresholded_relu(const Tensor<D>& x, double alpha = 1) {
  return x.mask_fill(x.less_equal(alpha), 0);
}
/// x drawn nearer to 0 by `bias`; 0 within [-lambda, lambda], lambda >= 0.
template <int D>
Tensor<D> shrink(const Tensor<D>& x, double lambda = 0.5, double bias = 0) {
  return (x - x.sign() * bias).mask_fill(x.abs().less_equal(lambda), 0);
}

}  // namespace strata::inline v0
