#include "cube/lines.hpp"

#include "cube/loop_nest.hpp"

namespace strata::cube {

Lines lines_of(const op::View& view, int axis) {
  Shape kept;
  Strides strides;
  for (int i = 0; i < view.shape.rank(); ++i) {
    if (i == axis) continue;
    kept.push_back(view.shape[i]);
    strides.push_back(view.strides[i]);
  }
  const LoopNest nest = collapse(kept, {strides});
  return {nest.extents, nest.layouts[0], view.offset, view.shape[axis], view.strides[axis]};
}

op::View axis_last(const op::View& view, int axis) {
  Axes order;
  for (int i = 0; i < view.shape.rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return op::permuted(view, {order});
}

op::View axis_back(const op::View& view, int axis) {
  const int last = view.shape.rank() - 1;
  Axes order;
  for (int i = 0; i <= last; ++i) order.push_back(i < axis ? i : i == axis ? last : i - 1);
  return op::permuted(view, {order});
}

bool starts_aligned(const Lines& lines, int lanes) {
  bool aligned = lines.stride == 1 && lines.offset % lanes == 0;
  for (int i = 0; i < lines.extents.rank(); ++i) {
    aligned = aligned && (lines.extents[i] == 1 || lines.strides[i] % lanes == 0);
  }
  return aligned;
}

}  // namespace strata::cube
