/// What this machine offers to the process.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/client.hpp"

namespace strata::runtime::cpu {

/// STRATA_NUM_THREADS, else the processors this process may use.
int thread_count();
/// Bytes this process may use: the machine's memory or the limit of its control group.
std::size_t memory_limit();
DeviceProperties properties_of_machine(int threads);

struct Availability {
  bool available = false;
  std::string description;  ///< what there is, or why it cannot be used
};
/// Whether kernels can be compiled for this machine.
Availability availability();

}  // namespace strata::runtime::cpu
