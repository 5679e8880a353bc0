#include "cube/matmul/tile_order.hpp"

#include <algorithm>

#include "cube/matmul/epilogue.hpp"

namespace strata::cube::matmul {

using kernel::Val;

CubeTile tile_of_cube(const Arguments& args, std::int64_t height, std::int64_t width) {
  const std::int64_t group_rows = std::max<std::int64_t>(1, 2048 / height);
  const Val tiles_m = (args.size.m + (height - 1)) / height, tiles_n = (args.size.n + (width - 1)) / width;
  const Val cube = kernel::convert(kernel::cube_x(), kernel::Scalar::i64), per_batch = tiles_m * tiles_n;
  const Val batch = args.batch.empty() ? index_constant(0) : cube / per_batch;
  const Val number = cube - batch * per_batch;
  const Val group_size = tiles_n * group_rows, group = number / group_size,
            inside = number - group * group_size;
  const Val first = group * group_rows, rows = kernel::min(tiles_m - first, group_rows);
  const Val column = inside / rows, row = first + (inside - column * rows);
  return {batch, row * height, column * width};
}

CubeTile strip_of_cube(const Arguments& args, std::int64_t width) {
  const Val cube = kernel::convert(kernel::cube_x(), kernel::Scalar::i64), row = index_constant(0);
  if (args.batch.empty()) return {row, row, cube * width};
  const Val strips = (args.size.n + (width - 1)) / width, batch = cube / strips;
  return {batch, row, (cube - batch * strips) * width};
}

std::int64_t tile_count(const Problem& p, std::int64_t height, std::int64_t width) {
  return (p.m + height - 1) / height * ((p.n + width - 1) / width) * p.batches();
}

}  // namespace strata::cube::matmul
