/// Products of tiles, the parts that the kernels of attention are made of.
#pragma once

#include <vector>

#include "cube/attention/kernels.hpp"

namespace strata::cube::attention {

/// Rows of a matrix in memory: row r begins at base + r * stride.
struct Rows {
  kernel::Buffer data;
  DType dtype{};
  kernel::Val base, stride;  ///< i64
  kernel::Val count, width;  ///< rows, and elements of each; i64
  kernel::Val factor{};      ///< multiplies the elements, where present
};

/// Vectors of one unit: of scores, one for each of its rows, or of a result, several a row.
using Registers = std::vector<kernel::Var>;

/// A cube's tile of scores: rows along y, columns along x. Unit (y, x) has rows y * rows + i and columns
/// x * columns + j.
class Tiles {
 public:
  /// Declares the shared arrays. `widest` is the most vectors of a result's row that `accumulate` will add
  /// to.
  Tiles(const TileForm& form, kernel::Scalar scalar, int widest);

  const TileForm& form() const { return form_; }
  kernel::Scalar scalar() const { return scalar_; }
  /// Within the tile; i64.
  kernel::Val row(int i) const { return row_ + i; }
  kernel::Val column(int j) const { return column_ + j; }

  /// a b^T for the rows of `a` from `first_row` on and those of `b` from `first_column` on; what lies beyond
  /// their counts is 0.
  std::vector<kernel::Val> scores(const Rows& a, kernel::Val first_row, const Rows& b,
                                  kernel::Val first_column) const;

  /// Keeps a tile, one vector of columns for each row of the unit, for `accumulate`. All units must be
  /// through with the one before.
  void keep(const std::vector<kernel::Val>& tile) const;
  /// sums += (kept tile) x, where the tile's columns stand for the rows of `x` from `first` on. Vector w of
  /// row i is sums[i * vectors + w].
  void accumulate(const Registers& sums, int vectors, const Rows& x, kernel::Val first) const;

  Registers zeros(int vectors) const;
  /// Element of a row at which vector `w` of the unit begins; i64.
  kernel::Val element(int w) const;
  /// Writes sums * factors[row of the unit] to the rows of a dense matrix from `first` on.
  void store(const Registers& sums, int vectors, const std::vector<kernel::Val>& factors, const Rows& to,
             kernel::Val first) const;

  /// Over the units that share a row.
  kernel::Val row_max(kernel::Val v) const;
  kernel::Val row_sum(kernel::Val v) const;

 private:
  kernel::Val zero(int lanes) const { return kernel::constant(kernel::make_type(scalar_, lanes), 0); }
  /// `form.loaded` elements of a row; 0 beyond the rows and their ends.
  kernel::Val load(const Rows& x, kernel::Val row, kernel::Val element) const;
  /// This unit's share of `depth` elements from `from` on of `lines` rows from `first` on.
  std::vector<kernel::Val> fetch_lines(const Rows& x, kernel::Val first, int lines, kernel::Val from) const;
  /// Stages them, one row an element, in the array at `at`.
  void put_transposed(const std::vector<kernel::Val>& loaded, int lines, int at) const;

  const TileForm form_;
  const kernel::Scalar scalar_;
  int staged_rows_ = 1;              ///< of x, for `accumulate`
  kernel::Buffer kept_, staged_;     ///< kept: [columns, rows]
  kernel::Val unit_, row_, column_;  ///< i64
};

}  // namespace strata::cube::attention
