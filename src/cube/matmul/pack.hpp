/// Packing: blocks of an operand copied to where the register tile reads them in order, in the accumulator's
/// type.
#pragma once

#include "cube/matmul/tile.hpp"

namespace strata::cube::matmul {

/// Writes b[0, depth) x [0, width) to a panel of `s.columns()` columns, row after row from `to` on; columns
/// from `width` on become zero. The panel has room for `depth` rounded up to a multiple of the lanes. `from`:
/// element of the operand's buffer where the block starts.
void pack_columns(const Schedule& s, DType dtype, const Operand& b, kernel::Val from, kernel::Val depth,
                  kernel::Val width, kernel::Buffer work, kernel::Val to);

/// True when strips suit the operand: its rows are neighbours in memory.
bool packs_in_strips(const Operand& a);

/// Writes `height` rows of a block of a, `depth` steps deep, from `to` on.
/// Strips: [k][s.rows] for `height` <= s.rows rows. Rows: one after the other, `pitch` elements apart, which
/// is `depth` rounded up to the lanes or more.
void pack_strip(const Schedule& s, DType dtype, const Operand& a, kernel::Val from, kernel::Val height,
                kernel::Val depth, kernel::Buffer work, kernel::Val to);
void pack_rows(const Schedule& s, DType dtype, const Operand& a, kernel::Val from, kernel::Val height,
               kernel::Val depth, kernel::Val pitch, kernel::Buffer work, kernel::Val to);

/// Lanes below `count` (i64), which may be a constant; absent when that is all of them.
kernel::Val lanes_below(int lanes, kernel::Val count);

}  // namespace strata::cube::matmul
