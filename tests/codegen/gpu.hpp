/// Runs PTX through the CUDA driver, where one and a GPU are present.
#pragma once

#include <string>

#include "kernel/interpreter.hpp"

namespace strata::codegen::test {

/// Empty when a GPU can be used, else why not.
const std::string& gpu_absent();

/// Loads `ptx` and launches `kernel` with copies of the buffers, which come back when it is done. Throws
/// std::runtime_error with the driver's error.
void run_ptx(const kernel::Kernel& kernel, const std::string& ptx, const kernel::test::Launch& launch);

}  // namespace strata::codegen::test
