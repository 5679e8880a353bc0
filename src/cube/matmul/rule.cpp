#include "cube/matmul/rule.hpp"

#include <algorithm>

#include "cube/matmul/kernels.hpp"
#include "cube/matmul/unit_rule.hpp"

namespace strata::cube::matmul {

namespace {

constexpr double threading_flops = 4e5;
constexpr std::int64_t kc = 1024, mc = 480, nc = 512;
constexpr int prefetch_steps = 8;

bool converts(const Problem& p) { return kernel::scalar_of(p.dtype) != accumulator(p.dtype); }

/// Divides the work: along n where every cube gets its own part of b, else along m.
void split(Schedule& s, const Problem& p, const Machine& machine) {
  const auto wanted =
      p.flops() < threading_flops
          ? 1
          : std::max<std::int64_t>(1, machine.threads / std::max<std::int64_t>(1, p.batches()));
  const auto along_n = (p.n + s.columns() - 1) / s.columns(), along_m = (p.m + s.rows - 1) / s.rows;
  s.split_rows =
      s.pack_b || s.family == Family::dot ? along_n < wanted && along_m > along_n : along_m >= wanted;
  s.splits = static_cast<int>(std::min(wanted, s.split_rows ? along_m : along_n));
}

Schedule tiled(const Problem& p, const Machine& machine, int rows, int vectors) {
  Schedule s;
  s.family = Family::tiled;
  s.lanes = machine.lanes(p);
  s.rows = static_cast<int>(std::min<std::int64_t>(rows, p.m));
  s.vectors = static_cast<int>(std::min<std::int64_t>(vectors, (p.n + s.lanes - 1) / s.lanes));
  split(s, p, machine);
  // Without a loop the processor overlaps a tile's end with the next one's beginning.
  if (p.k <= 32 && p.flops() <= short_flops) s.unroll = static_cast<int>(p.k);
  return s;
}

Schedule packed(const Problem& p, const Machine& machine, int rows, int vectors) {
  Schedule s = tiled(p, machine, rows, vectors);
  s.family = Family::packed;
  s.kc = kc;
  s.mc = mc / rows * rows;
  s.nc = std::max<std::int64_t>(1, nc / s.columns()) * s.columns();
  s.pack_b = true;
  s.pack_a = (p.a.row == 1 && p.a.col != 1 && p.m > 1) || (converts(p) && p.m > 1);
  s.prefetch = prefetch_steps;
  split(s, p, machine);
  return s;
}

Schedule dot(const Problem& p, const Machine& machine) {
  Schedule s;
  s.family = Family::dot;
  s.lanes = machine.lanes(p);
  s.rows = static_cast<int>(std::min<std::int64_t>(p.m, 2));
  s.vectors = machine.registers() / (s.rows == 1 ? 4 : 8);
  split(s, p, machine);
  return s;
}

/// Stores of c past the caches: where writing c is the work.
bool wants_non_temporal(const Problem& p, const Schedule& s) {
  return p.k <= 64 &&
         p.outputs() * static_cast<std::int64_t>(size_of(p.output_type(0))) > (std::int64_t{4} << 20) &&
         (s.kc == 0 || s.kc >= p.k);
}

bool in_place(const Problem& p) { return p.b.col == 1; }

/// Few rows and a large b, read in place once: what counts is how b streams.
bool streams_b(const Problem& p) { return in_place(p) && p.m <= 16 && p.n * p.k >= (std::int64_t{1} << 18); }

/// Short blocks of k, so that neighbouring panels of b find their pages and the prefetcher's streams still
/// there.
Schedule streaming(const Problem& p, const Machine& machine, int rows, int vectors, std::int64_t depth) {
  Schedule s = tiled(p, machine, rows, vectors);
  s.kc = depth;
  s.split_rows = false;
  s.splits = static_cast<int>(std::min<std::int64_t>(machine.threads, (p.n + s.columns() - 1) / s.columns()));
  return s;
}

struct StreamingTile {
  int rows, vectors;
  std::int64_t depth;
};
std::vector<StreamingTile> streaming_tiles(const Problem& p) {
  if (p.m <= 4) return {{static_cast<int>(p.m), 4, 16}, {static_cast<int>(p.m), 4, 32}};
  return {{8, 2, 32}, {16, 1, 32}, {8, 3, 32}, {8, 2, 16}};
}

/// The register tile by the rule of the header; rows x vectors.
std::pair<int, int> tile_of(const Problem& p, const Machine& machine) {
  const auto vectors = (p.n + machine.lanes(p) - 1) / machine.lanes(p);
  if (machine.registers() == 32) {
    if (p.m <= 4 && vectors >= 4) return {static_cast<int>(p.m), 4};
    // A strip of a packed row by row wastes no lanes when it is almost a vector high.
    if (p.a.row == 1 && p.a.col != 1 && p.m >= 14 && p.flops() >= tuning_flops) return {14, 2};
    if (vectors == 1) return {p.m <= 8 || p.m > 64 ? 8 : 16, 1};
    if (vectors == 2) return {12, 2};
    if (vectors == 3) return {8, 3};
    if (p.flops() <= 2.0 * 96 * 96 * 96) return {8, 2};
    return {6, 4};
  }
  if (p.m <= 4 && vectors >= 2) return {static_cast<int>(p.m), 3};
  if (vectors == 1) return {8, 1};
  return {6, 2};
}

}  // namespace

Schedule naive_schedule(const Machine& machine) {
  Schedule s;
  s.units = machine.vectors ? 64 : 256;
  return s;
}

Schedule lean_schedule(const Problem& p, const Machine& machine) {
  Schedule s;
  s.family = Family::lean;
  s.lanes = machine.lanes(p);
  s.rows = machine.registers() == 32 ? 8 : 6;
  s.vectors = machine.registers() == 32 ? 3 : 2;
  s.kc = kc;
  s.mc = mc;
  s.nc = 960 / s.columns() * s.columns();
  s.pack_b = true;
  s.pack_a = (p.a.row == 1 && p.a.col != 1) || converts(p);
  split(s, p, machine);
  return s;
}

Schedule favourite(const Problem& p, const Machine& machine) {
  if (p.k == 0) return naive_schedule(machine);
  if (!machine.vectors) return favourite_of_units(p, machine);
  const auto lanes = machine.lanes(p);
  if (p.m <= 4 && p.b.row == 1 && p.b.col != 1 && p.k >= lanes) return dot(p, machine);
  if (streams_b(p)) {
    const auto best = streaming_tiles(p).front();
    return streaming(p, machine, best.rows, best.vectors, best.depth);
  }
  const auto [rows, vectors] = tile_of(p, machine);
  const bool narrow = p.m <= 16 || p.n <= lanes;
  const bool small = p.flops() < tuning_flops;
  if (in_place(p) && (small || narrow)) return tiled(p, machine, rows, vectors);
  auto s = packed(p, machine, rows, vectors);
  if (small) s.kc = s.mc = s.nc = 0;
  s.non_temporal = wants_non_temporal(p, s) && [&] {
    auto t = s;
    t.non_temporal = true;
    return unsuitable(p, t).empty();
  }();
  return s;
}

std::vector<Schedule> candidates(const Problem& p, const Machine& machine) {
  std::vector<Schedule> list;
  const auto add = [&](const Schedule& s) {
    if (unsuitable(p, s).empty() && std::ranges::find(list, s) == list.end()) list.push_back(s);
  };
  const auto best = favourite(p, machine);
  add(best);
  if (machine.vectors && p.k > 0) {
    const bool wide = machine.registers() == 32;
    using Tiles = std::vector<std::pair<int, int>>;
    for (const auto& [rows, vectors] :
         wide ? Tiles{{6, 4}, {8, 3}, {14, 2}, {12, 2}} : Tiles{{6, 2}, {4, 3}}) {
      if (p.m < rows) continue;
      auto s = packed(p, machine, rows, vectors);
      s.non_temporal = best.non_temporal;
      add(s);
    }
    if (best.non_temporal) {
      auto s = best;
      s.non_temporal = false;
      add(s);
    }
    if (streams_b(p)) {
      for (const auto& [rows, vectors, depth] : streaming_tiles(p))
        add(streaming(p, machine, rows, vectors, depth));
    }
    if (in_place(p)) {
      for (const auto& [rows, vectors] : wide ? Tiles{{8, 2}, {6, 4}, {14, 2}} : Tiles{{6, 2}}) {
        if (p.flops() < 16 * tuning_flops || p.m <= 16) add(tiled(p, machine, rows, vectors));
      }
    }
    add(lean_schedule(p, machine));
  }
  if (!machine.vectors && p.k > 0) {
    for (const auto& s : candidates_of_units(p, machine)) add(s);
  }
  if (list.empty()) list.push_back(naive_schedule(machine));
  return list;
}

std::string unsuitable(const Problem& p, const Schedule& s) {
  if (s.family == Family::naive) return {};
  if (s.has_tiles()) {
    if (p.k == 0) return "k is 0";
    if (s.family == Family::gemv && p.m > s.rows) return "more rows than the tile";
    return {};
  }
  if (s.lanes < 2) return "the device has no vectors";
  if (p.k == 0) return "k is 0";
  if (s.family == Family::dot) {
    if (p.b.row != 1) return "columns of b are not contiguous";
    return s.rows > p.m ? "fewer rows than the tile" : "";
  }
  if (!s.pack_b && p.b.col != 1) return "rows of b are not contiguous and b is not packed";
  if (s.family == Family::lean) return s.pack_b ? "" : "a kernel for any shape packs b";
  if (s.non_temporal) {
    for (std::size_t i = 0; i < p.block->outputs.size(); ++i) {
      const auto size = static_cast<std::int64_t>(size_of(p.output_type(i)));
      if (s.lanes * size < 64 || p.n % s.lanes != 0) return "rows of the result are not whole cache lines";
    }
    if (blocking_of(p, s).kc < p.k) return "stores past the caches need k in one block";
  }
  return {};
}

}  // namespace strata::cube::matmul
