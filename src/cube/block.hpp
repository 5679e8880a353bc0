/// A fused block: what one kernel computes. An operation that runs alone is a block of one node, so fused and
/// un-fused execution share every line of lowering.
#pragma once

#include <vector>

#include "op/operation.hpp"

namespace strata::cube {

/// One operation of a block. Values are numbered: the block's inputs first, then its nodes in order.
struct Node {
  op::Operation op;  ///< Matmul (first node only), Unary, Binary, Compare, Where, Cast, Fill, Iota, Random
  base::InlineVector<int, 3> operands;  ///< value numbers
  op::TensorType type;
};

/// Nodes in execution order. All outputs have one shape, the iteration space; a node of a smaller shape (it
/// broadcasts into a later one) is evaluated at the broadcast index. With a Matmul as node 0 the rest is its
/// epilogue and the iteration space is the product's shape.
///
/// Arithmetic on f16 and bf16 rounds after every node, so that a fused block gives the very results of its
/// parts. Fill values and random seeds are arguments of the kernel, never part of its code.
struct Block {
  std::vector<op::TensorType> inputs;
  std::vector<Node> nodes;
  std::vector<int> outputs;  ///< value numbers of nodes that must be written

  int value_count() const { return static_cast<int>(inputs.size() + nodes.size()); }
  const op::TensorType& type(int value) const {
    const auto n = static_cast<std::size_t>(value);
    return n < inputs.size() ? inputs[n] : nodes[n - inputs.size()].type;
  }
  const Shape& space() const { return type(outputs.front()).shape; }
  bool has_matmul() const { return !nodes.empty() && std::holds_alternative<op::Matmul>(nodes.front().op); }
};

}  // namespace strata::cube
