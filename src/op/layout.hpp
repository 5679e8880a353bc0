/// Families that move elements and compute nothing.
#pragma once

#include "op/common.hpp"

namespace strata::op {

/// Same elements in row-major order under another shape of equal size.
struct Reshape {
  Shape shape;
  bool operator==(const Reshape&) const = default;
};
/// Axis i of the result is axis order[i] of the input.
struct Permute {
  Axes order;
  bool operator==(const Permute&) const = default;
};
/// NumPy broadcast_to: new leading axes, and extents of 1 repeat.
struct Expand {
  Shape shape;
  bool operator==(const Expand&) const = default;
};
/// Per axis: start, start + step, ... below stop; 0 <= start <= stop <= extent, step >= 1.
struct Slice {
  Dims start, stop, step;
  bool operator==(const Slice&) const = default;
};
/// Reverses the named axes (ascending, distinct).
struct Flip {
  Axes axes;
  bool operator==(const Flip&) const = default;
};
/// Windows of `size` entries, `step` apart, along `axis`: the axis becomes the windows, a new last axis the
/// entries of a window. Windows may overlap.
struct Unfold {
  int axis = 0;
  std::int64_t size = 1, step = 1;
  bool operator==(const Unfold&) const = default;
};
/// Joins one or more tensors of equal dtype along `axis`.
struct Cat {
  int axis = 0;
  bool operator==(const Cat&) const = default;
};

TensorTypes infer(const Reshape&, const Site&);
TensorTypes infer(const Permute&, const Site&);
TensorTypes infer(const Expand&, const Site&);
TensorTypes infer(const Slice&, const Site&);
TensorTypes infer(const Flip&, const Site&);
TensorTypes infer(const Unfold&, const Site&);
TensorTypes infer(const Cat&, const Site&);

/// The view of a strided tensor that a layout op describes, shared by every strided backend.
struct View {
  Shape shape;
  Strides strides;          ///< in elements
  std::int64_t offset = 0;  ///< of the first element, in elements
};
View permuted(const View&, const Permute&);
View expanded(const View&, const Expand&);
View sliced(const View&, const Slice&);
View flipped(const View&, const Flip&);
View unfolded(const View&, const Unfold&);
/// True and `out` filled when the reshape needs no copy: merged axes are contiguous among themselves.
bool reshaped(const View&, const Shape& to, View& out);
/// Row-major without gaps, offset ignored; extents of 1 may have any stride; empty tensors count as
/// contiguous.
bool is_contiguous(const View&);

}  // namespace strata::op
