/// The kernels of matmul. Each is recorded for one problem (constant sizes) or for all problems that share
/// layouts, dtypes and epilogue (sizes as arguments), see Schedule::sizes.
#pragma once

#include "cube/matmul/problem.hpp"
#include "cube/matmul/schedule.hpp"
#include "kernel/ir.hpp"

namespace strata::cube::matmul {

/// Records the kernel of `schedule`. Throws CompileError where the schedule cannot serve the problem.
kernel::Kernel build(const Problem& problem, const Schedule& schedule);

kernel::Kernel build_naive(const Problem& problem, const Schedule& schedule);
kernel::Kernel build_blocked(const Problem& problem, const Schedule& schedule);
kernel::Kernel build_simt(const Problem& problem, const Schedule& schedule);
kernel::Kernel build_mma(const Problem& problem, const Schedule& schedule);
kernel::Kernel build_mma_f32(const Problem& problem, const Schedule& schedule);
kernel::Kernel build_dot(const Problem& problem, const Schedule& schedule);
kernel::Kernel build_gemv(const Problem& problem, const Schedule& schedule);

inline constexpr int part_sum_units = 256;
/// Adds what the cubes of a split k left in the workspace, in the order of the parts, and ends the product.
kernel::Kernel build_part_sum(const Problem& problem, int splits);
/// Units of a cube that add parts of the same elements.
int part_sum_depth(int splits);

/// The naive kernel with a second result behind the outputs: for every element the sum of |a| * |b| in the
/// accumulator's type, the scale of its rounding error.
kernel::Kernel build_reference(const Problem& problem, const Schedule& schedule);

/// What a launch needs besides the kernel.
struct LaunchShape {
  std::uint32_t cubes_x = 1, cubes_y = 1;
  std::int64_t workspace = 0;   ///< elements of the accumulator's type; 0: the kernel takes no workspace
  std::uint32_t sum_cubes = 0;  ///< of a second kernel that adds the parts of k; 0: there is none
  std::vector<std::int64_t> scalars;  ///< in the order of either kernel
};
LaunchShape launch_shape(const Problem& problem, const Schedule& schedule);

/// Why `schedule` cannot serve `problem`; empty when it can.
std::string unsuitable(const Problem& problem, const Schedule& schedule);

/// Sizes of a cube's part of the work and of its workspace, in elements; the same rule on both sides of a
/// launch.
struct Blocking {
  std::int64_t chunk = 0;  ///< rows or columns of a cube
  std::int64_t kc = 0, mc = 0, nc = 0;
  std::int64_t a_pitch = 0;  ///< of a packed row or strip of a, in elements a row
  std::int64_t b_depth = 0;  ///< rows of a packed panel of b
  std::int64_t a_elements = 0, b_elements = 0;
  std::int64_t elements() const { return a_elements + b_elements; }
};
Blocking blocking_of(const Problem& problem, const Schedule& schedule);

}  // namespace strata::cube::matmul
