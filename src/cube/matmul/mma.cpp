// Products of halves by the matrix units of a plane (m16n8k16, sums in f32). Panels of both operands are
// copied into shared arrays past the registers, several blocks of k ahead; a plane multiplies rows x columns
// of the cube's tile. Where vectors of 16 bytes do not fit an operand, its elements go through registers, one
// block ahead.
//
// A panel keeps its operand's order: lines (rows of a, columns of b) or steps of k are its rows, whichever
// the operand has apart in memory, in chunks of 16 bytes that are permuted so that eight rows of a matrix,
// one below the other, lie in different banks.
#include <bit>

#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/tile.hpp"
#include "cube/matmul/tile_kernel.hpp"

namespace strata::cube::matmul {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;

namespace {

constexpr int chunk = 8;  ///< halves in 16 bytes

class Panel {
 public:
  /// `line` and `step` are the operand's strides along lines and along k; `lines` how many there are. Without
  /// `vectors`, elements go through registers one by one.
  Panel(const Operand& operand, Val line, Val step, Val lines, Val first_line, std::int64_t height,
        const Schedule& s, bool vectors, std::string_view name)
      : source_(operand.data),
        step_(step),
        along_k_(!is_constant(line, 1)),
        vectors_(vectors),
        row_(along_k_ ? s.kc : height),
        elements_(height * s.kc) {
    shared_ = kernel::shared_array(source_.scalar(), elements_ * s.prefetch, name);
    const std::int64_t width = vectors ? chunk : 1, pieces = row_ / width;
    for (std::int64_t i = 0; i < elements_ / width / s.units; ++i) {
      const Val q = kernel::unit_x() + i32(i * s.units), row = q >> log2(pieces),
                column = (q & (pieces - 1)) * width;
      const Val at_line = along_k_ ? row : column, k = wide(along_k_ ? column : row);
      const Val last = along_k_ ? lines - 1 : lines - width;
      const Val there = kernel::min(first_line + wide(at_line), last);
      places_.push_back({k, wide(place(row, column)), operand.start + there * line + k * step});
      if (!vectors) staged_.emplace_back(kernel::constant(kernel::make_type(source_.scalar()), 0));
    }
  }

  /// Starts the copies of the block of k that begins at `k` into a stage, or the loads of its elements; with
  /// `left`, only so many of its steps exist.
  void fetch(Val stage, Val k, Val left) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto& p = places_[i];
      const Val at = p.source + k * step_;
      const Val exists = left.present() ? p.k < left : Val{};
      if (vectors_) {
        shared_.copy_async(stage * elements_ + p.target, source_, at, exists);
      } else {
        staged_[i].set(source_.load(at, 1, {.mask = exists}));
      }
    }
  }
  /// Stores the elements that were loaded.
  void put(Val stage) const {
    for (std::size_t i = 0; i < staged_.size(); ++i)
      shared_.store(stage * elements_ + places_[i].target, staged_[i]);
  }

  /// Which of the four matrices of a fragment a unit names the rows of: the second eight lines, or the second
  /// eight steps of k.
  struct Corner {
    Val line, k;
  };
  /// Sixteen lines from `line` on, sixteen steps from `k` on.
  Val load(Val stage, Val line, int k, const Corner& corner) const {
    const Val inside = kernel::unit_x() & 7;
    // Constant steps keep the permutation: they change no bit of a row that it depends on.
    const Val at = along_k_ ? place(line + corner.line * 8 + inside, corner.k * 8 + i32(k))
                            : place(corner.k * 8 + inside, line + corner.line * 8);
    const std::int64_t steps = along_k_ ? 0 : k * row_;
    return shared_.load_matrix(stage * elements_ + wide(at) + steps, !along_k_);
  }

 private:
  struct Place {
    Val k, target, source;
  };

  static int log2(std::int64_t n) { return std::countr_zero(static_cast<std::uint64_t>(n)); }
  /// Eight rows below each other cover all banks: rows of 64 bytes two by two.
  Val place(Val row, Val column) const {
    const std::int64_t turns = std::min<std::int64_t>(row_ / chunk, 8), rows_a_turn = 8 / turns;
    const Val turn = (row >> log2(rows_a_turn)) & (turns - 1);
    return row * i32(row_) + (column ^ (turn * chunk));
  }

  Buffer source_, shared_;
  Val step_;
  bool along_k_, vectors_;
  std::int64_t row_, elements_;  ///< of a stage
  std::vector<Place> places_;
  std::vector<Var> staged_;  ///< without vectors
};

class Mma : TileKernel {
 public:
  using TileKernel::TileKernel;

  kernel::Kernel build() {
    const Panel a(args_.a, args_.a.row, args_.a.col, args_.size.m, tile_.row, s_.mc, s_, s_.vector_a,
                  "a_panel");
    const Panel b(args_.b, args_.b.col, args_.b.row, args_.size.n, tile_.column, s_.nc, s_, s_.vector_b,
                  "b_panel");
    const Val plane = kernel::unit_x() >> 5, across = i32(s_.nc / s_.columns());
    row_ = plane / across * i32(s_.rows);
    column_ = plane % across * i32(s_.columns());
    const auto zero = kernel::constant(kernel::make_type(Scalar::f32, 4), 0);
    for (int i = 0; i < s_.rows / 16 * s_.vectors; ++i) sums_.emplace_back(zero);

    const int stages = s_.prefetch;
    const auto fetch = [&](Val stage, Val k) {
      kernel::if_(
          k + s_.kc <= end_,
          [&] {
            a.fetch(stage, k, {});
            b.fetch(stage, k, {});
          },
          [&] {
            kernel::if_(k < end_, [&] {
              a.fetch(stage, k, end_ - k);
              b.fetch(stage, k, end_ - k);
            });
          });
      kernel::copy_commit();  // also an empty group: the count of groups stays that of blocks
    };
    const auto put = [&](Val stage) {
      a.put(stage);
      b.put(stage);
    };
    for (int stage = 0; stage + 1 < stages; ++stage) {
      fetch(index_constant(stage), begin_ + stage * s_.kc);
      put(index_constant(stage));
    }
    const Var stage(index_constant(0)), free(index_constant(stages - 1));
    kernel::for_(begin_, end_, s_.kc, [&](Val k) {
      kernel::copy_wait(stages - 2);
      kernel::barrier();  // the block is there for all, and nobody reads the one before it any more
      fetch(free, k + static_cast<std::int64_t>(stages - 1) * s_.kc);
      multiply(a, b, stage);
      put(free);
      const auto turn = [&](const Var& v) {
        v.set(kernel::select(v.get() == stages - 1, index_constant(0), v.get() + 1));
      };
      turn(stage);
      turn(free);
    });
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
      for (int i = 0; i < s_.rows; i += 16) left.push_back(a.load(stage, row_ + i32(i), k, {low, high}));
      for (int j = 0; j < s_.columns(); j += 16) {
        const Val pair = b.load(stage, column_ + i32(j), k, {high, low});
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
