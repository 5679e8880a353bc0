// Products of f32 by the matrix units of a plane, less exact than f32 (see Precision): operands rounded to
// tf32 (m16n8k8), or each the sum of three bf16 (m16n8k16) that are made in registers. A plane multiplies
// rows x columns of the cube's tile, both multiples of 32.
//
// Matrix j of 32 lines consists of the lines 4 r + j. So a unit's elements of four matrices are neighbours
// where the operand's lines are contiguous, one load of 16 bytes; and its sums in four matrices are eight
// neighbours of a row of the result. Panels whose rows are lines are stored in that order.
#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/panel.hpp"
#include "cube/matmul/tile_kernel.hpp"

namespace strata::cube::matmul {

using kernel::Scalar;
using kernel::Val;

namespace {

constexpr int group = 32;  ///< lines of four matrices

/// Row of a panel along k that holds row `r` of matrix `matrix`. Neighbouring lines, which are copied
/// together, come to rows of different parity and hence to different banks.
Val row_of(Val matrix, Val r) { return matrix * 8 + (r ^ (matrix & 1)); }

Val place_of(const Panel::Shape& shape, Val row, Val column) {
  // Steps of k below each other are eight banks apart.
  if (!shape.along_k) return row * i32(shape.row) + (column ^ ((row & 3) * 8));
  const Val inside = row & (group - 1);
  return permuted_place(shape, row - inside + row_of(inside & 3, inside >> 2), column);
}

/// 32 lines from `line` on, four steps from `k` on: lane j is matrix j's row unit / 4, step unit % 4.
Val load_lines(const Panel& panel, Val stage, Val line, int k) {
  const auto& shape = panel.shape();
  const Val lane = kernel::unit_x() & 31, start = panel.start_of(stage);
  if (shape.along_k) {
    const Val row = line + row_of(lane >> 3, lane & 7);
    return panel.shared().load_matrix(start + wide(permuted_place(shape, row, i32(k))), false);
  }
  const Val at = place_of(shape, lane & 3, line + (lane >> 2) * 4);
  return panel.shared().load(start + wide(at) + k * shape.row, 4, {.flags = kernel::aligned});
}

/// The three bf16 that make up an f32, largest first.
std::array<Val, 3> pieces_of(Val x) {
  std::array<Val, 3> pieces;
  for (auto& piece : pieces) {
    piece = kernel::convert(x, Scalar::bf16);
    x = x - kernel::convert(piece, Scalar::f32);
  }
  return pieces;
}
/// Smallest products first; the three that are left out are as small as an f32's rounding.
constexpr std::pair<int, int> products_of_pieces[] = {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};

class MmaOfF32 : TileKernel {
 public:
  using TileKernel::TileKernel;

  kernel::Kernel build() {
    const Panel a(args_.a, args_.a.row, args_.a.col, args_.size.m, tile_.row, s_.mc, s_, s_.vector_a,
                  place_of, "a_panel");
    const Panel b(args_.b, args_.b.col, args_.b.row, args_.size.n, tile_.column, s_.nc, s_, s_.vector_b,
                  place_of, "b_panel");
    const Val plane = kernel::unit_x() >> 5, across = i32(s_.nc / s_.columns());
    row_ = plane / across * i32(s_.rows);
    column_ = plane % across * i32(s_.columns());
    for (int i = 0; i < s_.rows / 16 * s_.vectors; ++i) sums_.emplace_back(zero_);
    walk_blocks(a, b, s_, begin_, end_, [&](Val stage) {
      s_.family == Family::tf32 ? multiply_rounded(a, b, stage) : multiply_pieces(a, b, stage);
    });
    store();
    return builder_.finish();
  }

 private:
  /// Of all groups of a plane's lines, four steps from `k` on.
  static std::vector<Val> load_groups(const Panel& panel, Val stage, Val first, int lines, int k) {
    std::vector<Val> loaded;
    for (int i = 0; i < lines; i += group) loaded.push_back(load_lines(panel, stage, first + i32(i), k));
    return loaded;
  }
  const kernel::Var& sum(std::size_t row, std::size_t column) const {
    return sums_[row * static_cast<std::size_t>(s_.vectors) + column];
  }

  void multiply_rounded(const Panel& a, const Panel& b, Val stage) {
    const kernel::MatrixShape shape{16, 8, 8, Scalar::f32, Scalar::f32, Scalar::f32};
    for (int k = 0; k < static_cast<int>(s_.kc); k += 8) {
      std::vector<Val> left, right;
      const auto rows = load_groups(a, stage, row_, s_.rows, k),
                 next_rows = load_groups(a, stage, row_, s_.rows, k + 4);
      for (std::size_t g = 0; g < rows.size(); ++g) {
        for (const int i : {0, 2})
          left.push_back(kernel::shuffle(rows[g], next_rows[g], {i, i + 1, i + 4, i + 5}));
      }
      const auto columns = load_groups(b, stage, column_, s_.columns(), k),
                 next_columns = load_groups(b, stage, column_, s_.columns(), k + 4);
      for (std::size_t g = 0; g < columns.size(); ++g) {
        for (int j = 0; j < 4; ++j) right.push_back(kernel::shuffle(columns[g], next_columns[g], {j, j + 4}));
      }
      for (std::size_t i = 0; i < left.size(); ++i) {
        for (std::size_t j = 0; j < right.size(); ++j)
          sum(i, j) = kernel::matrix_multiply(shape, left[i], right[j], sum(i, j));
      }
    }
  }

