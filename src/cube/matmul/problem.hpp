/// One matrix product with its epilogue, reduced to what decides a kernel: extents, strides, dtypes, nodes.
#pragma once

#include <span>
#include <vector>

#include "cube/block.hpp"
#include "cube/kernel_cache.hpp"
#include "op/layout.hpp"

namespace strata::cube::matmul {

/// How an operand moves, in elements. Rows and columns are those of the matrix it stands for: a is [m, k], b
/// is [k, n], everything else [m, n].
struct Walk {
  std::int64_t row = 0, col = 0;
  Strides batch;
  std::int64_t offset = 0;
};

/// An input of the epilogue.
struct Extra {
  int value = 0;  ///< number in the block
  DType dtype{};
  Walk walk;
};

struct Problem {
  const Block* block = nullptr;  ///< outlives the problem
  DType dtype{};
  Precision precision = Precision::exact;  ///< that is asked for at least; of f32 only
  std::int64_t m = 0, n = 0, k = 0;
  Shape batch;  ///< merged as far as all operands allow, and into m where b does not depend on it
  int a_value = 0, b_value = 1;  ///< numbers of the operands in the block
  Walk a, b;
  std::vector<Extra> extras;
  std::vector<Walk> positions;  ///< one a node: its own row-major numbering, where it needs one

  std::int64_t batches() const { return batch.product(); }
  std::int64_t outputs() const { return batches() * m * n; }
  double flops() const { return 2.0 * static_cast<double>(outputs()) * static_cast<double>(k); }
  /// Bytes that have to move at least once.
  double bytes() const;
  bool has_epilogue() const { return block->nodes.size() > 1; }
  DType output_type(std::size_t i) const { return block->type(block->outputs[i]).dtype; }
};

/// `views` are those of the block's inputs. A product with one column is turned into one with one row.
Problem describe(const Block& block, std::span<const op::View> views);

/// The type products are summed in.
kernel::Scalar accumulator(DType t);

/// Which output can hold partial sums between blocks of k, or -1.
int partial_output(const Problem& p);

/// Everything but its schedule that changes the code of a kernel with constant extents and strides; `exact`
/// false leaves out what a kernel for any shape takes as arguments.
void hash_into(KernelKeyHasher& h, const Problem& p, bool exact);

/// "matmul f32 tf32 1024x1024x1024 nt batch [8] then add #1a2b3c4d": for people and as the key of tuning.
std::string to_string(const Problem& p);

}  // namespace strata::cube::matmul
