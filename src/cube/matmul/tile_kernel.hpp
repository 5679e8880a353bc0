/// What kernels for devices of many units begin with: a cube computes one tile of the product, or its sums
/// over one part of k.
#pragma once

#include "cube/matmul/kernels.hpp"
#include "cube/matmul/tile_order.hpp"

namespace strata::cube::matmul {

/// Along x, cubes are numbered tile by tile; along y, by parts of k where the schedule splits it.
class TileKernel {
 public:
  /// Throws CompileError where the schedule cannot serve the problem.
  TileKernel(const Problem& p, const Schedule& s);

 protected:
  const Problem& p_;
  const Schedule& s_;
  kernel::Builder builder_;
  Arguments args_;  ///< at the batch of the cube
  CubeTile tile_;
  kernel::Val begin_, end_;  ///< steps of k of the cube; only the last part's number is no multiple of s.kc
};

/// i32: places inside a tile.
kernel::Val i32(std::int64_t v);
kernel::Val wide(kernel::Val v);

/// Lanes of `lanes` columns from `column` on that are columns of the product, of which `columns` are left.
kernel::Val lanes_inside(kernel::Val columns, kernel::Val column, int lanes);

}  // namespace strata::cube::matmul
