/// The register tile: rows x vectors accumulators that stay in registers over a block of k.
#pragma once

#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/schedule.hpp"

namespace strata::cube::matmul {

/// Where the tile's part of an operand lies: element (i, step) of a is at base + i * outer + step * k; vector
/// v of b at step is at base + v * lanes + step * k.
struct TileOperand {
  kernel::Buffer data;
  kernel::Val base, outer, k;
};

struct TileShape {
  int rows = 1, vectors = 1;
  kernel::Val last_mask;  ///< of the last vector; absent: all its lanes are columns
  kernel::Val last_row;   ///< rows past it read it again; absent: all rows exist
};

using Accumulators = std::vector<kernel::Var>;  ///< row by row

/// To the type sums are kept in.
kernel::Val to_accumulator(kernel::Val loaded, DType dtype);
/// a * b + c in floats with one rounding.
kernel::Val multiply_add(kernel::Val a, kernel::Val b, kernel::Val c);

/// `depth` steps of k: acc += a * b. Operands whose scalar is not the accumulator's are converted as they are
/// loaded.
void accumulate(const Schedule& s, DType dtype, const TileShape& shape, const TileOperand& a,
                const TileOperand& b, kernel::Val depth, const Accumulators& acc);

}  // namespace strata::cube::matmul
