#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using op::ReduceKind;

/// `x`, the shape of the result, as a tensor that broadcasts against the input: reduced axes have extent 1.
ValueRef with_kept_axes(const op::Reduce& op, const ValueRef& x, const Shape& input) {
  Shape kept = input;
  for (auto axis : op.axes) kept[static_cast<int>(axis)] = 1;
  return bridge::reshape(x, kept);
}

/// [rows, n] -> [rows, n]: entry i is the product of the row's other entries. Without a division, so right at
/// zeros: a tree of products is built upwards, and on the way down a node's "all others" is its parent's
/// times its sibling.
ValueRef products_of_others(const ValueRef& x) {
  std::vector<ValueRef> levels;  // [rows, pairs, 2], from the leaves up
  for (auto level = x; level->shape[1] > 1;) {
    if (level->shape[1] % 2 != 0) {
      level = bridge::cat({level, bridge::fill(x->backend, {x->shape[0], 1}, x->dtype, 1)}, 1);
    }
    levels.push_back(bridge::reshape(level, {x->shape[0], level->shape[1] / 2, 2}));
    level = bridge::reduce(ReduceKind::prod, levels.back(), {2}, false);
  }
  auto others = bridge::fill(x->backend, {x->shape[0], 1}, x->dtype, 1);
  while (!levels.empty()) {
    const auto siblings = bridge::flip(levels.back(), {2});
    const auto pairs = siblings->shape[1];
    if (others->shape[1] != pairs) others = bridge::slice(others, {0, 0}, {x->shape[0], pairs}, {1, 1});
    others = bridge::mul(bridge::reshape(others, {x->shape[0], pairs, 1}), siblings);
    others = bridge::reshape(others, {x->shape[0], 2 * pairs});
    levels.pop_back();
  }
  return others->shape[1] == x->shape[1] ? others : bridge::slice(others, {0, 0}, x->shape, {1, 1});
}

void differentiate_prod(const op::Reduce& op, Step& step) {
  const auto& g = step.gradient();
  const auto x = step.input(0);
  if (op.axes.empty()) return step.give(0, g);
  if (x->shape.product() == 0) return step.give(0, bridge::zeros_like(x));
  // Reduced axes last, then everything as a matrix whose rows are reduced.
  Axes order;
  std::int64_t count = 1;
  for (int i = 0; i < x->shape.rank(); ++i) {
    if (!op.axes.contains(i)) order.push_back(i);
  }
  for (auto axis : op.axes) {
    order.push_back(axis);
    count *= x->shape[static_cast<int>(axis)];
  }
  const auto rows = x->shape.product() / count;
  const auto type = bridge::wide(x->dtype);
  const auto moved = bridge::permute(x, order);
  const auto others = products_of_others(bridge::reshape(bridge::cast(moved, type), {rows, count}));
  const auto scaled = bridge::mul(bridge::reshape(bridge::cast(g, type), {rows, 1}), others);
  Axes back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  step.give(0, bridge::cast(bridge::permute(bridge::reshape(scaled, moved->shape), back), x->dtype));
}

/// The gradient is shared evenly among the elements equal to the extremum.
void differentiate_extremum(const op::Reduce& op, Step& step) {
  const auto x = step.input(0);
  const auto type = bridge::wide(x->dtype);
  const auto mask = bridge::compare(op::CompareKind::equal, x, with_kept_axes(op, step.output(), x->shape));
  const auto winners = bridge::reduce(ReduceKind::sum, bridge::cast(mask, type), op.axes, true);
  const auto g = bridge::cast(with_kept_axes(op, step.gradient(), x->shape), type);
  const auto share = bridge::cast(bridge::div(g, winners), x->dtype);
  step.give(0, bridge::where(mask, share, bridge::scalar_like(share, 0)));
}

}  // namespace

Saves saves(const op::Reduce& op, InputSet) {
  switch (op.kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      return {};
    case ReduceKind::prod:
      return {1, false};
    case ReduceKind::max:
    case ReduceKind::min:
      return {1, true};
  }
  return {};
}

void differentiate(const op::Reduce& op, Step& step) {
  const auto& shape = step.input_type(0).shape;
  const auto& g = step.gradient();
  switch (op.kind) {
    case ReduceKind::sum:
      return step.give(0, bridge::expand(with_kept_axes(op, g, shape), shape));
    case ReduceKind::mean: {
      double count = 1;
      for (auto axis : op.axes) count *= static_cast<double>(shape[static_cast<int>(axis)]);
      const auto share =
          bridge::cast(bridge::mul(bridge::cast(g, bridge::wide(g->dtype)), 1 / count), g->dtype);
      return step.give(0, bridge::expand(with_kept_axes(op, share, shape), shape));
    }
    case ReduceKind::prod:
      return differentiate_prod(op, step);
    case ReduceKind::max:
    case ReduceKind::min:
      return differentiate_extremum(op, step);
  }
}

}  // namespace strata::autodiff
