#include "cube/matmul/unit_rule.hpp"

#include <algorithm>
#include <bit>

#include "cube/matmul/kernels.hpp"
#include "cube/matmul/tile_order.hpp"

namespace strata::cube::matmul {

namespace {

constexpr int plane = 32;
constexpr std::int64_t most_gemv_rows = 16;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Whether less than half of the tile is waste.
bool fits(const Problem& p, const Schedule& s) { return s.mc < 2 * p.m && s.nc < 2 * p.n; }

/// Whether 16-byte vectors of an operand begin at multiples of their length, and none ends outside. `fast` is
/// its extent along the contiguous axis, if there is one.
bool in_vectors(const Walk& w, std::int64_t rows, std::int64_t columns, std::size_t element) {
  const auto width = static_cast<std::int64_t>(16 / element);
  const auto multiple = [&](std::int64_t v) { return v % width == 0; };
  if (w.col != 1 && w.row != 1) return false;
  const bool along_columns = w.col == 1;
  if (!multiple(w.offset) || !multiple(along_columns ? w.row : w.col) ||
      !multiple(along_columns ? columns : rows))
    return false;
  return std::all_of(w.batch.begin(), w.batch.end(), multiple);
}

/// A cube's tile and, inside it, a unit's.
struct SimtTile {
  int height, width, rows, columns;
  int resident = 0;
};
Schedule simt(const Problem& p, const SimtTile& tile) {
  // A dozen steps of k hide the way of the next ones; more lengthen the code.
  const std::int64_t depth = tile.rows * tile.columns >= 64 ? 8 : 16;
  Schedule s;
  s.family = Family::simt;
  s.lanes = simt_lanes;
  s.rows = tile.rows;
  s.vectors = tile.columns / simt_lanes;
  s.kc = depth;
  s.mc = tile.height;
  s.nc = tile.width;
  s.units = tile.height * tile.width / (tile.rows * tile.columns);
  s.resident = kernel::size_of(accumulator(p.dtype)) <= 4 ? tile.resident : 0;
  const auto element = size_of(p.dtype);
  s.vector_a = in_vectors(p.a, p.m, p.k, element);
  s.vector_b = in_vectors(p.b, p.k, p.n, element);
  s.vector_out = p.n % simt_lanes == 0;
  return s;
}
/// Largest first; sums of eight bytes leave room for the small ones only.
std::vector<Schedule> simt_schedules(const Problem& p) {
  std::vector<Schedule> list;
  for (const auto& tile :
       {SimtTile{256, 128, 16, 8}, SimtTile{128, 128, 16, 8, 2}, SimtTile{128, 128, 8, 8, 2},
        SimtTile{128, 64, 8, 8}, SimtTile{64, 64, 8, 8}, SimtTile{64, 64, 8, 4}, SimtTile{64, 64, 4, 8},
        SimtTile{64, 64, 4, 4}, SimtTile{32, 64, 4, 4}}) {
    const bool fits = kernel::size_of(accumulator(p.dtype)) <= 4 || tile.height * tile.width <= 64 * 64;
    if (fits) list.push_back(simt(p, tile));
  }
  return list;
}
struct MmaTile {
  int height, width, rows, columns, stages;
  int resident = 0;
  std::int64_t depth_bytes = 64;
};
/// Three stages of the largest fill the 48 KiB that a kernel has without asking. 128 x 256 was slower: one
/// cube a multiprocessor has nothing to do while it waits.
constexpr MmaTile tiles_of_halves[] = {
    {128, 128, 64, 64, 3, 2}, {128, 64, 64, 32, 4}, {64, 64, 32, 32, 4}, {32, 64, 16, 32, 4}};
constexpr MmaTile tiles_of_tf32[] = {{128, 128, 64, 64, 3, 2},
                                     {128, 128, 64, 64, 3, 2, 128},
                                     {128, 64, 64, 32, 4, 3},
                                     {64, 64, 32, 32, 4},
                                     {32, 64, 32, 32, 4}};
/// With 64 x 64 sums a plane every operand is cut least often, but pieces and sums fill all registers.
constexpr MmaTile tiles_of_pieces[] = {{128, 128, 64, 64, 3, 2},
                                       {128, 128, 64, 32, 3},
                                       {128, 64, 64, 32, 3, 2},
                                       {64, 64, 32, 32, 4},
                                       {32, 64, 32, 32, 4}};

/// Largest first; none where no matrix unit is precise enough.
std::vector<Schedule> mma_schedules(const Problem& p) {
  constexpr int lanes = 8;
  std::vector<Schedule> list;
  Family family = Family::mma;
  std::span<const MmaTile> tiles = tiles_of_halves;
  if (p.precision == Precision::tf32) {
    family = Family::tf32;
    tiles = tiles_of_tf32;
  } else if (p.precision == Precision::split) {
    family = Family::bf16x3;
    tiles = tiles_of_pieces;
  } else if (p.dtype != DType::f16 && p.dtype != DType::bf16) {
    return list;
  }
  for (const auto& tile : tiles) {
    Schedule s;
    s.family = family;
    s.lanes = lanes;
    s.rows = tile.rows;
    s.vectors = tile.columns / lanes;
    s.kc = tile.depth_bytes / static_cast<std::int64_t>(size_of(p.dtype));
    s.mc = tile.height;
    s.nc = tile.width;
    s.units = plane * (tile.height / tile.rows) * (tile.width / tile.columns);
    s.vector_a = in_vectors(p.a, p.m, p.k, size_of(p.dtype));
    s.vector_b = in_vectors(p.b, p.k, p.n, size_of(p.dtype));
    s.vector_out = p.n % lanes == 0;
    const bool vectors = s.vector_a && s.vector_b;
    // What is on its way one by one takes registers: of small tiles, for one block ahead.
    if (!vectors && tile.height * tile.width > 64 * 64) continue;
    s.prefetch = vectors ? tile.stages : 2;
    s.resident = tile.resident;
    list.push_back(s);
  }
  return list;
}

/// Parts of k that give every multiprocessor about `cubes` cubes, as far as each has `fewest` blocks of k.
int parts_of_k(const Problem& p, const Schedule& s, const Machine& machine, std::int64_t cubes,
               std::int64_t fewest) {
  const auto tiles = tile_count(p, s.mc, s.nc), blocks = ceil_div(p.k, s.kc);
  const auto wanted = std::max<std::int64_t>(1, (cubes * machine.threads + tiles / 2) / tiles);
  return static_cast<int>(ceil_div(blocks, std::max(fewest, ceil_div(blocks, wanted))));
}

std::int64_t power_of_two_from(std::int64_t v) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(v)));
}

