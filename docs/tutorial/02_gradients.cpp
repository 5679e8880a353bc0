// A line fitted by gradient descent, and a second derivative.
#include <cmath>
#include <iostream>

#include "strata/strata.hpp"

int main() {
  using namespace strata;
  const Device device = Device().autodiff();
  manual_seed(1);
  const auto x = Tensor<2>::random({64, 1}, -1, 1, device);
  const auto y = x * 3.0 + 0.5;

  auto w = Tensor<2>::zeros({1, 1}, device).require_grad();
  auto b = Tensor<1>::zeros({1}, device).require_grad();
  for (int step = 0; step < 200; ++step) {
    const auto loss = (x.matmul(w) + b - y).square().mean();
    const auto gradients = loss.backward();
    // Gradients live on the device under autodiff; a step starts new leaves there.
    w = (w.inner() - w.grad(gradients) * 0.3).to_device(device).require_grad();
    b = (b.inner() - b.grad(gradients) * 0.3).to_device(device).require_grad();
  }
  std::cout << "w = " << w << ", b = " << b << "\n";

  // Autodiff stacks: gradients of gradients.
  const auto t = Tensor<1>::from({2, 3}, device.autodiff()).require_grad();
  const auto first = t.grad((t * t * t).sum().backward());
  const auto second = t.inner().grad(first.sum().backward());
  std::cout << "(t^3)'' = " << second << "\n";

  const bool right = std::abs(w.to_vector<float>()[0] - 3) < 1e-3 &&
                     std::abs(b.to_vector<float>()[0] - 0.5) < 1e-3 &&
                     second.to_vector<float>() == std::vector<float>{12, 18};
  return right ? 0 : 1;
}
