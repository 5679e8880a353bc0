/// A tensor as lines along one axis: what families that work along an axis share.
#pragma once

#include <cstdint>

#include "op/layout.hpp"

namespace strata::cube {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Units that run in step and exchange registers, on every target whose cubes have more than one unit.
inline constexpr int plane_size = 32;
/// Cubes of one launch; kernels walk what is beyond them in strides of the grid.
inline constexpr std::int64_t most_cubes = (std::int64_t{1} << 31) - 1;

/// The lines of a view without extent 0, numbered row-major over its other axes.
struct Lines {
  Shape extents;  ///< of the other axes, collapsed; rank >= 1
  Strides strides;
  std::int64_t offset = 0;  ///< of the first line
  std::int64_t length = 0;  ///< elements of a line
  std::int64_t stride = 0;  ///< between them

  std::int64_t count() const { return extents.product(); }
};
Lines lines_of(const op::View& view, int axis);

/// The view with `axis` moved to the end, and back.
op::View axis_last(const op::View& view, int axis);
op::View axis_back(const op::View& view, int axis);

/// Whether lines may be read by aligned vectors of `lanes` elements.
bool starts_aligned(const Lines& lines, int lanes);

}  // namespace strata::cube
