/// The loop structure under every kernel of this layer: which axes remain once extents of 1 are dropped and
/// axes that every operand walks alike are merged. Kernels are built per rank and take extents and strides as
/// arguments, so one kernel serves every length.
#pragma once

#include <vector>

#include "strata/shape.hpp"

namespace strata::cube {

/// How an operand moves along one axis. `reversed`: stride -1, where a kernel treats it apart from `strided`.
enum class Access : std::uint8_t { contiguous, broadcast, strided, reversed };

constexpr Access access_of(std::int64_t stride) {
  return stride == 1 ? Access::contiguous : stride == 0 ? Access::broadcast : Access::strided;
}

/// Operands that walk alike share one layout, so that a kernel computes each index once.
struct LoopNest {
  Shape extents;                 ///< outermost first; rank >= 1, no extent of 1 unless it is the only one
  std::vector<Strides> layouts;  ///< distinct stride lists, each of the rank of `extents`
  std::vector<int> layout_of;    ///< operand -> index into `layouts`

  int rank() const { return extents.rank(); }
  std::int64_t inner_extent() const { return extents.back(); }
  /// Number of inner rows: the product of all extents but the last.
  std::int64_t rows() const { return extents.product() / inner_extent(); }
  Access inner_access(int layout) const {
    return access_of(layouts[static_cast<std::size_t>(layout)].back());
  }
  /// Same offset everywhere.
  bool is_scalar(int layout) const;
};

/// Collapses the space of extents `space` (no extent 0) walked by operands of the given strides, each of the
/// rank of `space`. Axes merge where every operand allows it; order is kept, so a row-major operand stays
/// row-major.
LoopNest collapse(const Shape& space, std::vector<Strides> operands);

/// `strides` of a tensor of extents `shape`, as walked when it is broadcast to `space`.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& space);

}  // namespace strata::cube
