/// The arguments of a matmul kernel: declared on one side, collected for a launch on the other, from one
/// list.
///
/// Buffers: a, b, the epilogue's inputs, the outputs, then the workspace where a schedule has one.
#pragma once

#include <vector>

#include "cube/emit_node.hpp"
#include "cube/matmul/problem.hpp"
#include "kernel/builder.hpp"

namespace strata::cube::matmul {

/// Whether extents and strides are constants of the kernel or arguments of its launch.
enum class Sizes : std::uint8_t { constant, argument };

/// An operand as a kernel sees it, at the batch of the running cube.
struct Operand {
  kernel::Buffer data;
  kernel::Val start, row, col;  ///< i64, in elements
  kernel::Val at(kernel::Val i, kernel::Val j) const { return start + i * row + j * col; }
};

struct Extents {
  kernel::Val m, n, k;
};

/// What a kernel body works with.
struct Arguments {
  const Problem* problem = nullptr;
  Extents size;
  std::vector<kernel::Val> batch;                       ///< extents
  std::vector<std::vector<kernel::Val>> batch_strides;  ///< a, b, extras, positions
  Operand a, b;
  std::vector<Operand> extras;
  std::vector<Operand> positions;  ///< without data
  std::vector<NodeArguments> nodes;
  std::vector<kernel::Buffer> outputs;
  kernel::Val output_start;  ///< of the running batch, row-major [m, n]
  kernel::Buffer workspace;
  kernel::Val partial_start;  ///< present: sums of one part of k go to the workspace, from here on

  /// Moves every operand to batch number `index` (i64).
  void select_batch(kernel::Val index);
  /// Elements of the result.
  kernel::Val outputs_count() const;
};

/// Declares everything but the workspace on the current builder.
Arguments declare(kernel::Builder& builder, const Problem& problem, Sizes sizes);

/// Of a product whose k is split among cubes.
struct Parts {
  kernel::Val depth;  ///< steps of k of each but the last
  kernel::Val count;
};
/// Declares the workspace, whose rows are the sums over one part each, and how k is split.
Parts declare_parts(kernel::Builder& builder, Arguments& args);

/// The scalars of a launch in the order of `declare`.
std::vector<std::int64_t> scalars_of(const Problem& problem, Sizes sizes);

}  // namespace strata::cube::matmul
