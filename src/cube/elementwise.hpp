/// Lowering of an element-wise block to one kernel.
///
/// The iteration space is collapsed (loop_nest.hpp); its innermost axis is cut into segments, and a cube
/// takes some consecutive segments. Units of a cube lie along a segment first, then across segments. Values
/// are vectors of several registers, so that every operation of the block issues independent work before the
/// next one (that is what brings a chain of dependent operations to memory speed). Extents, strides and
/// offsets are arguments.
#pragma once

#include <span>
#include <vector>

#include "cube/block.hpp"
#include "cube/kernel_cache.hpp"
#include "cube/loop_nest.hpp"
#include "cube/target.hpp"
#include "kernel/ir.hpp"
#include "op/layout.hpp"

namespace strata::cube {

/// How one layout is walked; part of the kernel's identity.
struct LayoutForm {
  Access inner{};       ///< along the innermost axis
  bool dense = false;   ///< row-major over the whole space: needs no strides
  bool scalar = false;  ///< one element for the whole space
};

/// All that decides the code of an element-wise kernel besides the block's nodes and dtypes.
struct ElementwiseForm {
  int rank = 1;
  int lanes = 1;
  int units_x = 1, units_y = 1;
  bool whole_rows = false;  ///< a segment is a row of the innermost axis
  bool non_temporal = false;
  std::vector<LayoutForm> layouts;
  std::vector<int> layout_of;  ///< outputs, inputs, then nodes that need a position
  std::vector<bool> aligned;   ///< outputs, inputs: every vector begins at a multiple of its length
};

struct ElementwiseLaunch {
  ElementwiseForm form;
  std::vector<std::int64_t> scalars;
  std::uint32_t cubes = 0;
};

/// `inputs` are views of the shapes of `block.inputs`; `outputs` views of the block's space (no extent 0),
/// dense unless a caller writes into a part of a larger tensor.
ElementwiseLaunch plan_elementwise(const Target& target, const Block& block, std::span<const op::View> inputs,
                                   std::span<const op::View> outputs);
KernelKey elementwise_key(const Block& block, const ElementwiseForm& form);
/// Buffers of the kernel: outputs, then inputs.
kernel::Kernel build_elementwise(const Block& block, const ElementwiseForm& form);

/// "elementwise_add_mul_f32", "fill_f32", "copy_bf16".
std::string elementwise_name(const Block& block);

}  // namespace strata::cube
