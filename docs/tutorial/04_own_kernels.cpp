// A kernel of one's own: written once, an operation on every device, with a gradient.
#include <iostream>

#include "strata/strata.hpp"

using namespace strata;
using namespace strata::lang;

/// y = x / (1 + |x|), and its derivative times g. The lambdas run once and record; loops and ifs of C++ are
/// decided then, for_ and if_ are of the kernel.
const auto squash = kernel("squash", [](In<f32> x, Out<f32> y) {
  const auto i = absolute_pos();
  if_(i < y.len(), [&] { y[i] = x[i] / (1 + abs(x[i])); });
});
const auto squash_gradient = kernel("squash_gradient", [](In<f32> x, In<f32> g, Out<f32> dx) {
  const auto i = absolute_pos();
  if_(i < dx.len(), [&] {
    const Value<f32> scale = 1 + abs(x[i]);
    dx[i] = g[i] / (scale * scale);
  });
});

Tensor<2> apply(const Tensor<2>& x) {
  return custom_gradient([](const Tensor<2>& v) { return launch(squash, v, output<2>(v.shape())); },
                         [](const Tensor<2>& g, const Tensor<2>&, const Tensor<2>& v) {
                           return std::tuple(launch(squash_gradient, v, g, output<2>(v.shape())));
                         },
                         x);
}

int main() {
  const auto x = Tensor<2>::from({{-3, -1, 0}, {1, 2, 7}}, Device().autodiff()).require_grad();
  const auto y = apply(x);
  std::cout << y << "\n" << x.grad(y.sum().backward()) << "\n";

  // An index that leaves a tensor reads and writes nothing; who reads the result learns of it.
  const auto shift = kernel("shift", [](In<f32> v, Out<f32> out) {
    const auto i = absolute_pos();
    if_(i < out.len(), [&] { out[i] = v[i + 1]; });
  });
  try {
    launch(shift, x, output<2>(x.shape())).into_data();
    return 1;
  } catch (const IndexError& e) {
    std::cout << e.what() << "\n";
  }
  return 0;
}
