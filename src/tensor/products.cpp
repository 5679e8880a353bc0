#include <algorithm>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "strata/detail/functions.hpp"
#include "strata/error.hpp"

namespace strata::detail {
namespace {

Axes checked(const ValueRef& x, std::span<const int> axes) {
  Axes out;
  for (int a : axes) {
    const int axis = bridge::normalise_axis(a, x->shape.rank(), "tensordot");
    if (out.contains(axis)) throw ShapeError(fmt::format("[tensordot] axis {} is named twice", a));
    out.push_back(axis);
  }
  return out;
}
Axes others(const Axes& axes, int rank) {
  Axes out;
  for (int i = 0; i < rank; ++i) {
    if (!axes.contains(i)) out.push_back(i);
  }
  return out;
}
Axes joined(const Axes& a, const Axes& b) {
  Axes out = a;
  for (auto v : b) out.push_back(v);
  return out;
}
Shape extents(const ValueRef& x, const Axes& axes) {
  Shape out;
  for (auto axis : axes) out.push_back(x->shape[static_cast<int>(axis)]);
  return out;
}

}  // namespace

ValueRef tensordot(const ValueRef& a, const ValueRef& b, std::span<const int> axes_a,
                   std::span<const int> axes_b) {
  const auto summed_a = checked(a, axes_a), summed_b = checked(b, axes_b);
  const auto common = extents(a, summed_a);
  if (common != extents(b, summed_b)) {
    throw ShapeError(fmt::format("[tensordot] axes {} of {} and axes {} of {} differ in their extents",
                                 summed_a.to_string(), a->shape.to_string(), summed_b.to_string(),
                                 b->shape.to_string()));
  }
  const auto kept_a = others(summed_a, a->shape.rank()), kept_b = others(summed_b, b->shape.rank());
  const auto rows = extents(a, kept_a), columns = extents(b, kept_b);
  const auto left =
      bridge::reshape(bridge::permute(a, joined(kept_a, summed_a)), {rows.product(), common.product()});
  const auto right =
      bridge::reshape(bridge::permute(b, joined(summed_b, kept_b)), {common.product(), columns.product()});
  return bridge::reshape(bridge::matmul(left, right), joined(rows, columns));
}

ValueRef cross(const ValueRef& a, const ValueRef& b, int axis) {
  axis = bridge::normalise_axis(axis, a->shape.rank(), "cross");
  if (a->shape[axis] != 3 || b->shape[axis] != 3) {
    throw ShapeError(fmt::format("[cross] axis {} of {} and {} must have 3 entries in both", axis,
                                 a->shape.to_string(), b->shape.to_string()));
  }
  const auto turned = [&](const ValueRef& x, std::int64_t by) {
    return roll(x, std::span<const std::int64_t>(&by, 1), std::span<const int>(&axis, 1));
  };
  return bridge::sub(bridge::mul(turned(a, -1), turned(b, -2)), bridge::mul(turned(a, -2), turned(b, -1)));
}

}  // namespace strata::detail
