/// Contiguous copy of a view whose memory runs along another axis than the result's: square tiles are read
/// along the one, transposed (in registers, or by many units in a shared array) and written along the other,
/// so that both sides move whole cache lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cube/kernel_cache.hpp"
#include "cube/target.hpp"
#include "kernel/ir.hpp"
#include "op/layout.hpp"

namespace strata::cube {

struct TransposeForm {
  DType dtype{};
  int tile = 16;       ///< lanes of a vector and vectors of a tile; a power of two
  int batch_rank = 0;  ///< axes besides the two of the tile
  int units = 1;       ///< many: the tile goes through a shared array
  bool non_temporal = false;
};

struct TransposeLaunch {
  TransposeForm form;
  std::vector<std::int64_t> scalars;
  std::uint32_t cubes = 0;
};

/// Nothing when `input` (no extent 0) has no two axes of at least a tile to transpose.
std::optional<TransposeLaunch> plan_transpose(const Target& target, DType dtype, const op::View& input);
KernelKey transpose_key(const TransposeForm& form);
/// Buffers of the kernel: output (row-major), input.
kernel::Kernel build_transpose(const TransposeForm& form);
/// "transpose_f32".
std::string transpose_name(const TransposeForm& form);

}  // namespace strata::cube