/// Most promising first.
std::vector<Schedule> gemv_schedules(const Problem& p, const Machine& machine) {
  std::vector<Schedule> list;
  if (p.m > most_gemv_rows) return list;
  constexpr int loads = 8;  // of a unit, on their way at once
  const auto element = size_of(p.dtype);
  const int width = static_cast<int>(16 / element);
  Schedule s;
  s.family = Family::gemv;
  s.rows = static_cast<int>(power_of_two_from(p.m));
  s.mc = s.rows;
  s.along_k = p.b.row == 1 && (p.b.col != 1 || p.n == 1);
  s.vector_a = p.a.col == 1 && in_vectors(p.a, p.m, p.k, element);
  // Sums of a row in 64 registers, with other values beside them in 32.
  const int sums = 64 / s.rows * 4 / static_cast<int>(kernel::size_of(accumulator(p.dtype)));
  /// `across` units, or planes, have different columns; `turns` of each take turns at k.
  const auto add = [&](std::int64_t across, std::int64_t turns, std::int64_t cubes) {
    s.units = static_cast<int>(across * turns) * (s.along_k ? plane : 1);
    s.resident = (s.rows <= 2 ? 1024 : 512) / s.units;  // leaves 64 or 128 registers a unit
    s.kc = turns * (s.along_k ? plane * s.lanes : s.unroll);
    s.nc = across * s.columns();
    s.splits = 1;
    s.splits = parts_of_k(p, s, machine, cubes, 2);
    if (std::ranges::find(list, s) == list.end()) list.push_back(s);
  };
  if (s.along_k) {
    Walk b = p.b;
    std::swap(b.row, b.col);
    if (p.n == 1) b.row = 0;
    s.vector_b = in_vectors(b, p.n, p.k, element);
    s.lanes = s.vector_b ? width : 1;
    s.vectors = std::min({4, std::max(1, sums / 2), p.n <= 2 ? static_cast<int>(p.n) : 4});
    s.unroll = loads / s.vectors;
    constexpr std::int64_t planes = 8;
    const auto most_turns = std::min(planes, power_of_two_from(ceil_div(p.k, plane * s.lanes)));
    const auto most_across = std::min(planes, power_of_two_from(ceil_div(p.n, s.vectors)));
    for (const std::int64_t cubes : {4, 2, 1}) {
      std::int64_t turns = 1;  // no more than give every multiprocessor so many cubes, or so
      while (turns < most_turns &&
             4 * tile_count(p, s.mc, planes / turns * s.vectors) < 3 * cubes * machine.threads)
        turns *= 2;
      const auto across = std::min(planes / turns, most_across);
      add(across, std::min(planes / across, most_turns), cubes);
    }
    return list;
  }
  s.vector_b = p.b.col == 1 && in_vectors(p.b, p.k, p.n, element);
  s.lanes = s.vector_b ? std::min(width, sums) : 1;
  s.vectors = s.vector_b ? 1 : std::min(4, sums);
  s.unroll = loads;
  const auto most_turns = power_of_two_from(ceil_div(p.k, s.unroll)),
             most_across = power_of_two_from(ceil_div(p.n, s.columns()));
  struct Form {
    std::int64_t units, across, cubes;
  };
  // Eight units read whole lines of b; the more turns, the fewer parts of k are left to a second kernel.
  for (const auto& f :
       {Form{512, 8, 1}, Form{256, 8, 4}, Form{256, 32, 4}, Form{256, 8, 1}, Form{512, 4, 1}}) {
    const auto turns = std::min(f.units / f.across, most_turns),
               across = std::min(f.units / turns, most_across);
    add(across, std::max(turns, plane / across), f.cubes);
  }
  return list;
}

