#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using op::CompareKind;
using op::ScatterMode;

ValueRef equal(const ValueRef& a, const ValueRef& b) { return bridge::compare(CompareKind::equal, a, b); }

ValueRef zeros(const ValueRef& like, const Shape& shape) {
  return bridge::expand(bridge::scalar_like(like, 0), shape);
}

/// assign: entries that were overwritten by a later one get nothing.
void differentiate_assign(const op::Scatter& op, Step& step, const ValueRef& index) {
  const auto& g = step.gradient();
  const auto& shape = index->shape;
  if (step.needs(0)) step.give(0, bridge::scatter(g, op.axis, index, zeros(g, shape), ScatterMode::assign));
  if (!step.needs(2)) return;
  const auto own = bridge::reshape(bridge::iota(g->backend, shape.product(), DType::i64, 0, 1), shape);
  const auto winners = bridge::scatter(zeros(own, g->shape), op.axis, index, own, ScatterMode::assign);
  const auto kept = equal(bridge::gather(winners, op.axis, index), own);
  const auto taken = bridge::gather(g, op.axis, index);
  step.give(2, bridge::where(kept, taken, bridge::scalar_like(taken, 0)));
}

/// mul: an entry's factor is the product of x and of the other entries of its target. Zeros are counted
/// apart, so that only numbers other than zero divide.
void differentiate_mul(const op::Scatter& op, Step& step, const ValueRef& index) {
  const auto& g = step.gradient();
  const auto source = step.input(2);
  const auto one = bridge::scalar_like(g, 1), zero = bridge::scalar_like(g, 0);
  if (step.needs(0)) {
    const auto factors =
        bridge::scatter(bridge::expand(one, g->shape), op.axis, index, source, ScatterMode::mul);
    step.give(0, bridge::mul(g, factors));
  }
  if (!step.needs(2)) return;
  const auto x = step.input(0);
  const auto is_zero = equal(source, zero);
  const auto solid = bridge::where(is_zero, one, source);
  const auto product =
      bridge::gather(bridge::scatter(x, op.axis, index, solid, ScatterMode::mul), op.axis, index);
  const auto count =
      bridge::scatter(zeros(g, g->shape), op.axis, index, bridge::cast(is_zero, g->dtype), ScatterMode::add);
  const auto zeros_here = bridge::gather(count, op.axis, index);
  const auto alone = equal(zeros_here, bridge::cast(is_zero, g->dtype));  // no other entry is zero
  const auto others = bridge::where(alone, bridge::div(product, solid), zero);
  step.give(2, bridge::mul(bridge::gather(g, op.axis, index), others));
}

/// max, min: the gradient is shared evenly among all that equal the result, as in reductions.
void differentiate_extremum(const op::Scatter& op, Step& step, const ValueRef& index) {
  const auto& g = step.gradient();
  const auto x = step.input(0), source = step.input(2), result = step.output();
  const auto own = bridge::cast(equal(x, result), g->dtype);
  const auto entries = bridge::cast(equal(source, bridge::gather(result, op.axis, index)), g->dtype);
  const auto count = bridge::scatter(own, op.axis, index, entries, ScatterMode::add);
  // Where NaN won nothing equals the result: no division by 0.
  const auto share = bridge::div(g, bridge::binary(op::BinaryKind::max, count, 1));
  if (step.needs(0)) step.give(0, bridge::mul(share, own));
  if (step.needs(2)) step.give(2, bridge::mul(bridge::gather(share, op.axis, index), entries));
}

}  // namespace

Saves saves(const op::Gather&, InputSet) { return {2, false}; }
Saves saves(const op::Scatter& op, InputSet tracked) {
  switch (op.mode) {
    case ScatterMode::add:
      return {tracked & 4u ? 2u : 0u, false};
    case ScatterMode::assign:
      return {2, false};
    case ScatterMode::mul:
      return {tracked & 4u ? 7u : 6u, false};
    case ScatterMode::max:
    case ScatterMode::min:
      return {7, true};
  }
  return {};
}
Saves saves(const op::SliceAssign&, InputSet) { return {}; }

void differentiate(const op::Gather& op, Step& step) {
  const auto& g = step.gradient();
  step.give(0,
            bridge::scatter(zeros(g, step.input_type(0).shape), op.axis, step.input(1), g, ScatterMode::add));
}

void differentiate(const op::Scatter& op, Step& step) {
  switch (op.mode) {
    case ScatterMode::add:
      if (step.needs(0)) step.give(0, step.gradient());
      if (step.needs(2)) step.give(2, bridge::gather(step.gradient(), op.axis, step.input(1)));
      return;
    case ScatterMode::assign:
      return differentiate_assign(op, step, step.input(1));
    case ScatterMode::mul:
      return differentiate_mul(op, step, step.input(1));
    case ScatterMode::max:
    case ScatterMode::min:
      return differentiate_extremum(op, step, step.input(1));
  }
}

void differentiate(const op::SliceAssign& op, Step& step) {
  const auto& g = step.gradient();
  const auto part = bridge::slice(g, op.start, op.stop, op.step);
  if (step.needs(0)) step.give(0, bridge::slice_assign(g, op.start, op.stop, op.step, zeros(g, part->shape)));
  if (step.needs(1)) step.give(1, part);
}

}  // namespace strata::autodiff
