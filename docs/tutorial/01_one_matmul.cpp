// One matmul on every device of this machine.
#include <iostream>

#include "strata/strata.hpp"

int main() {
  using namespace strata;
  for (const auto& listed : Device::list()) {
    if (!listed.available) continue;
    const Device device = Device::named(listed.name);
    // Rank and kind are part of the type; the shape and the dtype (f32 unless said otherwise) are not.
    const auto a = Tensor<2>::from({{1, 2}, {3, 4}}, device);
    const auto b = Tensor<2>::from({{5, 6}, {7, 8}}, device);
    const auto c = a.matmul(b);
    std::cout << device.name() << "\n" << c << "\n";  // reading waits for the result
    if (c.to_vector<float>() != std::vector<float>{19, 22, 43, 50}) return 1;
  }
  return 0;
}
