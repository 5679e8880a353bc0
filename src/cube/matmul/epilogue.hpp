/// The end of every matmul kernel: the nodes after the product on values in registers, and the stores.
#pragma once

#include <map>

#include "cube/matmul/arguments.hpp"

namespace strata::cube::matmul {

/// Stores one tile. Everything that depends on the tile's place is computed once, the rest is a constant or a
/// loop invariant away.
class TileStore {
 public:
  /// The tile's first element stands at (row, col) of the product. `columns` is the distance of neighbouring
  /// tiles' column starts a caller may rely on, for alignment of non-temporal stores.
  TileStore(const Arguments& args, kernel::Val row, kernel::Val col);

  /// Elements (row + i, col + j ...): `product` holds sums in the accumulator's type, its lanes lie along the
  /// row. `mask` may be absent. Sums of a part of k go to the workspace as they are.
  void store(kernel::Val i, kernel::Val j, kernel::Val product, kernel::Val mask, std::uint8_t flags);
  /// Sums between blocks of k, kept in output `output` (see partial_output).
  void store_partial(int output, kernel::Val i, kernel::Val j, kernel::Val sum, kernel::Val mask);
  kernel::Val load_partial(int output, kernel::Val i, kernel::Val j, int lanes, kernel::Val mask);

 private:
  kernel::Val out_index(kernel::Val i, kernel::Val j) const { return out_ + (i * args_.size.n + j); }
  kernel::Val load(std::size_t extra, kernel::Val i, kernel::Val j, int lanes, kernel::Val mask);

  const Arguments& args_;
  kernel::Val out_;
  std::vector<kernel::Val> extras_, positions_;  ///< index of the tile's first element
};

/// True when `v` is the integer constant `value`.
bool is_constant(kernel::Val v, std::int64_t value);
std::optional<std::int64_t> constant_of(kernel::Val v);
kernel::Val index_constant(std::int64_t v);

}  // namespace strata::cube::matmul
