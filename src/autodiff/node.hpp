/// The graph of tracked values. It hangs off the values themselves: a value owns the node that made it, a
/// node owns its parents, and there is no table besides. Nodes never change once they are recorded, so
/// threads may share them.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "autodiff/checkpoint.hpp"
#include "autodiff/counted.hpp"
#include "autodiff/rules.hpp"
#include "backend/backend.hpp"

namespace strata::autodiff {

using backend::Ref;
using backend::Value;
using backend::ValueRef;

class Node;
using NodeRef = Ref<Node>;

/// One input of a recorded operation.
struct Edge {
  NodeRef parent;  ///< null when the input is untracked
  Saved saved;     ///< empty unless the gradient rule asked for it
};

/// How one tracked value came to be: a leaf, or an operation and its inputs.
class Node : public Counted {
 public:
  const op::TensorType type;
  /// 0 for leaves, else one more than the deepest parent: descending depth is a reverse topological order.
  const std::uint32_t depth;
  /// Set on leaves and by retain_grad: the gradient is kept when backward has gone past.
  std::atomic<bool> keeps_gradient{false};

  virtual bool is_leaf() const { return false; }
  /// Gives each tracked parent its part of `step.gradient()`.
  virtual void differentiate(Step& step) const = 0;
  std::span<const Edge> edges() const { return edges_; }
  const Saved& output() const { return output_; }

 protected:
  Node(const op::TensorType& made, std::uint32_t level) : type(made), depth(level) {}

  std::span<const Edge> edges_;
  Saved output_;
};

/// A value made by `track`.
class Leaf final : public Node {
 public:
  explicit Leaf(const op::TensorType& made) : Node(made, 0) {
    keeps_gradient.store(true, std::memory_order_relaxed);
  }
  bool is_leaf() const override { return true; }
  void differentiate(Step&) const override {}
};

/// A recorded operation. `Rule` is the family, or what is kept of it for `differentiate(rule, step)`.
template <class Rule, class EdgeList>
class Operand final : public Node {
 public:
  Operand(const op::TensorType& made, std::uint32_t level, Rule what, EdgeList edges, Saved output)
      : Node(made, level), rule_(std::move(what)), list_(std::move(edges)) {
    edges_ = list_;
    output_ = std::move(output);
  }
  void differentiate(Step& step) const override { autodiff::differentiate(rule_, step); }

 private:
  Rule rule_;
  EdgeList list_;
};

/// A tensor of an Autodiff backend.
class AutodiffValue final : public Value {
 public:
  AutodiffValue(backend::Backend& home, ValueRef wrapped, NodeRef made_by = {}, RecipeRef how = {})
      : Value(home, wrapped->dtype, wrapped->shape),
        inner(std::move(wrapped)),
        node(std::move(made_by)),
        recipe(std::move(how)) {}

  const ValueRef inner;
  const NodeRef node;      ///< null when untracked
  const RecipeRef recipe;  ///< set when backward is to recompute this value instead of keeping it
};

/// For values known to be of an Autodiff.
inline const AutodiffValue& cast_value(const ValueRef& v) { return static_cast<const AutodiffValue&>(*v); }
/// What backward keeps of `value`: its recipe where it has one.
inline Saved save(const AutodiffValue& value) {
  return value.recipe ? Saved{{}, value.recipe} : Saved{value.inner, {}};
}

/// The node of `op` with `inputs` (values of one Autodiff, at least one of them tracked) and `output`, its
/// result number `index`, of the inner backend; `last` is the last of several results, else null. `recipe` is
/// how to make `output` again, or null to keep it where the rule needs it.
NodeRef record(const op::Operation& op, backend::Inputs inputs, const ValueRef& output, std::size_t index,
               const ValueRef& last, std::uint32_t depth, const RecipeRef& recipe);

}  // namespace strata::autodiff
