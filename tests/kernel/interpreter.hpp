/// A direct evaluator of kernel IR: the reference that passes and code generators are tested against.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel/ir.hpp"

namespace strata::kernel::test {

struct Launch {
  std::vector<void*> buffers;         ///< one per global memory
  std::vector<std::int64_t> lengths;  ///< its elements
  std::vector<std::int64_t> scalars;  ///< bits, as in codegen::HostKernel
  std::array<std::uint32_t, 3> cube_count{1, 1, 1};
  std::uint32_t plane_size = 1;
};

/// Runs every cube, one after the other; the units of a cube go through each instruction together (so a
/// barrier has nothing to do), in the order of their linear position. Opcodes of is_math are evaluated in
/// long double and rounded; halves compute in f32 and round after every operation. Shared and local arrays
/// start filled with 0xa5 bytes.
///
/// Throws std::out_of_range for an access outside a memory, std::domain_error for an integer division by zero
/// or with overflow and for a barrier that not all units reach, std::invalid_argument for a matrix_multiply
/// of another shape than m16n8k16 of halves.
void interpret(const Kernel& kernel, const Launch& launch);

}  // namespace strata::kernel::test
