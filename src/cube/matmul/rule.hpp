/// The deterministic rule that picks a schedule, and the other schedules worth measuring.
///
/// It comes from measurements on AVX-512 machines: few columns want tall tiles, 6 x 4 vectors is the best
/// single tile for large products, packing b pays from about 192^3 on, packing a only when it is transposed,
/// and a second thread from about 0.4 MFLOP on.
#pragma once

#include <vector>

#include "cube/matmul/schedule.hpp"

namespace strata::cube::matmul {

/// What of the machine decides schedules.
struct Machine {
  int vector_bytes = 64;
  int threads = 1;      ///< cubes that run at once
  bool vectors = true;  ///< false: units are the machine's parallelism (a GPU)
  int registers() const { return vector_bytes >= 64 ? 32 : 16; }
  int lanes(const Problem& p) const {
    return vector_bytes / static_cast<int>(kernel::size_of(accumulator(p.dtype)));
  }
};

/// Below it nothing is measured: the rule decides.
inline constexpr double tuning_flops = 2.0 * 192 * 192 * 192;
/// Up to it k is unrolled fully: the code of all tiles still fits the instruction cache.
inline constexpr double short_flops = 2.0 * 32 * 32 * 32;
/// Below it the naive kernel serves a shape not seen before.
inline constexpr double tiny_flops = 2.0 * 16 * 16 * 16;

Schedule naive_schedule(const Machine& machine);
/// One kernel for every shape of the same layouts, dtypes and epilogue.
Schedule lean_schedule(const Problem& p, const Machine& machine);
/// The rule's schedule for this very shape.
Schedule favourite(const Problem& p, const Machine& machine);
/// The favourite first; every one suits the problem.
std::vector<Schedule> candidates(const Problem& p, const Machine& machine);

}  // namespace strata::cube::matmul
