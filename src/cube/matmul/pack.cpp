#include "cube/matmul/pack.hpp"

namespace strata::cube::matmul {

using kernel::Val;

Val lanes_below(int lanes, Val count) {
  if (const auto known = constant_of(count); known && *known >= lanes) return {};
  // Counts are small or clamped, so that 32 bits do: half the registers of an i64 comparison.
  const Val clamped = kernel::max(kernel::min(count, static_cast<std::int64_t>(lanes)), std::int64_t{0});
  const Val narrow = kernel::convert(clamped, kernel::Scalar::i32);
  return kernel::lane_index(kernel::make_type(kernel::Scalar::i32, lanes)) < kernel::splat(narrow, lanes);
}

namespace {

/// Columns are contiguous: rows are copied.
void copy_columns(const Schedule& s, DType dtype, const Operand& b, Val from, Val depth, Val width,
                  kernel::Buffer work, Val to) {
  std::vector<Val> masks;
  for (int v = 0; v < s.vectors; ++v)
    masks.push_back(lanes_below(s.lanes, width - static_cast<std::int64_t>(v) * s.lanes));
  kernel::for_(0, depth, 1, [&](Val k) {
    const Val source = from + k * b.row, target = to + k * static_cast<std::int64_t>(s.columns());
    for (int v = 0; v < s.vectors; ++v) {
      const auto shift = static_cast<std::int64_t>(v) * s.lanes;
      const Val x = b.data.load(source + shift, s.lanes, {.mask = masks[static_cast<std::size_t>(v)]});
      work.store(target + shift, to_accumulator(x, dtype));
    }
  });
}

/// Rounds of perfect shuffles: after log2(lanes) of them row i of the square has become column i.
std::vector<Val> transpose(std::vector<Val> rows) {
  const int lanes = static_cast<int>(rows.size()), half = lanes / 2;
  std::vector<std::int32_t> low, high;
  for (int i = 0; i < half; ++i) {
    low.insert(low.end(), {i, lanes + i});
    high.insert(high.end(), {half + i, lanes + half + i});
  }
  for (int round = 1; round < lanes; round *= 2) {
    std::vector<Val> next(rows.size());
    for (int i = 0; i < half; ++i) {
      const auto u = static_cast<std::size_t>(i), w = static_cast<std::size_t>(i + half);
      next[2 * u] = kernel::shuffle(rows[u], rows[w], low);
      next[2 * u + 1] = kernel::shuffle(rows[u], rows[w], high);
    }
    rows = std::move(next);
  }
  return rows;
}

/// Steps of k are contiguous: squares are transposed in registers.
void transpose_columns(const Schedule& s, DType dtype, const Operand& b, Val from, Val depth, Val width,
                       kernel::Buffer work, Val to) {
  const bool all = is_constant(width, s.columns());
  kernel::for_(0, s.vectors, 1, [&](Val v) {
    const Val first = v * static_cast<std::int64_t>(s.lanes);
    const auto square = [&](Val k, Val mask) {
      std::vector<Val> rows;
      for (int i = 0; i < s.lanes; ++i) {
        const Val column = first + i;
        Val row_mask = mask;
        if (!all) {
          const Val exists = kernel::splat(column < width, s.lanes);
          row_mask = mask.present() ? mask & exists : exists;
        }
        const Val x = b.data.load(from + (column * b.col + k), s.lanes, {.mask = row_mask});
        rows.push_back(to_accumulator(x, dtype));
      }
      rows = transpose(std::move(rows));
      const Val target = to + (k * static_cast<std::int64_t>(s.columns()) + first);
      for (int i = 0; i < s.lanes; ++i) {
        work.store(target + static_cast<std::int64_t>(i) * s.columns(), rows[static_cast<std::size_t>(i)]);
      }
    };
    const Val whole = depth - depth % static_cast<std::int64_t>(s.lanes);
    kernel::for_(0, whole, s.lanes, [&](Val k) { square(k, {}); });
    kernel::if_(whole < depth, [&] { square(whole, lanes_below(s.lanes, depth - whole)); });
  });
}

/// Neither is contiguous.
void gather_columns(const Schedule& s, DType dtype, const Operand& b, Val from, Val depth, Val width,
                    kernel::Buffer work, Val to) {
  const Val steps = kernel::lane_index(kernel::make_type(kernel::Scalar::i64, s.lanes)) * b.col;
  kernel::for_(0, s.vectors, 1, [&](Val v) {
    const Val first = v * static_cast<std::int64_t>(s.lanes);
    const Val mask = lanes_below(s.lanes, width - first);
    kernel::for_(0, depth, 1, [&](Val k) {
      const Val x = b.data.gather(steps + (from + (k * b.row + first * b.col)), mask);
      work.store(to + (k * static_cast<std::int64_t>(s.columns()) + first), to_accumulator(x, dtype));
    });
  });
}

}  // namespace

void pack_columns(const Schedule& s, DType dtype, const Operand& b, Val from, Val depth, Val width,
                  kernel::Buffer work, Val to) {
  if (is_constant(b.col, 1)) return copy_columns(s, dtype, b, from, depth, width, work, to);
  if (is_constant(b.row, 1) && s.lanes > 1)
    return transpose_columns(s, dtype, b, from, depth, width, work, to);
  gather_columns(s, dtype, b, from, depth, width, work, to);
}

bool packs_in_strips(const Operand& a) { return is_constant(a.row, 1); }

void pack_strip(const Schedule& s, DType dtype, const Operand& a, Val from, Val height, Val depth,
                kernel::Buffer work, Val to) {
  const int vectors = (s.rows + s.lanes - 1) / s.lanes;
  std::vector<Val> loads, stores;
  for (int v = 0; v < vectors; ++v) {
    const auto shift = static_cast<std::int64_t>(v) * s.lanes;
    loads.push_back(lanes_below(s.lanes, height - shift));
    stores.push_back(lanes_below(s.lanes, index_constant(s.rows - shift)));
  }
  kernel::for_(0, depth, 1, [&](Val k) {
    const Val source = from + k * a.col, target = to + k * static_cast<std::int64_t>(s.rows);
    for (int v = 0; v < vectors; ++v) {
      const auto shift = static_cast<std::int64_t>(v) * s.lanes;
      const Val x = a.data.load(source + shift, s.lanes, {.mask = loads[static_cast<std::size_t>(v)]});
      work.store(target + shift, to_accumulator(x, dtype), {.mask = stores[static_cast<std::size_t>(v)]});
    }
  });
}

void pack_rows(const Schedule& s, DType dtype, const Operand& a, Val from, Val height, Val depth, Val pitch,
               kernel::Buffer work, Val to) {
  const bool contiguous = is_constant(a.col, 1);
  const Val steps =
      contiguous ? Val{} : kernel::lane_index(kernel::make_type(kernel::Scalar::i64, s.lanes)) * a.col;
  kernel::for_(0, height, 1, [&](Val i) {
    const Val source = from + i * a.row, target = to + i * pitch;
    kernel::for_(0, depth, s.lanes, [&](Val k) {
      const Val mask = lanes_below(s.lanes, depth - k);
      const Val x = contiguous ? a.data.load(source + k, s.lanes, {.mask = mask})
                               : a.data.gather(steps + (source + k * a.col), mask);
      work.store(target + k, to_accumulator(x, dtype));
    });
  });
}

}  // namespace strata::cube::matmul
