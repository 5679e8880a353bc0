/// Families that work along one axis: they run on rows, with that axis last and dense, or down columns.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

/// `x` with `axis` last and everything dense: itself, or a copy.
inline FlexRef rows_of(const FlexValue& x, int axis, std::string_view op) {
  const int last = x.shape.rank() - 1;
  if (axis == last) return contiguous(x, op);
  Axes order;
  for (int i = 0; i <= last; ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return contiguous(*FlexValue::view_of(x, op::permuted(x.view(), {order})), op);
}

/// The shape of `rows_of` a tensor of this shape.
inline Shape rows_shape(const Shape& shape, int axis) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) result.push_back(shape[i]);
  }
  result.push_back(shape[axis]);
  return result;
}

/// The inverse of `rows_of`, as a view.
inline FlexRef axis_back(const FlexRef& rows, int axis) {
  const int last = rows->shape.rank() - 1;
  if (axis == last) return rows;
  Axes order;
  for (int i = 0; i < axis; ++i) order.push_back(i);
  order.push_back(last);
  for (int i = axis; i < last; ++i) order.push_back(i);
  return FlexValue::view_of(*rows, op::permuted(rows->view(), {order}));
}

/// A contiguous tensor as matrices whose columns run along `axis`.
struct Columns {
  std::int64_t matrices = 1, length, count = 1;
};
inline Columns columns_of(const Shape& shape, int axis) {
  Columns c;
  for (int i = 0; i < axis; ++i) c.matrices *= shape[i];
  c.length = shape[axis];
  for (int i = axis + 1; i < shape.rank(); ++i) c.count *= shape[i];
  return c;
}

}  // namespace strata::flex
