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

/// The value of `node` in its compute type. `operands` are in their compute types and have equal lane counts,
/// `types` their dtypes. `position` is the row-major number of each element inside the node's own shape (i64,
/// one a lane); families without inputs take their lane count from `lanes`.
kernel::Val emit_node(const Node& node, std::span<const kernel::Val> operands, std::span<const DType> types,
                      const NodeArguments& arguments, kernel::Val position, int lanes);

}  // namespace strata::cube