  /// Sixteen steps of k, whose sum is added to those before it outside the matrix units: these do not round
  /// to nearest, and the error would grow with k.
  void multiply_pieces(const Panel& a, const Panel& b, Val stage) {
    const kernel::MatrixShape shape{16, 8, 16, Scalar::bf16, Scalar::bf16, Scalar::f32};
    using Groups = std::array<std::vector<Val>, 4>;
    const auto load = [&](const Panel& panel, Val first, int lines, int k) {
      Groups groups;  // by four steps of k
      for (std::size_t c = 0; c < 4; ++c)
        groups[c] = load_groups(panel, stage, first, lines, k + 4 * static_cast<int>(c));
      return groups;
    };
    // Which step of k stands where in a fragment is free, as long as both operands agree: neighbours are four
    // steps apart, as a unit loads them.
    const auto neighbours = [](const Groups& groups, std::size_t g, std::size_t c, int matrix) {
      return kernel::shuffle(groups[c][g], groups[c + 1][g], {matrix, matrix + 4});
    };
    const auto joined = [](Val x, Val y) {
      std::vector<std::int32_t> lanes;
      for (int l = 0; l < 2 * x.lanes(); ++l) lanes.push_back(l);
      return kernel::shuffle(x, y, lanes);
    };
    for (int k = 0; k < static_cast<int>(s_.kc); k += 16) {
      const auto rows = load(a, row_, s_.rows, k);
      std::vector<std::array<Val, 3>> left;
      for (std::size_t g = 0; g < rows[0].size(); ++g) {
        for (const int i : {0, 2}) {
          left.push_back(pieces_of(joined(joined(neighbours(rows, g, 0, i), neighbours(rows, g, 0, i + 1)),
                                          joined(neighbours(rows, g, 2, i), neighbours(rows, g, 2, i + 1)))));
        }
      }
      Groups columns;  // one at a time
      for (std::size_t j = 0; j < static_cast<std::size_t>(s_.vectors); ++j) {
        const int matrix = static_cast<int>(j % 4);
        if (matrix == 0) columns = load(b, column_ + i32(static_cast<std::int64_t>(j) * 8), group, k);
        const auto right =
            pieces_of(joined(neighbours(columns, 0, 0, matrix), neighbours(columns, 0, 2, matrix)));
        std::vector<Val> partial(left.size(), zero_);
        for (const auto& [x, y] : products_of_pieces) {
          for (std::size_t i = 0; i < left.size(); ++i) {
            partial[i] = kernel::matrix_multiply(shape, left[i][static_cast<std::size_t>(x)],
                                                 right[static_cast<std::size_t>(y)], partial[i]);
          }
        }
        for (std::size_t i = 0; i < left.size(); ++i) sum(i, j) = sum(i, j) + partial[i];
      }
    }
  }

  /// Row `i` (0 .. 3) of the unit in a group of rows: eight columns of a group of columns.
  Val row_of_sums(std::size_t rows, std::size_t columns, int i) const {
    Val eight = kernel::constant(kernel::make_type(Scalar::f32, 8), 0);
    for (int l = 0; l < 8; ++l) {
      const auto& four =
          sum(2 * rows + static_cast<std::size_t>(i / 2), 4 * columns + static_cast<std::size_t>(l % 4));
      eight = kernel::insert(eight, kernel::extract(four, i % 2 * 2 + l / 4), l);
    }
    return eight;
  }

  void store() {
    TileStore out(args_, tile_.row, tile_.column);
    const Val rows = args_.size.m - tile_.row, columns = args_.size.n - tile_.column;
    const Val lane = kernel::unit_x() & 31;
    const Val first_row = row_ + (lane >> 2) * 4, first_column = column_ + (lane & 3) * 8;
    const Val whole = (rows >= s_.mc) & (columns >= s_.nc);
    for (int g = 0; g < s_.rows / group; ++g) {
      for (int i = 0; i < 4; ++i) {
        const Val row = wide(first_row + i32(g * group + i));
        for (int h = 0; h < s_.columns() / group; ++h) {
          const Val eight = row_of_sums(static_cast<std::size_t>(g), static_cast<std::size_t>(h), i);
          const Val column = wide(first_column + i32(h * group));
          kernel::if_(
              whole,
              [&] { out.store(row, column, eight, {}, s_.vector_out ? kernel::aligned : kernel::no_flags); },
              [&] {
                kernel::if_(row < rows,
                            [&] { out.store(row, column, eight, lanes_inside(columns, column, 8), 0); });
              });
        }
      }
    }
  }

  const Val zero_ = kernel::constant(kernel::make_type(Scalar::f32, 4), 0);
  Val row_, column_;  ///< of the plane inside the tile
  Accumulators sums_;
};

}  // namespace

kernel::Kernel build_mma_f32(const Problem& problem, const Schedule& schedule) {
  return MmaOfF32(problem, schedule).build();
}

}  // namespace strata::cube::matmul
