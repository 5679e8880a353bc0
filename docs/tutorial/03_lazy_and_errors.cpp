// What a lazy device does when, and what happens to mistakes.
#include <iostream>

#include "strata/strata.hpp"

int main() {
  using namespace strata;
  const Device device = Device::cpu();
  const auto a = Tensor<2>::random({256, 256}, device), b = Tensor<2>::random({256, 256}, device);

  // Nothing runs yet: the product and the operations after it become one kernel when they are read.
  const auto c = (a.matmul(b) + 1.0).relu();
  auto pending = c.into_data_async();  // asks for it without waiting
  const TensorData data = pending.get();
  std::cout << "launches so far: " << device.statistics().launches << ", elements: " << data.size() << "\n";

  // Several tensors are read together: the device is drained once, and the host waits once.
  const auto [sum, largest] = read_all(c.sum(), c.max());
  std::cout << "sum " << sum.as<float>()[0] << ", largest " << largest.as<float>()[0] << "\n";

  // A caller's mistake throws at once, says what is wrong, and leaves everything as it was.
  try {
    a.matmul(Tensor<2>::zeros({3, 3}, device));
    return 1;
  } catch (const ShapeError& e) {
    std::cout << e.what() << "\n";
  }
  // A device's failure reaches whoever reads what it would have made, and nobody else.
  try {
    (Tensor<1>::zeros({std::int64_t{1} << 48}, device) + 1.0).into_data();
    return 1;
  } catch (const OutOfMemoryError& e) {
    std::cout << e.what() << "\n";
  }
  return c.sum().item() > 0 ? 0 : 1;
}
