/// Lowering of Reduce to one kernel, or to two when few results hide much work: then the first writes partial
/// results, which the second combines. How the work is cut depends on shapes only, so results do not change
/// with the number of threads.
#pragma once

#include <vector>

#include "cube/kernel_cache.hpp"
#include "cube/reduce_nest.hpp"
#include "cube/target.hpp"
#include "kernel/ir.hpp"
#include "op/reduce.hpp"

namespace strata::cube {

/// All that decides the code of a reduction kernel.
struct ReduceKernelForm {
  op::ReduceKind kind{};
  DType in{}, out{};    ///< of the buffers
  bool divide = false;  ///< mean: by the argument `count`, in the last stage
  ReduceForm form{};
  int kept_rank = 1, reduced_rank = 1;
  Access access{};     ///< of the input along the vectors
  bool split = false;  ///< writes partial results
  int lanes = 1;
  int vectors = 1;       ///< columns: vectors side by side in one strip
  int units_x = 1;       ///< along the vectors
  int units_y = 1;       ///< rows: results side by side; columns: what is reduced, cut once more
  bool aligned = false;  ///< every vector begins at a multiple of its length
  int units() const { return units_x * units_y; }
};

/// One kernel of a reduction.
struct ReduceStage {
  ReduceKernelForm form;
  std::vector<std::int64_t> scalars;
  std::uint32_t cubes = 0;
  Shape out_shape;  ///< of what it writes: the partial results of a first stage are [outputs, parts] or
                    ///< [parts, outputs]
};

/// One or two stages for an input of dtype `in` (no extent 0, at least one element reduced a result).
std::vector<ReduceStage> plan_reduce(const Target& target, op::ReduceKind kind, DType in,
                                     const op::View& input, const Axes& axes);
KernelKey reduce_key(const ReduceKernelForm& form);
/// Buffers of the kernel: output, input.
kernel::Kernel build_reduce(const ReduceKernelForm& form);
/// "reduce_sum_rows_f32", "reduce_max_columns_partial_bf16".
std::string reduce_name(const ReduceKernelForm& form);

/// What partial results are kept in: f32 for halves, u8 for bool, else the dtype itself.
DType accumulator_dtype(DType t);

}  // namespace strata::cube
