// Products of halves by the matrix units of a plane (m16n8k16, sums in f32). A plane multiplies rows x
// columns of the cube's tile. Chunks of a panel are permuted so that eight rows of a matrix, one below the
// other, lie in different banks.
#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/panel.hpp"
#include "cube/matmul/tile_kernel.hpp"

namespace strata::cube::matmul {

using kernel::Scalar;
using kernel::Val;

namespace {

/// Which of the four matrices of a fragment a unit names the rows of: the second eight lines, or the second
/// eight steps of k.
struct Corner {
  Val line, k;
};
/// Sixteen lines from `line` on, sixteen steps from `k` on.
Val load_fragment(const Panel& panel, Val stage, Val line, int k, const Corner& corner) {
  const auto& shape = panel.shape();
  const Val inside = kernel::unit_x() & 7;
  // Constant steps keep the permutation: they change no bit of a row that it depends on.
  const Val at = shape.along_k ? permuted_place(shape, line + corner.line * 8 + inside, corner.k * 8 + i32(k))
                               : permuted_place(shape, corner.k * 8 + inside, line + corner.line * 8);
  const std::int64_t steps = shape.along_k ? 0 : k * shape.row;
  return panel.shared().load_matrix(panel.start_of(stage) + wide(at) + steps, !shape.along_k);
}

class Mma : TileKernel {
 public:
  using TileKernel::TileKernel;

  kernel::Kernel build() {
    const Panel a(args_.a, args_.a.row, args_.a.col, args_.size.m, tile_.row, s_.mc, s_, s_.vector_a,
                  permuted_place, "a_panel");
    const Panel b(args_.b, args_.b.col, args_.b.row, args_.size.n, tile_.column, s_.nc, s_, s_.vector_b,
                  permuted_place, "b_panel");
    const Val plane = kernel::unit_x() >> 5, across = i32(s_.nc / s_.columns());
    row_ = plane / across * i32(s_.rows);
    column_ = plane % across * i32(s_.columns());
    const auto zero = kernel::constant(kernel::make_type(Scalar::f32, 4), 0);
    for (int i = 0; i < s_.rows / 16 * s_.vectors; ++i) sums_.emplace_back(zero);
    walk_blocks(a, b, s_, begin_, end_, [&](Val stage) { multiply(a, b, stage); });
    store();
    return builder_.finish();
  }

 private:
  void multiply(const Panel& a, const Panel& b, Val stage) {
    const kernel::MatrixShape shape{
        16, 8, 16, kernel::scalar_of(p_.dtype), kernel::scalar_of(p_.dtype), Scalar::f32};
    for (int k = 0; k < static_cast<int>(s_.kc); k += 16) {
      std::vector<Val> left, right;
      // The order in which the instruction wants its registers: of a lines first, of b steps of k first.
      const Val low = (kernel::unit_x() >> 3) & 1, high = (kernel::unit_x() >> 4) & 1;
      for (int i = 0; i < s_.rows; i += 16)
        left.push_back(load_fragment(a, stage, row_ + i32(i), k, {low, high}));
      for (int j = 0; j < s_.columns(); j += 16) {
        const Val pair = load_fragment(b, stage, column_ + i32(j), k, {high, low});
        right.push_back(kernel::shuffle(pair, pair, {0, 1, 2, 3}));
        right.push_back(kernel::shuffle(pair, pair, {4, 5, 6, 7}));
      }
      for (std::size_t i = 0; i < left.size(); ++i) {
        for (std::size_t j = 0; j < right.size(); ++j) {
          const auto& sum = sums_[i * right.size() + j];
          sum = kernel::matrix_multiply(shape, left[i], right[j], sum);
        }
      }
    }
  }

  /// Of a block of 16 x 16, a unit has two neighbouring columns in each quarter of 8 x 8. Four units exchange
  /// them (a transposition in two rounds), so that each has a row of one quarter: 8 columns.
  static Val row_of_quarter(Val left, Val right) {
    const Val lane = kernel::unit_x() & 31;
    const auto exchange = [](Val v, int distance) { return kernel::plane_shuffle_xor(v, i32(distance)); };
    const auto half = [](Val four, int n) { return kernel::shuffle(four, four, {2 * n, 2 * n + 1}); };
    const auto joined = [](Val a, Val b) {
      std::vector<std::int32_t> lanes;
      for (int l = 0; l < 2 * a.lanes(); ++l) lanes.push_back(l);
      return kernel::shuffle(a, b, lanes);
    };
    const auto choose = [](Val condition, Val a, Val b) {
      return kernel::select(kernel::splat(condition, a.lanes()), a, b);
    };
    const Val odd = (lane & 1) != 0, upper = (lane & 2) != 0;
    const auto rows =
        [&](Val four) {  // even units: the upper quarter's columns of two units; odd ones: the lower's
          const Val keep = choose(odd, half(four, 1), half(four, 0)),
                    give = choose(odd, half(four, 0), half(four, 1));
          const Val got = exchange(give, 1);
          return joined(choose(odd, got, keep), choose(odd, keep, got));
        };
    const Val first = rows(left), second = rows(right);
    const Val keep = choose(upper, second, first), got = exchange(choose(upper, first, second), 2);
    return joined(choose(upper, got, keep), choose(upper, keep, got));
  }

  void store() {
    TileStore out(args_, tile_.row, tile_.column);
    const Val rows = args_.size.m - tile_.row, columns = args_.size.n - tile_.column;
    const Val lane = kernel::unit_x() & 31;
    const Val first_row = row_ + (lane >> 2) + (lane & 1) * 8, first_column = column_ + ((lane >> 1) & 1) * 8;
    const Val whole = (rows >= s_.mc) & (columns >= s_.nc);
    for (int i = 0; i < s_.rows; i += 16) {
      for (int j = 0; j < s_.vectors; j += 2) {
        const auto at = static_cast<std::size_t>(i / 16 * s_.vectors + j);
        const Val eight = row_of_quarter(sums_[at], sums_[at + 1]);
        const Val row = wide(first_row + i32(i)), column = wide(first_column + i32(j * 8));
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

  Val row_, column_;  ///< of the plane inside the tile
  Accumulators sums_;
};

}  // namespace

kernel::Kernel build_mma(const Problem& problem, const Schedule& schedule) {
  return Mma(problem, schedule).build();
}

}  // namespace strata::cube::matmul
