/// Functions whose gradients the caller knows better than the chain rule, and gradients to look at or change
/// on their way.
#pragma once

#include <tuple>
#include <utility>

#include "strata/tensor.hpp"

namespace strata::inline v0 {

/// `f(inputs...)`, differentiated by `gradients` alone. Rounding that lets gradients straight through:
///
///     const auto y = custom_gradient([](const Tensor<2>& x) { return x.round(); },
///                                    [](const Tensor<2>& g, auto&&...) { return std::tuple(g); }, x);
///
/// Both run one autodiff level down, on `device().inner()`: `f` takes the inputs and returns a Tensor;
/// `gradients` takes the gradient of the result, the result and the inputs, and returns a tuple with the
/// gradient of each input, of its shape and dtype. Several threads may call them at once. On a device without
/// autodiff this is `f(inputs...)`. `backward()` throws ShapeError, DTypeError or DeviceError for a gradient
/// that does not fit its input.
template <class F, class G, int... D>
requires(sizeof...(D) > 0) auto custom_gradient(F f, G gradients, const Tensor<D>&... inputs) {
  using Result = decltype(f(inputs...));
  const auto unpacked = []<std::size_t... i>(const auto& call, const std::vector<detail::ValueRef>& values,
                                             std::index_sequence<i...>) {
    return call(Tensor<D>(values[i])...);
  };
  constexpr auto all = std::make_index_sequence<sizeof...(D)>();
  return Result(detail::custom_gradient(
      {inputs.value()...},
      [=](const std::vector<detail::ValueRef>& values) { return unpacked(f, values, all).value(); },
      [=](const detail::ValueRef& gradient, const detail::ValueRef& result,
          const std::vector<detail::ValueRef>& values) {
        const std::tuple<Tensor<D>...> made = unpacked(
            [&](const Tensor<D>&... each) { return gradients(Result(gradient), Result(result), each...); },
            values, all);
        return std::apply([](const auto&... each) { return std::vector{each.value()...}; }, made);
      }));
}

/// x, whose gradient goes through `f` on its way back: to clip it, to print it, to keep it.
template <int D, class F>
Tensor<D> on_gradient(const Tensor<D>& x, F f) {
  return custom_gradient([](const Tensor<D>& same) { return same; },
                         [f = std::move(f)](const Tensor<D>& gradient, const Tensor<D>&, const Tensor<D>&) {
                           return std::tuple<Tensor<D>>(f(gradient));
                         },
                         x);
}

}  // namespace strata::inline v0
