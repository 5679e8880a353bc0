/// Devices to lower for.
#pragma once

#include "cube/target.hpp"

namespace strata::cube::test {

inline Target cpu_target() {
  return {.vector_bytes = 64,
          .vectors = 4,
          .units = 1,
          .cube_bytes = 4096,
          .part_bytes = 4096,
          .cache_bytes = 1 << 15};
}
/// A GPU: units map to elements, no stores past the caches. Small enough work per cube that tests use many
/// cubes.
inline Target gpu_target() {
  return {.vector_bytes = 16,
          .vectors = 1,
          .units = 64,
          .cube_bytes = 4096,
          .part_bytes = 4096,
          .cache_bytes = 0};
}

}  // namespace strata::cube::test
