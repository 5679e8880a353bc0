// Few rows times a large b, which is read once: what counts is how b streams. Units read vectors of 16 bytes,
// several at a time, and add up their own steps of k; those of a cube are then added through a shared array.
//
// Rows of b in order (n): units side by side have neighbouring columns, those one behind the other take
// turns at blocks of `unroll` steps of k. Columns of b in order (t): a plane walks along k on a few columns
// at once; planes side by side have neighbouring columns, the others take turns at k.
#include <algorithm>
#include <bit>

#include "cube/matmul/epilogue.hpp"
#include "cube/matmul/tile.hpp"
#include "cube/matmul/tile_kernel.hpp"

namespace strata::cube::matmul {

using kernel::Val;
using kernel::Var;

namespace {

constexpr int plane = 32;
constexpr std::int64_t shared_bytes = 24 << 10;

int log2(std::int64_t n) { return std::countr_zero(static_cast<std::uint64_t>(n)); }

class Gemv : TileKernel {
 public:
  Gemv(const Problem& p, const Schedule& s)
      : TileKernel(p, s),
        across_(s.nc / s.columns() * (s.along_k ? plane : 1)),
        turns_(s.units / across_),
        last_column_(args_.size.n - 1) {}

  kernel::Kernel build() {
    // Rows past the end read the last one again.
    for (int i = 0; i < s_.rows; ++i) {
      const Val row = kernel::min(index_constant(i), args_.size.m - 1);
      rows_.push_back(args_.a.start + (i == 0 ? index_constant(0) : row * args_.a.row));
    }
    turn_ = kernel::unit_x() >> log2(across_);
    const Val number = kernel::unit_x() & (across_ - 1);
    if (s_.along_k) {
      column_ = (number >> log2(plane)) * s_.vectors;
      walk_columns(number & (plane - 1));
    } else {
      column_ = number * s_.lanes;
      walk_rows();
    }
    finish();
    return builder_.finish();
  }

 private:
  /// Elements of a from step `k` on, in the accumulator's type.
  Val left(int row, Val k, int lanes) const {
    const Val at = rows_[static_cast<std::size_t>(row)] + k * args_.a.col;
    Val v;
    if (lanes == 1 || s_.vector_a) {
      v = args_.a.data.load(at, lanes, {.flags = lanes > 1 ? kernel::aligned : kernel::no_flags});
    } else {
      const Val steps = kernel::lane_index(kernel::make_type(kernel::Scalar::i64, lanes)) * args_.a.col;
      v = args_.a.data.gather(steps + at);
    }
    return to_accumulator(v, p_.dtype);
  }
  Val right(Val at) const {
    const auto flags = s_.lanes > 1 ? kernel::aligned : kernel::no_flags;
    return args_.b.data.load(at, s_.lanes, {.flags = static_cast<std::uint8_t>(flags)});
  }
  static Val lane(Val v, int i) { return v.lanes() > 1 ? kernel::extract(v, i) : v; }
  const Var& sum(int row, int column) const {
    return sums_[static_cast<std::size_t>(row * s_.vectors + column)];
  }
  void clear_sums(int lanes) {
    const auto zero = kernel::constant(kernel::make_type(accumulator(p_.dtype), lanes), 0);
    for (int i = 0; i < s_.rows * s_.vectors; ++i) sums_.emplace_back(zero);
  }

  /// Neighbouring vectors of a unit are a row of units apart.
  Val column_of(int vector) const { return column_ + i32(vector * across_ * s_.lanes); }

  void walk_rows() {
    clear_sums(s_.lanes);
    std::vector<Val> columns;
    for (int v = 0; v < s_.vectors; ++v) {
      const Val there = kernel::min(tile_.column + wide(column_of(v)), args_.size.n - s_.lanes);
      columns.push_back(args_.b.start + there * args_.b.col);
    }
    const int width = s_.vector_a ? std::min(s_.unroll, static_cast<int>(16 / size_of(p_.dtype))) : 1;
    const auto steps = [&](Val k, int count) {
      std::vector<Val> loaded;  // before their first use
      for (int u = 0; u < count; ++u) {
        for (const auto column : columns) loaded.push_back(right(column + (k + u) * args_.b.row));
      }
      for (int i = 0; i < s_.rows; ++i) {
        const int lanes = count == 1 ? 1 : width;
        Val a;
        for (int u = 0; u < count; ++u) {
          if (u % lanes == 0) a = left(i, k + u, lanes);
          const Val x = lane(a, u % lanes);
          for (int v = 0; v < s_.vectors; ++v) {
            const Val b = to_accumulator(loaded[static_cast<std::size_t>(u * s_.vectors + v)], p_.dtype);
            sum(i, v) = multiply_add(s_.lanes > 1 ? kernel::splat(x, s_.lanes) : x, b, sum(i, v));
          }
        }
      }
    };
    const std::int64_t unroll = s_.unroll;
    const Val whole = end_ - (end_ - begin_) % unroll, turn = wide(turn_);
    kernel::for_(begin_ + turn * unroll, whole, turns_ * unroll, [&](Val k) { steps(k, s_.unroll); });
    kernel::for_(whole + turn, end_, turns_, [&](Val k) { steps(k, 1); });
  }

