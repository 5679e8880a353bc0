#include "autodiff/autodiff.hpp"

#include <array>

#include <fmt/format.h>

#include "autodiff/node.hpp"
#include "strata/error.hpp"
#include "trace/span.hpp"

namespace strata::autodiff {
namespace {

/// Calls `f` with the inner values of `inputs`; no allocation for the usual few.
template <class F>
auto with_inner(backend::Inputs inputs, F&& f) {
  constexpr std::size_t usual = 3;
  if (inputs.size() <= usual) {
    std::array<ValueRef, usual> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = cast_value(inputs[i]).inner;
    return f(backend::Inputs(values.data(), inputs.size()));
  }
  std::vector<ValueRef> values;
  for (const auto& v : inputs) values.push_back(cast_value(v).inner);
  return f(backend::Inputs(values));
}

RecipeRef recipe_for(const op::Operation& op, backend::Inputs inputs, std::uint32_t depth) {
  std::vector<Saved> saved;
  for (const auto& input : inputs) saved.push_back(save(cast_value(input)));
  return RecipeRef(new Recipe(op, std::move(saved), depth));
}

Autodiff* autodiff_of(const ValueRef& value) { return dynamic_cast<Autodiff*>(&value->backend); }

Autodiff& require_autodiff(const ValueRef& value, std::string_view what) {
  if (auto* home = autodiff_of(value)) return *home;
  throw DeviceError(
      fmt::format("[{}] {} lives on {}, which tracks no gradients; create it on a device made with "
                  "autodiff()",
                  what, backend::type_of(*value).to_string(), value->backend.name()));
}

}  // namespace

Autodiff::Autodiff(backend::Backend& inner, Checkpointing checkpointing)
    : inner_(inner), checkpointing_(checkpointing), name_(fmt::format("autodiff<{}>", inner.name())) {}

backend::Values Autodiff::execute(const op::Operation& op, backend::Inputs inputs) {
  trace::Span span("autodiff", "execute");
  if (span.recording()) span.field("op", op::name_of(op));
  auto values =
      with_inner(inputs, [&](backend::Inputs inner_inputs) { return inner_.execute(op, inner_inputs); });
  const auto last = values.size() > 1 ? values[values.size() - 1] : ValueRef();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = wrap(op, inputs, std::move(values[i]), i, last);
  return values;
}

ValueRef Autodiff::wrap(const op::Operation& op, backend::Inputs inputs, ValueRef made, std::size_t index,
                        const ValueRef& last) {
  bool tracked = false;
  std::uint32_t depth = 0;
  for (const auto& input : inputs) {
    if (const auto* node = cast_value(input).node.get()) {
      tracked = true;
      depth = std::max(depth, node->depth);
    }
  }
  if (!tracked || !is_float(made->dtype)) return lift(std::move(made));
  ++depth;
  RecipeRef recipe;
  if (checkpointing_ == Checkpointing::balanced && is_memory_bound(op))
    recipe = recipe_for(op, inputs, depth);
  auto node = record(op, inputs, made, index, last, depth, recipe);
  return ValueRef(new AutodiffValue(*this, std::move(made), std::move(node), std::move(recipe)));
}

ValueRef Autodiff::lift(ValueRef inner_value) {
  return ValueRef(new AutodiffValue(*this, std::move(inner_value)));
}

ValueRef Autodiff::from_data(const TensorData& data) { return lift(inner_.from_data(data)); }
Future<TensorData> Autodiff::into_data(const ValueRef& value) {
  return inner_.into_data(cast_value(value).inner);
}
TensorData Autodiff::read(const ValueRef& value) { return inner_.read(cast_value(value).inner); }
std::vector<Future<TensorData>> Autodiff::into_data_all(backend::Inputs values) {
  return with_inner(values, [&](backend::Inputs inner_values) { return inner_.into_data_all(inner_values); });
}
std::vector<TensorData> Autodiff::read_all(backend::Inputs values) {
  return with_inner(values, [&](backend::Inputs inner_values) { return inner_.read_all(inner_values); });
}
void Autodiff::sync() { inner_.sync(); }

ValueRef track(const ValueRef& value) {
  auto& home = require_autodiff(value, "require_grad");
  if (!is_float(value->dtype)) {
    throw DTypeError(fmt::format("[require_grad] {} has no gradient: only floats have one",
                                 backend::type_of(*value).to_string()));
  }
  const auto& given = cast_value(value);
  if (given.node) {
    if (given.node->is_leaf()) return value;
    throw ArgumentError(
        fmt::format("[require_grad] {} is the result of tracked operations; detach() it to start a new "
                    "graph, or retain_grad() it to keep its gradient",
                    backend::type_of(*value).to_string()));
  }
  auto wrapped = given.inner;
  if (autodiff_of(wrapped) && !is_tracked(wrapped)) wrapped = track(wrapped);
  return ValueRef(new AutodiffValue(home, std::move(wrapped), NodeRef(new Leaf(backend::type_of(*value)))));
}

bool is_tracked(const ValueRef& value) { return autodiff_of(value) && cast_value(value).node; }

ValueRef detach(const ValueRef& value) {
  auto& home = require_autodiff(value, "detach");
  const auto& given = cast_value(value);
  auto under = autodiff_of(given.inner) ? detach(given.inner) : given.inner;
  return !given.node && under == given.inner ? value : home.lift(std::move(under));
}

ValueRef inner(const ValueRef& value) {
  require_autodiff(value, "inner");
  return cast_value(value).inner;
}

void retain_grad(const ValueRef& value) {
  require_autodiff(value, "retain_grad");
  const auto& node = cast_value(value).node;
  if (!node) {
    throw ArgumentError(fmt::format("[retain_grad] {} is not tracked, so it gets no gradient",
                                    backend::type_of(*value).to_string()));
  }
  node->keeps_gradient.store(true, std::memory_order_relaxed);
}

}  // namespace strata::autodiff
