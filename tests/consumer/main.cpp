#include <strata/strata.hpp>

int main() {
  using namespace strata;
  const auto a = Tensor<2>::from({{1, 2}, {3, 4}}, Device::cpu());
  const auto sum = (a.matmul(a) + 1.0).sum().item();
  return sum == 7 + 10 + 15 + 22 + 4 ? 0 : 1;
}
