#include <queue>

#include <fmt/format.h>

#include "autodiff/autodiff.hpp"
#include "autodiff/node.hpp"
#include "strata/error.hpp"
#include "trace/span.hpp"

namespace strata::autodiff {
namespace {

std::string describe(const ValueRef& v) { return backend::type_of(*v).to_string(); }

/// One backward pass. Nodes are taken by descending depth, so a node's gradient is complete when its turn
/// comes and only the frontier is in memory. Everything it writes is its own: passes over one graph need no
/// lock.
class Sweep {
 public:
  void add(const NodeRef& node, const ValueRef& gradient) {
    auto& sum = frontier_[node.get()];
    if (sum) {
      sum = bridge::add(sum, gradient);
    } else {
      sum = gradient;
      order_.push(node.get());
    }
  }
  Gradients run();
  Recomputed& recomputed() { return recomputed_; }

 private:
  struct Shallower {
    bool operator()(const Node* a, const Node* b) const { return a->depth < b->depth; }
  };
  std::unordered_map<const Node*, ValueRef> frontier_;
  std::priority_queue<Node*, std::vector<Node*>, Shallower> order_;
  Recomputed recomputed_;
};

class SweepStep final : public Step {
 public:
  SweepStep(Sweep& sweep, const Node& node, ValueRef gradient)
      : sweep_(sweep), node_(node), gradient_(std::move(gradient)) {}
  const ValueRef& gradient() const override { return gradient_; }
  std::size_t inputs() const override { return node_.edges().size(); }
  bool needs(std::size_t i) const override { return static_cast<bool>(node_.edges()[i].parent); }
  const op::TensorType& input_type(std::size_t i) const override { return node_.edges()[i].parent->type; }
  ValueRef input(std::size_t i) override { return sweep_.recomputed().get(node_.edges()[i].saved); }
  ValueRef output() override { return sweep_.recomputed().get(node_.output()); }
  void give(std::size_t i, const ValueRef& gradient) override {
    sweep_.add(node_.edges()[i].parent, gradient);
  }

 private:
  Sweep& sweep_;
  const Node& node_;
  const ValueRef gradient_;
};

Gradients Sweep::run() {
  Gradients kept;
  while (!order_.empty()) {
    Node* node = order_.top();
    order_.pop();
    recomputed_.drop_below(node->depth);
    const auto at = frontier_.find(node);
    SweepStep step(*this, *node, std::move(at->second));
    frontier_.erase(at);
    if (node->keeps_gradient.load(std::memory_order_relaxed)) kept.add(*node, step.gradient());
    node->differentiate(step);
  }
  return kept;
}

const AutodiffValue& require_root(const ValueRef& root) {
  inner(root);  // throws where nothing is tracked
  if (!is_float(root->dtype)) {
    throw DTypeError(fmt::format("[backward] {} is not float, so it has no gradients", describe(root)));
  }
  const auto& value = cast_value(root);
  if (!value.node) {
    throw ArgumentError(
        fmt::format("[backward] {} was not computed from a tracked tensor; call require_grad() on the "
                    "inputs whose gradients are wanted",
                    describe(root)));
  }
  return value;
}

Gradients sweep_from(const AutodiffValue& root, const ValueRef& seed) {
  trace::Span span("autodiff", "backward");
  Sweep sweep;
  sweep.add(root.node, seed);
  return sweep.run();
}

}  // namespace

Gradients backward(const ValueRef& root) {
  const auto& value = require_root(root);
  return sweep_from(value, bridge::fill(value.inner->backend, value.shape, value.dtype, 1));
}

Gradients backward(const ValueRef& root, const ValueRef& seed) {
  const auto& value = require_root(root);
  if (&seed->backend != &value.inner->backend) {
    throw DeviceError(
        fmt::format("[backward] the seed gradient lives on {}; for a root on {} it must live on {}",
                    seed->backend.name(), root->backend.name(), value.inner->backend.name()));
  }
  if (seed->shape != root->shape) {
    throw ShapeError(fmt::format("[backward] the seed gradient has shape {}, the root {}",
                                 seed->shape.to_string(), root->shape.to_string()));
  }
  if (seed->dtype != root->dtype) {
    throw DTypeError(fmt::format("[backward] the seed gradient is {}, the root {}", name_of(seed->dtype),
                                 name_of(root->dtype)));
  }
  return sweep_from(value, seed);
}

Gradients::Gradients() = default;
Gradients::~Gradients() = default;
Gradients::Gradients(Gradients&&) noexcept = default;
Gradients& Gradients::operator=(Gradients&&) noexcept = default;

void Gradients::add(Node& node, ValueRef gradient) {
  entries_[&node] = {NodeRef(&node), std::move(gradient)};
}

ValueRef Gradients::find(const ValueRef& value) const {
  inner(value);  // throws where nothing is tracked
  const auto& node = cast_value(value).node;
  if (!node)
    throw ArgumentError(fmt::format("[grad] {} is not tracked, so it has no gradient", describe(value)));
  const auto found = entries_.find(node.get());
  if (found != entries_.end()) return found->second.gradient;
  if (!node->keeps_gradient.load(std::memory_order_relaxed)) {
    throw ArgumentError(
        fmt::format("[grad] {} is not a leaf, so its gradient was not kept; call retain_grad() on it "
                    "before backward()",
                    describe(value)));
  }
  return {};
}

ValueRef Gradients::get(const ValueRef& value) const {
  if (auto gradient = find(value)) return gradient;
  throw ArgumentError(
      fmt::format("[grad] the root of this backward() does not depend on {}", describe(value)));
}

}  // namespace strata::autodiff
