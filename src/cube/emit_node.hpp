/// The arithmetic of one node of a block, recorded into the kernel being built: what element-wise kernels and
/// the epilogues of matrix products share.
#pragma once

#include <span>

#include "cube/block.hpp"
#include "kernel/builder.hpp"

namespace strata::cube {

/// The type a dtype is computed in. Halves are carried as f32, rounded to the half after every node.
constexpr kernel::Scalar compute_scalar(DType t) {
  return t == DType::f16 || t == DType::bf16 ? kernel::Scalar::f32 : kernel::scalar_of(t);
}
/// A value of dtype `t` read from memory, in its compute type.
kernel::Val widen(kernel::Val stored, DType t);
/// The reverse, for a store.
kernel::Val narrow(kernel::Val computed, DType t);

/// Scalars of a kernel that stand for attributes of a node (a fill value, bounds and seed of random numbers
/// ...), so that other values need no other kernel. Empty for families without such attributes.
using NodeArguments = base::InlineVector<kernel::Val, 4>;
/// Declares them on the builder; call order decides the order of arguments.
NodeArguments declare_arguments(kernel::Builder& builder, const Node& node, int number);
/// The bits to launch with, in the same order, appended to `out`.
void append_arguments(const Node& node, std::vector<std::int64_t>& out);

/// True for Iota and Random, which depend on where an element stands.
bool needs_position(const Node& node);

/// A cast to the dtype its operand has.
bool is_copy(const Node& node, DType operand);

struct NodeValue {
  kernel::Val value;   ///< in the compute type
  kernel::Val stored;  ///< in the dtype, when rounding made it; else absent, and `narrow(value)` is exact
};

/// The value of `node`. `operands` are in their compute types and have equal lane counts, `types` their
/// dtypes. `position` is the row-major number of each element inside the node's own shape (i64, one a lane);
/// families without inputs take their lane count from `lanes`.
NodeValue emit_node_value(const Node& node, std::span<const kernel::Val> operands,
                          std::span<const DType> types, const NodeArguments& arguments, kernel::Val position,
                          int lanes);
/// Only its value in the compute type.
inline kernel::Val emit_node(const Node& node, std::span<const kernel::Val> operands,
                             std::span<const DType> types, const NodeArguments& arguments,
                             kernel::Val position, int lanes) {
  return emit_node_value(node, operands, types, arguments, position, lanes).value;
}

}  // namespace strata::cube
