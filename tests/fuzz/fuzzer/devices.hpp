/// The stacks of a device beside the reference, flex.
#pragma once

#include <string_view>

#include "fuzz/fuzzer/run.hpp"

namespace strata::fuzz {

/// Tuning off, and a cache folder that lives as long as the process unless STRATA_CACHE_DIR names one: call
/// before the first device is used.
void prepare_process();

/// Adds the device's fused and un-fused stacks, and those under Autodiff for every third program. "cuda" is
/// the first GPU, "interpreted" one whose kernels are interpreted. Throws ArgumentError for a device that is
/// not known, DeviceError for one that this machine does not have.
void add_device(Rig& rig, std::string_view device);

}  // namespace strata::fuzz
