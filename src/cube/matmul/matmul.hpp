/// Matrix products on a cube device: picks a kernel, tunes it where that pays, launches it.
///
/// Which kernel runs:
/// - below 16^3 multiply-adds, a shape not seen before: `naive`; up to 192^3: `lean`. Both serve every shape,
/// so a stream
///   of new shapes compiles nothing.
/// - the third call of a shape below 192^3: the rule's kernel for that very shape (rule.hpp), never measured.
/// - from 192^3 on: the tuned kernel for that very shape. The first shapes of a class (m, n, k within a
/// factor of two,
///   same layouts, dtype and epilogue) are tuned at once, later ones when they come for the third time and
///   run `lean` till then.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cube/cube_backend.hpp"
#include "cube/matmul/schedule.hpp"
#include "tune/record.hpp"

namespace strata::cube::matmul {

/// Runs a block whose first node is a Matmul, on values of the types of `block.inputs`; no extent of the
/// result is 0. One result an output.
std::vector<backend::ValueRef> execute(CubeBackend& backend, const Block& block, backend::Inputs inputs);

struct Explanation {
  std::string problem;      ///< "matmul f32 1024x1024x1024 nn"
  tune::TuneRecord record;  ///< candidates with times and reasons, bound, winner
  Schedule schedule;        ///< of the kernel that runs from the third call on
  std::shared_ptr<const kernel::Kernel> kernel;
  std::array<std::uint32_t, 3> cubes{1, 1, 1};
  std::int64_t workspace_bytes = 0;
};

/// Which kernel serves [m, k] x [k, n] and why; tunes it when that has not happened yet and the settings
/// allow it. A transposed operand is one whose rows and columns are exchanged in memory.
Explanation explain(CubeBackend& backend, std::int64_t m, std::int64_t n, std::int64_t k, DType dtype,
                    bool transpose_a = false, bool transpose_b = false,
                    Precision precision = Precision::exact);

}  // namespace strata::cube::matmul
