#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using op::CumulativeKind;

ValueRef range_of(const ValueRef& x, int axis, std::int64_t start, std::int64_t stop) {
  Dims from = Dims::filled(x->shape.rank(), 0), to = x->shape;
  from[axis] = start;
  to[axis] = stop;
  return bridge::slice(x, from, to, Dims::filled(x->shape.rank(), 1));
}

/// x moved by `by` entries towards the front of `axis`; what enters at the back is `value`.
ValueRef advanced(const ValueRef& x, int axis, std::int64_t by, double value) {
  Dims none = Dims::filled(x->shape.rank(), 0), after = none;
  after[axis] = by;
  return bridge::pad(range_of(x, axis, by, x->shape[axis]), none, after, value);
}

/// The gradient of y = cumprod(x) without a division, so right at zeros. dx[j] is the product of what lies
/// before j times s[j] = g[j] + x[j + 1] s[j + 1]: a linear recurrence, solved by doubling (Hillis and
/// Steele, "Data parallel algorithms", CACM 1986).
ValueRef cumprod_gradient(const ValueRef& x, int axis, const ValueRef& g) {
  const auto n = x->shape[axis];
  auto sum = g, factor = advanced(x, axis, 1, 0);
  for (std::int64_t by = 1; by < n; by *= 2) {
    sum = bridge::add(sum, bridge::mul(factor, advanced(sum, axis, by, 0)));
    if (by * 2 < n) factor = bridge::mul(factor, advanced(factor, axis, by, 0));
  }
  Dims before = Dims::filled(x->shape.rank(), 0), none = before;
  before[axis] = 1;
  const auto products = bridge::cumulative(CumulativeKind::prod, range_of(x, axis, 0, n - 1), axis);
  return bridge::mul(bridge::pad(products, before, none, 1), sum);
}

/// Where the running extremum `y` of `x` was last met, as i64 indices along `axis`.
ValueRef last_met(const ValueRef& x, const ValueRef& y, int axis) {
  const auto met = bridge::binary(op::BinaryKind::bit_or, bridge::compare(op::CompareKind::equal, x, y),
                                  bridge::compare(op::CompareKind::not_equal, x, x));
  Shape column = Shape::filled(x->shape.rank() - axis, 1);
  column[0] = x->shape[axis];
  const auto position = bridge::reshape(bridge::iota(x->backend, column[0], DType::i64, 0, 1), column);
  return bridge::cumulative(CumulativeKind::max,
                            bridge::where(met, position, bridge::scalar_like(position, 0)), axis);
}

}  // namespace

Saves saves(const op::Cumulative& op, InputSet) {
  switch (op.kind) {
    case CumulativeKind::sum:
      return {};
    case CumulativeKind::prod:
      return {1, false};
    case CumulativeKind::max:
    case CumulativeKind::min:
      return {1, true};
  }
  return {};
}

void differentiate(const op::Cumulative& op, Step& step) {
  const auto& g = step.gradient();
  if (g->shape.product() == 0) return step.give(0, g);
  switch (op.kind) {
    case CumulativeKind::sum: {
      const auto reversed = bridge::flip(g, {op.axis});
      return step.give(0,
                       bridge::flip(bridge::cumulative(CumulativeKind::sum, reversed, op.axis), {op.axis}));
    }
    case CumulativeKind::prod: {
      const auto x = step.input(0);
      const auto type = bridge::wide(x->dtype);
      const auto result = cumprod_gradient(bridge::cast(x, type), op.axis, bridge::cast(g, type));
      return step.give(0, bridge::cast(result, x->dtype));
    }
    case CumulativeKind::max:
    case CumulativeKind::min: {
      const auto x = step.input(0);
      return step.give(0, bridge::scatter(bridge::zeros_like(x), op.axis, last_met(x, step.output(), op.axis),
                                          g, op::ScatterMode::add));
    }
  }
}

}  // namespace strata::autodiff
