/// Which values are the same for all units of a cube.
#pragma once

#include <vector>

#include "kernel/ir.hpp"

namespace strata::kernel {

/// `varying[id]`: the value may differ between units of one cube. Starts from the unit's position, atomics
/// and plane reductions, and flows through operands, through local arrays (which vary once something varying
/// is stored, or anything is stored under varying control) and through control flow, to a fixed point. Loads
/// of shared and global memory at one index are uniform: units that read what another unit writes without a
/// barrier between race anyway.
struct Uniformity {
  std::vector<bool> varying;         ///< by ValueId
  std::vector<bool> varying_memory;  ///< by MemoryId, local arrays only
};

Uniformity analyse_uniformity(const Kernel& kernel);

}  // namespace strata::kernel
