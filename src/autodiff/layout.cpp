#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

ValueRef zeros(const ValueRef& like, const Shape& shape) {
  return bridge::expand(bridge::scalar_like(like, 0), shape);
}

/// x with `before` and `after` zeros around it on one axis.
ValueRef padded(const ValueRef& x, int axis, std::int64_t before, std::int64_t after) {
  if (before == 0 && after == 0) return x;
  std::vector<ValueRef> parts;
  Shape gap = x->shape;
  if (before > 0) {
    gap[axis] = before;
    parts.push_back(zeros(x, gap));
  }
  parts.push_back(x);
  if (after > 0) {
    gap[axis] = after;
    parts.push_back(zeros(x, gap));
  }
  return bridge::cat(parts, axis);
}

/// x with its entries on one axis `step` apart and zeros between and after them: extent n becomes n * step.
ValueRef spread(const ValueRef& x, int axis, std::int64_t step) {
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x->shape[i];
  for (int i = axis + 1; i < x->shape.rank(); ++i) inner *= x->shape[i];
  const auto folded = bridge::reshape(x, {outer, x->shape[axis], 1, inner});  // rank 4 whatever the rank of x
  Shape shape = x->shape;
  shape[axis] *= step;
  return bridge::reshape(padded(folded, 2, 0, step - 1), shape);
}

ValueRef first_entries(const ValueRef& x, int axis, std::int64_t count) {
  if (x->shape[axis] == count) return x;
  Dims stop = x->shape;
  stop[axis] = count;
  return bridge::slice(x, Dims::filled(stop.rank(), 0), stop, Dims::filled(stop.rank(), 1));
}

}  // namespace

Saves saves(const op::Reshape&, InputSet) { return {}; }
Saves saves(const op::Permute&, InputSet) { return {}; }
Saves saves(const op::Expand&, InputSet) { return {}; }
Saves saves(const op::Slice&, InputSet) { return {}; }
Saves saves(const op::Flip&, InputSet) { return {}; }
Saves saves(const op::Unfold&, InputSet) { return {}; }

void differentiate(const op::Reshape&, Step& step) {
  step.give(0, bridge::reshape(step.gradient(), step.input_type(0).shape));
}

void differentiate(const op::Permute& op, Step& step) {
  Axes inverse = op.order;
  for (int i = 0; i < op.order.rank(); ++i) inverse[static_cast<int>(op.order[i])] = i;
  step.give(0, bridge::permute(step.gradient(), inverse));
}

void differentiate(const op::Expand&, Step& step) { step.give_broadcast(0, step.gradient()); }

void differentiate(const op::Slice& op, Step& step) {
  const auto& shape = step.input_type(0).shape;
  auto g = step.gradient();
  if (g->shape.product() == 0) return step.give(0, zeros(g, shape));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto room = shape[axis] - op.start[axis];
    if (op.step[axis] > 1 && g->shape[axis] > 1) {
      const auto spaced = spread(g, axis, op.step[axis]);
      g = first_entries(spaced, axis, std::min(spaced->shape[axis], room));
    }
    g = padded(g, axis, op.start[axis], room - g->shape[axis]);
  }
  step.give(0, g);
}

void differentiate(const op::Flip& op, Step& step) { step.give(0, bridge::flip(step.gradient(), op.axes)); }

/// Every element gets the sum over the windows that hold it.
void differentiate(const op::Unfold& op, Step& step) {
  const auto& shape = step.input_type(0).shape;
  const auto& g = step.gradient();
  const auto windows = g->shape[op.axis];
  Axes order;  // the entries of a window next to the windows
  Shape flat = shape;
  flat[op.axis] = windows * op.size;
  for (int i = 0; i < shape.rank(); ++i) {
    order.push_back(i);
    if (i == op.axis) order.push_back(shape.rank());
  }
  auto& home = g->backend;
  const auto first = bridge::iota(home, windows, DType::i64, 0, op.step);
  const auto within = bridge::iota(home, op.size, DType::i64, 0, 1);
  const auto index = bridge::reshape(bridge::add(bridge::reshape(first, {windows, 1}), within), {-1});
  step.give(0, bridge::select_assign(zeros(g, shape), op.axis, index,
                                     bridge::reshape(bridge::permute(g, order), flat), op::ScatterMode::add));
}

void differentiate(const CatParts& op, Step& step) {
  const auto& g = step.gradient();
  Dims start = Dims::filled(g->shape.rank(), 0), stop = g->shape;
  stop[op.axis] = 0;
  for (std::size_t i = 0; i < op.extents.size(); ++i) {
    start[op.axis] = stop[op.axis];
    stop[op.axis] += op.extents[i];
    if (step.needs(i)) step.give(i, bridge::slice(g, start, stop, Dims::filled(g->shape.rank(), 1)));
  }
}

}  // namespace strata::autodiff
