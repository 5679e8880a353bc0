/// Random kernels without data races, for tests that compare two ways of running one.
#pragma once

#include <cstdint>

#include "kernel/ir.hpp"

namespace strata::kernel::test {

struct RandomKernelOptions {
  std::array<std::uint32_t, 3> cube_dim{4, 2, 1};
  bool barriers = true;  ///< exchanges through shared memory, below uniform control flow too
  bool returns = true;
};

/// Arguments of the kernel: @x, f32 read; @y, i32 write; @z, f32 write; each with `cubes * units` elements at
/// least; n: i32 scalar. All integer arithmetic wraps, floats only take exact steps of f32 arithmetic, no
/// element of y or z is written by two units.
Kernel random_kernel(std::uint64_t seed, const RandomKernelOptions& options = {});

}  // namespace strata::kernel::test
