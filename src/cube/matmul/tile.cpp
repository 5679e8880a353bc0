#include "cube/matmul/tile.hpp"

namespace strata::cube::matmul {

using kernel::Val;

Val to_accumulator(Val loaded, DType dtype) {
  const auto to = accumulator(dtype);
  return loaded.scalar() == to ? loaded : kernel::convert(loaded, to);
}

Val multiply_add(Val a, Val b, Val c) {
  return kernel::is_float(c.scalar()) ? kernel::fma(a, b, c) : a * b + c;
}

namespace {

/// One step: loads `vectors` vectors of b, broadcasts `rows` scalars of a.
void step(const Schedule& s, DType dtype, const TileShape& shape, const TileOperand& a,
          std::span<const Val> rows, const TileOperand& b, Val at_a, Val at_b, int u,
          const Accumulators& acc) {
  std::vector<Val> columns;
  const Val ahead = b.k * static_cast<std::int64_t>(u);
  for (int v = 0; v < shape.vectors; ++v) {
    const Val index = at_b + (ahead + static_cast<std::int64_t>(v) * s.lanes);
    const bool masked = v + 1 == shape.vectors && shape.last_mask.present();
    columns.push_back(
        to_accumulator(b.data.load(index, s.lanes, {.mask = masked ? shape.last_mask : Val{}}), dtype));
    if (s.prefetch > 0) {
      b.data.prefetch(
          at_b + (b.k * static_cast<std::int64_t>(u + s.prefetch) + static_cast<std::int64_t>(v) * s.lanes));
    }
  }
  for (int i = 0; i < shape.rows; ++i) {
    const Val index = at_a + (rows[static_cast<std::size_t>(i)] + a.k * static_cast<std::int64_t>(u));
    const Val x = kernel::splat(to_accumulator(a.data.load(index), dtype), s.lanes);
    for (int v = 0; v < shape.vectors; ++v) {
      const auto& sum = acc[static_cast<std::size_t>(i * shape.vectors + v)];
      sum = multiply_add(x, columns[static_cast<std::size_t>(v)], sum);
    }
  }
}

}  // namespace

void accumulate(const Schedule& s, DType dtype, const TileShape& shape, const TileOperand& a,
                const TileOperand& b, Val depth, const Accumulators& acc) {
  // With a constant distance of rows every address is one register plus a constant. With one known at run
  // time the rows' starts are registers of their own, outside the loop.
  std::vector<Val> rows;
  for (int i = 0; i < shape.rows; ++i) {
    const Val row = index_constant(i);
    rows.push_back((shape.last_row.present() ? kernel::min(row, shape.last_row) : row) * a.outer);
  }
  const auto steps = [&](Val k, int count) {
    const Val at_a = a.base + k * a.k, at_b = b.base + k * b.k;
    for (int u = 0; u < count; ++u) step(s, dtype, shape, a, rows, b, at_a, at_b, u, acc);
  };
  const Val whole = depth - depth % static_cast<std::int64_t>(s.unroll);
  kernel::for_(0, whole, s.unroll, [&](Val k) { steps(k, s.unroll); });
  kernel::for_(whole, depth, 1, [&](Val k) { steps(k, 1); });
}

}  // namespace strata::cube::matmul
