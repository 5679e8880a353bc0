/// Which tile of the product a cube computes: cubes that run at the same time share rows and columns.
#pragma once

#include "cube/matmul/arguments.hpp"

namespace strata::cube::matmul {

struct CubeTile {
  kernel::Val batch, row, column;  ///< i64; row and column of the tile's first element
};

/// Of the running cube, for tiles of height x width numbered batch by batch. Within a batch, groups of tile
/// rows, 2048 rows high, are walked column by column.
CubeTile tile_of_cube(const Arguments& args, std::int64_t height, std::int64_t width);
/// Of the running cube, where a batch has one row of tiles.
CubeTile strip_of_cube(const Arguments& args, std::int64_t width);

/// Cubes of a launch.
std::int64_t tile_count(const Problem& problem, std::int64_t height, std::int64_t width);

}  // namespace strata::cube::matmul
