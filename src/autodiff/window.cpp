#include <algorithm>

#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

/// Channels before batch: [n, c, ...] -> [c, n, ...], with the groups of channels kept together as
/// [c / groups, groups * n, ...].
ValueRef channels_first(const ValueRef& x, std::int64_t groups) {
  const auto n = x->shape[0], c = x->shape[1];
  Shape split{n, groups, c / groups}, merged{c / groups, groups * n};
  Axes order{2, 1, 0};
  for (int i = 2; i < x->shape.rank(); ++i) {
    split.push_back(x->shape[i]);
    merged.push_back(x->shape[i]);
    order.push_back(i + 1);
  }
  return bridge::reshape(bridge::permute(bridge::reshape(x, split), order), merged);
}

ValueRef swapped(const ValueRef& x) { return bridge::transpose(x, 0, 1); }

/// The first entries of every spatial axis, as many as `shape` has there.
ValueRef cropped(const ValueRef& x, const Shape& shape) {
  Dims stop = x->shape;
  for (int i = 2; i < stop.rank(); ++i) stop[i] = std::min(stop[i], shape[i]);
  if (stop == x->shape) return x;
  return bridge::slice(x, Dims::filled(stop.rank(), 0), stop, Dims::filled(stop.rank(), 1));
}

/// The gradient of a convolution's weight: its input convolved with the gradient `g` of its output, batch and
/// channels swapped, stride and dilation swapped.
ValueRef weight_gradient(const op::Conv& op, const ValueRef& x, const ValueRef& g, const Shape& weight) {
  const op::Conv swapped_op{op.dilation, op.padding, op.stride, op.groups, false, {}};
  const auto result = bridge::conv(swapped_op, channels_first(x, op.groups), swapped(g));
  return cropped(swapped(result), weight);
}

/// The gradient of a convolution's input, which has the extents of `shape`.
ValueRef input_gradient(op::Conv op, const ValueRef& g, const ValueRef& weight, const Shape& shape) {
  op.transposed = true;
  op.extra = Dims::filled(op.stride.rank(), 0);
  for (int i = 0; i < op.stride.rank(); ++i) {  // entries that the last window did not reach
    const auto reached = (g->shape[2 + i] - 1) * op.stride[i] - 2 * op.padding[i] +
                         (weight->shape[2 + i] - 1) * op.dilation[i] + 1;
    op.extra[i] = std::max<std::int64_t>(shape[2 + i] - reached, 0);
  }
  return cropped(bridge::conv(op, g, weight), shape);
}

/// How many elements each window of a mean counts along one spatial axis.
std::vector<double> counts(const op::Pool& op, int axis, std::int64_t extent, std::int64_t windows) {
  std::vector<double> result;
  const auto padding = op.count_padding ? op.padding[axis] : 0;
  for (std::int64_t o = 0; o < windows; ++o) {
    double count = 0;
    for (std::int64_t k = 0; k < op.window[axis]; ++k) {
      const auto at = o * op.stride[axis] - op.padding[axis] + k * op.dilation[axis];
      count += at >= -padding && at < extent + padding;
    }
    result.push_back(count);
  }
  return result;
}

void differentiate_mean(const op::Pool& op, Step& step) {
  const auto& shape = step.input_type(0).shape;
  auto g = step.gradient();
  const auto channels = shape[1];
  Shape ones{channels, 1};
  for (int i = 0; i < op.window.rank(); ++i) {
    ones.push_back(op.window[i]);
    const auto n = g->shape[2 + i];
    Shape column = Shape::filled(op.window.rank() - i, 1);
    column[0] = n;
    const auto data = TensorData::from<double>(counts(op, i, shape[2 + i], n), column);
    g = bridge::div(g, g->backend.from_data(data.convert(g->dtype)));
  }
  const op::Conv spread{op.stride, op.padding, op.dilation, channels, true, {}};
  step.give(0, input_gradient(spread, g, bridge::fill(g->backend, ones, g->dtype, 1), shape));
}

void differentiate_max(const op::Pool& op, Step& step) {
  const auto x = step.input(0);
  const auto& g = step.gradient();
  const Shape flat{x->shape[0], x->shape[1], -1};
  const auto from = bridge::arg_pool({op.window, op.stride, op.padding, op.dilation, op.ceil_mode}, x);
  const auto zeros = bridge::reshape(bridge::zeros_like(x), flat);
  const auto result =
      bridge::scatter(zeros, 2, bridge::reshape(from, flat), bridge::reshape(g, flat), op::ScatterMode::add);
  step.give(0, bridge::reshape(result, x->shape));
}

}  // namespace

Saves saves(const op::Conv&, InputSet tracked) {
  return {(tracked & 2u ? 1u : 0u) | (tracked & 1u ? 2u : 0u), false};
}
Saves saves(const op::Pool& op, InputSet) { return {op.kind == op::PoolKind::max ? 1u : 0u, false}; }

void differentiate(const op::Conv& op, Step& step) {
  const auto& g = step.gradient();
  op::Conv straight = op;
  straight.transposed = false;
  straight.extra = {};
  if (step.needs(0)) {
    const auto& shape = step.input_type(0).shape;
    const auto weight = step.input(1);
    step.give(0, op.transposed ? cropped(bridge::conv(straight, g, weight), shape)
                               : input_gradient(straight, g, weight, shape));
  }
  if (step.needs(1)) {
    const auto x = step.input(0);
    const auto& weight = step.input_type(1).shape;
    step.give(
        1, op.transposed ? weight_gradient(straight, g, x, weight) : weight_gradient(straight, x, g, weight));
  }
}

void differentiate(const op::Pool& op, Step& step) {
  if (step.input_type(0).shape.product() == 0) {
    return step.give(0, bridge::expand(bridge::scalar_like(step.gradient(), 0), step.input_type(0).shape));
  }
  op.kind == op::PoolKind::max ? differentiate_max(op, step) : differentiate_mean(op, step);
}

}  // namespace strata::autodiff
