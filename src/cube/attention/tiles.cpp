#include "cube/attention/tiles.hpp"

#include <algorithm>
#include <bit>

#include "cube/emit_node.hpp"
#include "cube/index_math.hpp"

namespace strata::cube::attention {

using kernel::Scalar;
using kernel::Val;
using kernel::Var;

namespace {

/// Elements between rows of shared arrays beyond what they hold: keeps them aligned for vectors and spreads
/// columns over the banks.
constexpr int gap = 4;
constexpr int unrolled = 8;

Val wide(Val v) { return kernel::convert(v, Scalar::i64); }

}  // namespace

Tiles::Tiles(const TileForm& form, Scalar scalar, int widest) : form_(form), scalar_(scalar) {
  const int rows = form.tile_rows(), columns = form.tile_columns();
  const int transposed = form.depth * (rows + gap + columns + gap);
  const int row = std::max(widest, 1) * form.side * TileForm::lanes;
  staged_rows_ = std::min(columns, static_cast<int>(std::bit_floor(static_cast<unsigned>(transposed / row))));
  staged_rows_ = std::max(staged_rows_, 1);
  kept_ = kernel::shared_array(scalar, std::int64_t{columns} * (rows + gap), "kept");
  staged_ = kernel::shared_array(scalar, std::max(transposed, staged_rows_ * row), "staged");
  unit_ = wide(kernel::unit_x());
  row_ = (unit_ / form.side) * form.rows;
  column_ = (unit_ % form.side) * form.columns;
}

Val Tiles::load(const Rows& x, Val row, Val element) const {
  const Val there = (row < x.count) & (element < x.width);
  const Val at = kernel::select(there, x.base + row * x.stride + element, x.base);
  const std::uint8_t flags = form_.loaded > 1 ? kernel::aligned : kernel::no_flags;
  Val v = kernel::convert(x.data.load(at, form_.loaded, {.flags = flags}), scalar_);
  if (x.factor.present()) v = v * kernel::splat(x.factor, form_.loaded);
  return kernel::select(there, v, zero(form_.loaded));
}

std::vector<Val> Tiles::fetch_lines(const Rows& x, Val first, int lines, Val from) const {
  const int across = form_.depth / form_.loaded;
  std::vector<Val> loaded;
  for (int i = 0; i < lines; i += form_.units() / across)
    loaded.push_back(load(x, first + (unit_ / across + i), from + unit_ % across * form_.loaded));
  return loaded;
}

void Tiles::put_transposed(const std::vector<Val>& loaded, int lines, int at) const {
  const int across = form_.depth / form_.loaded, pitch = lines + gap;
  const int step = form_.units() / across;  // lines that the units move at a time
  const Val element = unit_ % across * form_.loaded, line = unit_ / across;
  for (int i = 0; i < lines; i += step) {
    const Val v = loaded[static_cast<std::size_t>(i / step)];
    const auto put = [&] {
      for (int l = 0; l < form_.loaded; ++l)
        staged_.store((element + l) * pitch + (line + i) + at, form_.loaded > 1 ? kernel::extract(v, l) : v);
    };
    if (i + step <= lines) {
      put();
    } else {
      kernel::if_(line + i < lines, put);
    }
  }
}

std::vector<Val> Tiles::scores(const Rows& a, Val first_row, const Rows& b, Val first_column) const {
  const int rows = form_.tile_rows(), columns = form_.tile_columns(), second = form_.depth * (rows + gap);
  Registers sums;
  for (int i = 0; i < form_.rows; ++i) sums.emplace_back(zero(form_.columns));
  kernel::for_(index_constant(0), a.width, form_.depth, [&](Val from) {
    const auto left_lines = fetch_lines(a, first_row, rows, from),
               right_lines = fetch_lines(b, first_column, columns, from);
    kernel::barrier();  // all are through with what was staged before
    put_transposed(left_lines, rows, 0);
    put_transposed(right_lines, columns, second);
    kernel::barrier();
    kernel::for_(index_constant(0), index_constant(form_.depth), unrolled, [&](Val begin) {
      for (int u = 0; u < unrolled; ++u) {
        const Val k = begin + u;
        const Val left = staged_.load(k * (rows + gap) + row_, form_.rows, {.flags = kernel::aligned});
        const Val right =
            staged_.load(k * (columns + gap) + column_ + second, form_.columns, {.flags = kernel::aligned});
        for (int i = 0; i < form_.rows; ++i) {
          const auto& sum = sums[static_cast<std::size_t>(i)];
          sum = kernel::fma(kernel::splat(kernel::extract(left, i), form_.columns), right, sum);
        }
      }
    });
  });
  std::vector<Val> result;
  for (const auto& sum : sums) result.push_back(sum.get());
  return result;
}

void Tiles::keep(const std::vector<Val>& tile) const {
  const int pitch = form_.tile_rows() + gap;
  for (int j = 0; j < form_.columns; ++j) {
    Val rows = zero(form_.rows);
    for (int i = 0; i < form_.rows; ++i)
      rows = kernel::insert(rows, kernel::extract(tile[static_cast<std::size_t>(i)], j), i);
    kept_.store(column(j) * pitch + row_, rows, {.flags = kernel::aligned});
  }
}

void Tiles::accumulate(const Registers& sums, int vectors, const Rows& x, Val first) const {
  if (vectors == 0) return;
  const int columns = form_.tile_columns(), width = vectors * form_.side * TileForm::lanes;
  const int elements = staged_rows_ * width, move = form_.units() * form_.loaded;
  const Val mine = unit_ * form_.loaded;
  kernel::for_(index_constant(0), index_constant(columns), staged_rows_, [&](Val begin) {
    std::vector<Val> loaded;
    for (int i = 0; i < elements; i += move) {
      const bool same = move % width == 0;  // all loads of a unit lie above each other
      const Val row = same ? mine / width + i / width : (mine + i) / width;
      loaded.push_back(load(x, first + begin + row, (same ? mine : mine + i) % width));
    }
    kernel::barrier();  // the tile is kept, and all are through with what was staged before
    for (int i = 0; i < elements; i += move) {
      const auto put = [&] {
        staged_.store(mine + i, loaded[static_cast<std::size_t>(i / move)], {.flags = kernel::aligned});
      };
      if (i + move <= elements) {
        put();
      } else {
        kernel::if_(mine + i < elements, put);
      }
    }
    kernel::barrier();
    const int step = std::min(staged_rows_, 4);
    kernel::for_(index_constant(0), index_constant(staged_rows_), step, [&](Val inner) {
      for (int u = 0; u < step; ++u) {
        const Val k = inner + u;
        const Val left = kept_.load((begin + k) * (form_.tile_rows() + gap) + row_, form_.rows,
                                    {.flags = kernel::aligned});
        for (int w = 0; w < vectors; ++w) {
          const Val right = staged_.load(k * width + element(w), TileForm::lanes, {.flags = kernel::aligned});
          for (int i = 0; i < form_.rows; ++i) {
            const auto& sum = sums[static_cast<std::size_t>(i * vectors + w)];
            sum = kernel::fma(kernel::splat(kernel::extract(left, i), TileForm::lanes), right, sum);
          }
        }
      }
    });
  });
}

Registers Tiles::zeros(int vectors) const {
  Registers sums;
  for (int i = 0; i < form_.rows * vectors; ++i) sums.emplace_back(zero(TileForm::lanes));
  return sums;
}

Val Tiles::element(int w) const {
  return (unit_ % form_.side) * TileForm::lanes + w * form_.side * TileForm::lanes;
}

void Tiles::store(const Registers& sums, int vectors, const std::vector<Val>& factors, const Rows& to,
                  Val first) const {
  for (int i = 0; i < form_.rows; ++i) {
    const Val line = first + row(i);
    kernel::if_(line < to.count, [&] {
      for (int w = 0; w < vectors; ++w) {
        const Val from = element(w);
        const Val value = sums[static_cast<std::size_t>(i * vectors + w)] *
                          kernel::splat(factors[static_cast<std::size_t>(i)], TileForm::lanes);
        const Val lanes = kernel::lane_index(kernel::make_type(Scalar::i64, TileForm::lanes));
        to.data.store(to.base + line * to.stride + from, narrow(value, to.dtype),
                      {.mask = kernel::splat(from, TileForm::lanes) + lanes <
                               kernel::splat(to.width, TileForm::lanes)});
      }
    });
  }
}

Val Tiles::row_max(Val v) const {
  for (int mask = 1; mask < form_.side; mask *= 2)
    v = kernel::max(v, kernel::plane_shuffle_xor(v, kernel::constant(kernel::make_type(Scalar::i32), mask)));
  return v;
}

Val Tiles::row_sum(Val v) const {
  for (int mask = 1; mask < form_.side; mask *= 2)
    v = v + kernel::plane_shuffle_xor(v, kernel::constant(kernel::make_type(Scalar::i32), mask));
  return v;
}

}  // namespace strata::cube::attention
