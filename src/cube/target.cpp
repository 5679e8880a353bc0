#include "cube/target.hpp"

#include <algorithm>

namespace strata::cube {

Target target_of(const runtime::DeviceProperties& device) {
  Target target;
  if (device.plane_size > 1) {
    constexpr int widest_access = 16, usual_units = 256;  // bytes; threads of a block
    target.vector_bytes = widest_access;
    target.vectors = 1;
    target.units = std::min<int>(usual_units, static_cast<int>(device.max_units));
    target.cube_bytes = std::int64_t{16} * widest_access * target.units;
    // Eight cubes reside on a multiprocessor; their number is fixed, so that results are those of any GPU.
    target.enough_cubes = 528;
    target.most_cubes = 1056;
    target.part_bytes = 16 << 10;
    return target;
  }
  constexpr std::int64_t share = 64 << 10;  // fits L1 and L2 with room; some microseconds of work
  target.vector_bytes = device.vector_bytes;
  target.cube_bytes = target.part_bytes = share;
  target.cache_bytes = static_cast<std::int64_t>(device.l2_bytes) * device.threads;
  return target;
}

}  // namespace strata::cube