/// Those of `tiles` worth measuring: with k split where they are too few for the machine, and as they are
/// unless they leave most of it idle.
std::vector<Schedule> tile_candidates(const Problem& p, const Machine& machine,
                                      const std::vector<Schedule>& tiles) {
  std::vector<Schedule> list;
  const auto smallest = tiles.back();
  for (const std::int64_t cubes : {2, 4}) {
    for (auto s : tiles) {
      if (!(fits(p, s) || s == smallest)) continue;
      s.splits = parts_of_k(p, s, machine, cubes, 4);
      if (s.splits > 1) list.push_back(s);
    }
  }
  for (const auto& s : tiles) {
    if (!(fits(p, s) || s == smallest)) continue;
    if (4 * tile_count(p, s.mc, s.nc) >= machine.threads || list.empty()) list.push_back(s);
  }
  return list;
}

/// The largest tile that fits and still gives every multiprocessor a cube, or the smallest with k split.
Schedule favourite_of(const Problem& p, const Machine& machine, const std::vector<Schedule>& tiles) {
  for (const auto& s : tiles) {
    if (fits(p, s) && tile_count(p, s.mc, s.nc) >= machine.threads) return s;
  }
  auto s = tiles.back();
  s.splits = parts_of_k(p, s, machine, 2, 4);
  return s;
}

std::vector<Schedule> tile_schedules(const Problem& p) {
  auto list = mma_schedules(p);
  return list.empty() ? simt_schedules(p) : list;
}

}  // namespace

Schedule favourite_of_units(const Problem& p, const Machine& machine) {
  constexpr std::int64_t short_walk = 64;  // for one unit
  if (p.flops() <= tiny_flops && p.k <= short_walk) return naive_schedule(machine);
  const auto tiles = tile_schedules(p);
  const bool matrix_units = tiles.front().uses_matrix_units();
  if (p.m <= (matrix_units ? 4 : most_gemv_rows)) {
    const auto s = gemv_schedules(p, machine).front();
    // Columns that do not fill half a plane leave most of it idle.
    if (!s.along_k || 2 * p.k >= plane * s.lanes || p.n < plane) return s;
  }
  return favourite_of(p, machine, tiles);
}

std::vector<Schedule> candidates_of_units(const Problem& p, const Machine& machine) {
  auto list = gemv_schedules(p, machine);
  const auto tiles = tile_schedules(p);
  for (const auto& s : tile_candidates(p, machine, tiles)) list.push_back(s);
  const auto& s = tiles.back();
  // Without matrix units it may be as fast.
  if (s.uses_matrix_units() && (s.family == Family::bf16x3 || !(s.vector_a && s.vector_b)))
    list.push_back(favourite_of(p, machine, simt_schedules(p)));
  return list;
}

}  // namespace strata::cube::matmul
