/// Gradients against central differences, for any backend: what is checked is an Autodiff built over it.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "strata/device.hpp"

namespace strata::testing {

using backend::ValueRef;

/// A differentiable function of float tensors, written with the bridge for values of any backend. It is
/// called with values of several backends; constants it makes belong on its arguments' backend.
using Function = std::function<ValueRef(const std::vector<ValueRef>&)>;

/// A function and a point where it is smooth.
struct GradientCase {
  std::string name;
  Function function;
  std::vector<TensorData> inputs;  ///< f64
};
std::ostream& operator<<(std::ostream& out, const GradientCase& c);

/// Every differentiable family and kind, also on broadcast, permuted, sliced, flipped and expanded inputs.
const std::vector<GradientCase>& gradient_cases();

/// Fails the running test unless the gradients of a weighted sum of c.function's output, computed by
/// Autodiff(inner, checkpointing), equal central differences taken on `inner`.
void expect_gradients(backend::Backend& inner, const GradientCase& c, Checkpointing checkpointing);
/// The same one order up: the gradient of a weighted sum of the gradients, computed by Autodiff over Autodiff
/// over `inner`, against central differences of gradients computed by one Autodiff.
void expect_second_derivatives(backend::Backend& inner, const GradientCase& c, Checkpointing checkpointing);

/// Fails the running test unless the gradients computed with the case's inputs as `dtype` (any float) agree,
/// to that dtype's precision, with those computed in f64 from the same numbers.
void expect_gradients_in(backend::Backend& inner, const GradientCase& c, DType dtype);

/// Numbers of [low, high), the same for a seed everywhere.
TensorData random_f64(const Shape& shape, std::uint64_t seed, double low = 0.25, double high = 1.75);
std::vector<double> read(const ValueRef& v);

}  // namespace strata::testing