  void walk_columns(Val number) {
    clear_sums(1);
    std::vector<Val> columns;
    for (int j = 0; j < s_.vectors; ++j) {
      const Val there = kernel::min(tile_.column + wide(column_ + i32(j)), last_column_);
      columns.push_back(args_.b.start + there * args_.b.col);
    }
    const std::int64_t block = s_.kc;  // of all turns
    const auto steps = [&](Val k, int count) {
      std::vector<Val> loaded;
      for (int u = 0; u < count; ++u) {
        for (const auto column : columns) loaded.push_back(right(column + (k + u * block) * args_.b.row));
      }
      for (int u = 0; u < count; ++u) {
        for (int i = 0; i < s_.rows; ++i) {
          const Val a = left(i, k + u * block, s_.lanes);
          for (int j = 0; j < s_.vectors; ++j) {
            const Val b = to_accumulator(loaded[static_cast<std::size_t>(u * s_.vectors + j)], p_.dtype);
            for (int l = 0; l < s_.lanes; ++l) sum(i, j) = multiply_add(lane(a, l), lane(b, l), sum(i, j));
          }
        }
      }
    };
    const Val first = wide((turn_ * plane + number) * s_.lanes), several = index_constant(s_.unroll * block);
    const Val whole = end_ - (end_ - begin_) % several;
    kernel::for_(begin_ + first, whole + first, several, [&](Val k) { steps(k, s_.unroll); });
    kernel::for_(whole + first, end_, block, [&](Val k) { steps(k, 1); });
    for (const auto& total : sums_) total.set(kernel::plane_reduce_add(total));
  }

  /// Adds the turns' sums, row by row as far as they fit the shared array, and stores them.
  void finish() {
    const auto scalar = accumulator(p_.dtype);
    const std::int64_t row_bytes = turns_ * s_.nc * static_cast<std::int64_t>(kernel::size_of(scalar));
    const int rows = static_cast<int>(std::clamp<std::int64_t>(shared_bytes / row_bytes, 1, s_.rows));
    const auto shared = kernel::shared_array(scalar, turns_ * s_.nc * rows, "sums");
    TileStore out(args_, index_constant(0), tile_.column);
    for (int first = 0; first < s_.rows; first += rows) {
      const int count = std::min(rows, s_.rows - first);
      const std::int64_t elements = count * s_.nc;
      if (first > 0) kernel::barrier();
      const auto put = [&] {
        for (int i = 0; i < count; ++i) {
          for (int v = 0; v < s_.vectors; ++v) {
            const Val column = s_.along_k ? column_ + i32(v) : column_of(v);
            shared.store(turn_ * elements + (i32(i * s_.nc) + column), sum(first + i, v),
                         {.flags = kernel::aligned});
          }
        }
      };
      s_.along_k ? kernel::if_((kernel::unit_x() & (plane - 1)) == 0, put) : put();
      kernel::barrier();
      kernel::for_(kernel::unit_x(), i32(elements), s_.units, [&](Val e) {
        Val total = shared.load(e);
        for (std::int64_t t = 1; t < turns_; ++t) total = total + shared.load(e + i32(t * elements));
        const Val row = wide(e >> log2(s_.nc)) + first, column = wide(e & (s_.nc - 1));
        kernel::if_((row < args_.size.m) & (tile_.column + column < args_.size.n),
                    [&] { out.store(row, column, total, {}, 0); });
      });
    }
  }

  const std::int64_t across_;  ///< units with different columns (n), or in planes with different columns (t)
  const std::int64_t turns_;   ///< that take turns at k
  const Val last_column_;
  std::vector<Val> rows_;  ///< of a: index of step 0
  Val turn_, column_;      ///< i32; the unit's first column inside the tile
  Accumulators sums_;
};

}  // namespace

kernel::Kernel build_gemv(const Problem& problem, const Schedule& schedule) {
  return Gemv(problem, schedule).build();
}

}  // namespace strata::cube::matmul
