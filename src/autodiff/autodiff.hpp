/// Reverse-mode differentiation as a decorator over any backend, itself included: Autodiff over Autodiff over
/// Flex computes second derivatives.
///
/// Values are immutable and so is the graph behind them: `backward` consumes nothing and may run on several
/// threads at once. What nobody asks to track is only wrapped.
#pragma once

#include <string>

#include "autodiff/gradients.hpp"
#include "autodiff/rules.hpp"
#include "backend/backend.hpp"
#include "strata/device.hpp"

namespace strata::autodiff {

using backend::ValueRef;

class Autodiff final : public backend::Backend {
 public:
  /// `inner` must outlive this and every value of it.
  explicit Autodiff(backend::Backend& inner, Checkpointing checkpointing = Checkpointing::disabled);
  Autodiff(const Autodiff&) = delete;  // an Autodiff over an Autodiff takes it as a Backend&
  Autodiff& operator=(const Autodiff&) = delete;

  /// Runs `op` on the inner backend, then records a step when an input is tracked and the result is float.
  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override;
  backend::ValueRef from_data(const TensorData& data) override;
  Future<TensorData> into_data(const ValueRef& value) override;
  TensorData read(const ValueRef& value) override;
  std::vector<Future<TensorData>> into_data_all(backend::Inputs values) override;
  std::vector<TensorData> read_all(backend::Inputs values) override;
  void sync() override;
  /// "autodiff<flex>".
  std::string_view name() const override { return name_; }

  backend::Backend& inner_backend() const { return inner_; }
  /// A value of the inner backend as an untracked one of this; copies no elements.
  ValueRef lift(ValueRef inner_value);

 private:
  /// `last` is the last of several results, which some gradient rules keep.
  ValueRef wrap(const op::Operation& op, backend::Inputs inputs, ValueRef made, std::size_t index,
                const ValueRef& last);

  backend::Backend& inner_;
  const Checkpointing checkpointing_;
  const std::string name_;
};

// The functions below throw DeviceError for a value whose backend is not an Autodiff, unless they say
// otherwise.

/// `value` as a leaf, whose gradient `backward` computes. Where Autodiffs are stacked, untracked values
/// become leaves on every level. Returns `value` itself when it is a leaf already. Throws DTypeError unless
/// it is float, ArgumentError when it is the result of tracked operations (`detach` it first).
ValueRef track(const ValueRef& value);
/// Whether operations on `value` are recorded; false as well where nothing is ever tracked.
bool is_tracked(const ValueRef& value);
/// The same elements without a graph, on every level of a stack of Autodiffs.
ValueRef detach(const ValueRef& value);
/// The value under one Autodiff.
ValueRef inner(const ValueRef& value);
/// Makes every later `backward` through `value` keep its gradient. Throws ArgumentError when it is untracked.
void retain_grad(const ValueRef& value);

/// Gradients of the sum of `root`'s elements with respect to every tracked value it was computed from.
/// Throws DTypeError unless `root` is float, ArgumentError when it is untracked.
Gradients backward(const ValueRef& root);
/// The same of the sum of `root * seed`; `seed` lives on the inner backend and has root's dtype and shape
/// (ShapeError, DTypeError, DeviceError otherwise).
Gradients backward(const ValueRef& root, const ValueRef& seed);

/// `function` of `inputs` (at least one), run on the inner backend and differentiated there by `gradients`
/// alone; just `function(inputs)` where nothing is tracked. Throws DeviceError when inputs or result live
/// elsewhere. `backward` throws ArgumentError, DeviceError, ShapeError or DTypeError for gradients that do
/// not fit the inputs.
ValueRef custom_gradient(const std::vector<ValueRef>& inputs, const Function& function,
                         const GradientFunction& gradients);

}  // namespace strata::autodiff
