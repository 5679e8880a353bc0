#include "cube/matmul/schedule.hpp"

#include <fmt/format.h>

#include "cube/matmul/kernels.hpp"
#include "cube/matmul/tile_order.hpp"

namespace strata::cube::matmul {

namespace {

constexpr std::int64_t round_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

}  // namespace

std::string_view name_of(Family family) {
  constexpr std::string_view names[] = {"naive", "tiled", "packed", "lean", "simt",
                                        "mma",   "tf32",  "bf16x3", "dot",  "gemv"};
  return names[static_cast<int>(family)];
}

std::string Schedule::name() const {
  return has_tiles() && splits > 1 ? kernel_name() + std::to_string(splits) : kernel_name();
}

std::string Schedule::kernel_name() const {
  std::string s(name_of(family));
  if (family == Family::naive) return s + fmt::format("_u{}", units);
  if (has_tiles()) {
    if (family == Family::gemv) s += along_k ? "_t" : "_n";
    s += fmt::format("_{}x{}_k{}_{}x{}_{}{}{}", mc, nc, kc, rows, columns(), vector_a ? "v" : "s",
                     vector_b ? "v" : "s", vector_out ? "v" : "s");
    if (prefetch > 0) s += fmt::format("_s{}", prefetch);
    if (resident > 0) s += fmt::format("_r{}", resident);
    return splits > 1 ? s + "_split" : s;
  }
  s += fmt::format("_{}x{}", rows, columns());
  if (kc > 0) s += fmt::format("_kc{}", kc);
  if (mc > 0) s += fmt::format("_mc{}", mc);
  if (nc > 0) s += fmt::format("_nc{}", nc);
  if (pack_a) s += "_pa";
  if (pack_b) s += "_pb";
  if (prefetch > 0) s += fmt::format("_pf{}", prefetch);
  if (non_temporal) s += "_nt";
  s += fmt::format("_{}{}", split_rows ? "m" : "n", splits);
  return s + fmt::format("_l{}", lanes);
}

Blocking blocking_of(const Problem& p, const Schedule& s) {
  Blocking b;
  const auto rows = static_cast<std::int64_t>(s.rows), columns = static_cast<std::int64_t>(s.columns());
  const auto extent = s.split_rows ? p.m : p.n, tile = s.split_rows ? rows : columns;
  const auto tiles = (extent + tile - 1) / tile;
  b.chunk = std::max(tile, (tiles + s.splits - 1) / s.splits * tile);
  const auto part_m = s.split_rows ? std::min(b.chunk, p.m) : p.m,
             part_n = s.split_rows ? p.n : std::min(b.chunk, p.n);
  b.kc = s.kc > 0 && s.kc < p.k && partial_output(p) >= 0 ? s.kc : std::max<std::int64_t>(p.k, 1);
  b.mc = s.mc > 0 ? std::max(rows, s.mc / rows * rows) : round_up(std::max<std::int64_t>(part_m, 1), rows);
  b.nc = s.nc > 0 ? std::max(columns, s.nc / columns * columns)
                  : round_up(std::max<std::int64_t>(part_n, 1), columns);
  b.mc = std::min(b.mc, round_up(std::max<std::int64_t>(part_m, 1), rows));
  b.nc = std::min(b.nc, round_up(std::max<std::int64_t>(part_n, 1), columns));
  b.b_depth = round_up(b.kc, s.lanes);
  // A row more than the block keeps packed rows of a from sharing one set of the cache; a strip's masked
  // stores end inside it.
  b.a_pitch = b.b_depth + 16;
  b.a_elements = s.pack_a ? round_up(b.mc, rows) * b.a_pitch + s.lanes : 0;
  b.b_elements = s.pack_b ? b.nc * b.b_depth : 0;
  // Panels start on cache lines.
  b.a_elements = round_up(b.a_elements, 64);
  b.b_elements = round_up(b.b_elements, 64);
  return b;
}

LaunchShape launch_shape(const Problem& p, const Schedule& s) {
  LaunchShape l;
  l.scalars = scalars_of(p, s.sizes());
  if (s.family == Family::naive) {
    l.cubes_x = static_cast<std::uint32_t>((p.outputs() + s.units - 1) / s.units);
    return l;
  }
  if (s.has_tiles()) {
    l.cubes_x = static_cast<std::uint32_t>(tile_count(p, s.mc, s.nc));
    if (s.splits == 1) return l;
    const auto blocks = (p.k + s.kc - 1) / s.kc, depth = (blocks + s.splits - 1) / s.splits * s.kc;
    const auto parts = (p.k + depth - 1) / depth;
    l.cubes_y = static_cast<std::uint32_t>(parts);
    l.workspace = parts * p.outputs();
    const auto sum_width = part_sum_units / part_sum_depth(s.splits);
    l.sum_cubes = static_cast<std::uint32_t>((p.outputs() + sum_width - 1) / sum_width);
    l.scalars.push_back(depth);
    l.scalars.push_back(parts);
    return l;
  }
  const auto b = blocking_of(p, s);
  const auto extent = s.split_rows ? p.m : p.n;
  l.cubes_x = static_cast<std::uint32_t>((extent + b.chunk - 1) / b.chunk);
  l.cubes_y = static_cast<std::uint32_t>(p.batches());
  l.workspace = b.elements() * l.cubes_x * l.cubes_y;
  if (s.family == Family::lean) {
    for (const auto v : {b.chunk, b.kc, b.mc, b.nc, b.a_pitch, b.b_depth, b.a_elements, b.elements()}) {
      l.scalars.push_back(v);
    }
  }
  return l;
}

kernel::Kernel build(const Problem& p, const Schedule& s) {
  switch (s.family) {
    case Family::naive:
      return build_naive(p, s);
    case Family::dot:
      return build_dot(p, s);
    case Family::simt:
      return build_simt(p, s);
    case Family::mma:
      return build_mma(p, s);
    case Family::tf32:
    case Family::bf16x3:
      return build_mma_f32(p, s);
    case Family::gemv:
      return build_gemv(p, s);
    case Family::tiled:
    case Family::packed:
    case Family::lean:
      break;
  }
  return build_blocked(p, s);
}

}  // namespace strata::cube::matmul
