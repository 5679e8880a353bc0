/// What of a device decides the form of this layer's kernels. The kernels themselves name no target.
#pragma once

#include <cstdint>

#include "runtime/client.hpp"

namespace strata::cube {

struct Target {
  int vector_bytes = 64;  ///< one vector register, or the widest access of a unit
  int vectors = 4;        ///< registers one kernel value spans: independent work between dependent operations
  int units = 1;          ///< units in a cube; 1: the cube is one thread of a CPU
  std::int64_t cube_bytes = 0;  ///< memory traffic that makes a cube worth its overhead
  /// Reductions are cut into parts of at least `part_bytes` where fewer than `enough_cubes` would run, up to
  /// about `most_cubes`.
  std::int64_t enough_cubes = 64, most_cubes = 1 << 16, part_bytes = 0;
  std::int64_t cache_bytes = 0;  ///< traffic above it goes past the caches; 0: no such stores
};

Target target_of(const runtime::DeviceProperties& device);

}  // namespace strata::cube
