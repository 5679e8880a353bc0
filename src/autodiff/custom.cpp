// Functions whose gradients the caller knows, and kernels without one.

#include <fmt/format.h>

#include "autodiff/autodiff.hpp"
#include "autodiff/node.hpp"
#include "strata/error.hpp"

namespace strata::autodiff {
namespace {

void check(const ValueRef& gradient, const op::TensorType& wanted, std::size_t i,
           const backend::Backend& home) {
  const auto given = backend::type_of(*gradient);
  const auto complaint = [&] {
    return fmt::format("[custom_gradient] the gradient of input {} is {} on {}; it must be {} on {}", i,
                       given.to_string(), gradient->backend.name(), wanted.to_string(), home.name());
  };
  if (&gradient->backend != &home) throw DeviceError(complaint());
  if (given.shape != wanted.shape) throw ShapeError(complaint());
  if (given.dtype != wanted.dtype) throw DTypeError(complaint());
}

}  // namespace

void differentiate(const Custom& op, Step& step) {
  const auto gradients = op.gradients(step.gradient(), op.result, op.inputs);
  if (gradients.size() != step.inputs()) {
    throw ArgumentError(
        fmt::format("[custom_gradient] {} gradients for {} inputs", gradients.size(), step.inputs()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!step.needs(i)) continue;
    check(gradients[i], step.input_type(i), i, op.result->backend);
    step.give(i, gradients[i]);
  }
}

void differentiate(const op::CustomKernel& op, Step&) {
  throw ArgumentError(
      fmt::format("[{}] is a kernel, whose gradient nobody knows: launch it within custom_gradient, which "
                  "says what it is",
                  op.call->kernel.name()));
}

ValueRef custom_gradient(const std::vector<ValueRef>& inputs, const Function& function,
                         const GradientFunction& gradients) {
  auto& backend = inputs.at(0)->backend;
  for (const auto& input : inputs) {
    if (&input->backend == &backend) continue;
    throw DeviceError(
        fmt::format("[custom_gradient] inputs live on {} and on {}", backend.name(), input->backend.name()));
  }
  auto* home = dynamic_cast<Autodiff*>(&backend);
  if (!home) return function(inputs);
  std::vector<ValueRef> wrapped;
  std::vector<Edge> edges(inputs.size());
  std::uint32_t depth = 0;
  bool tracked = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& input = cast_value(inputs[i]);
    wrapped.push_back(input.inner);
    edges[i].parent = input.node;
    if (!input.node) continue;
    tracked = true;
    depth = std::max(depth, input.node->depth);
  }
  auto result = function(wrapped);
  if (&result->backend != &home->inner_backend()) {
    throw DeviceError(
        fmt::format("[custom_gradient] the function was given inputs on {} but its result lives on {}",
                    home->inner_backend().name(), result->backend.name()));
  }
  if (!tracked || !is_float(result->dtype)) return home->lift(std::move(result));
  NodeRef node(new Operand<Custom, std::vector<Edge>>(
      backend::type_of(*result), depth + 1, {gradients, result, std::move(wrapped)}, std::move(edges), {}));
  return ValueRef(new AutodiffValue(*home, std::move(result), std::move(node)));
}

}  // namespace strata::autodiff
