/// What the tests of composed functions share: small tensors, comparisons, and gradients against central
/// differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/devices.hpp"

namespace strata::test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ints = std::vector<std::int64_t>;
using Bools = std::vector<bool>;
inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

class FunctionFixture : public OnEveryDevice {
 protected:
  template <class T>
  static void expect_near(const T& tensor, const Floats& wanted, float tolerance = 1e-5f) {
    const auto got = tensor.template to_vector<float>();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(wanted[i])) {
        EXPECT_TRUE(std::isnan(got[i])) << i;
      } else if (std::isinf(wanted[i])) {
        EXPECT_EQ(got[i], wanted[i]) << i;
      } else {
        EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0f, std::abs(wanted[i]))) << i;
      }
    }
  }
  Tensor<1> vector(const std::vector<float>& values) const {
    return Tensor<1>::from(values, {static_cast<std::int64_t>(values.size())}, device());
  }
  Tensor<1, Int> integers(const Ints& values) const {
    return Tensor<1, Int>::from(values, {static_cast<std::int64_t>(values.size())}, device());
  }
  Tensor<2> ramp(std::int64_t rows, std::int64_t columns) const {
    return Tensor<1>::arange(0, rows * columns, 1, device()).reshape<2>({rows, columns});
  }
  template <class T>
  static Ints ints(const T& tensor) {
    return tensor.template to_vector<std::int64_t>();
  }
  template <class T>
  static Floats floats(const T& tensor) {
    return tensor.template to_vector<float>();
  }
  template <class T>
  static Bools bools(const T& tensor) {
    return tensor.template to_vector<bool>();
  }
};

/// f in the smaller floats, against f in f64 of the same numbers: a few roundings of the dtype apart.
template <int D, class F>
void expect_every_float(const Device& device, const Shape& shape, F f, double low = -1, double high = 1) {
  for (const auto& [dtype, epsilon] :
       {std::pair{DType::f32, 0x1p-23}, {DType::f16, 0x1p-10}, {DType::bf16, 0x1p-7}}) {
    manual_seed(9);
    const auto x = Tensor<D>::random(shape, low, high, device, dtype);
    const auto y = f(x), wanted = f(x.cast(DType::f64));
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_TRUE(y.cast(DType::f64).all_close(wanted, 8 * epsilon, 8 * epsilon)) << name_of(dtype) << "\n"
                                                                                << y << "\n"
                                                                                << wanted;
  }
}

/// A weighted sum of all elements, with weights that are all different.
template <int D>
Tensor<0> weighted_sum(const Tensor<D>& y) {
  const auto flat = y.template reshape<1>({-1});
  return (flat * Tensor<1>::arange(1, static_cast<double>(flat.size()) + 1, 1, y.device(), DType::f64).cos())
      .sum();
}
/// The gradient of a weighted sum of f(x), x uniform in [low, high), against central differences in f64.
template <int D, class F>
void expect_gradient(const Device& device, const Shape& shape, F f, double low = -1, double high = 1) {
  manual_seed(7);
  const auto start = Tensor<D>::random(shape, low, high, device, DType::f64).template to_vector<double>();
  const auto tracked = Tensor<D>::from(start, shape, device.autodiff()).require_grad();
  const auto gradient = tracked.grad(weighted_sum(f(tracked)).backward()).template to_vector<double>();
  constexpr double step = 1e-5;
  const auto plain = Device::flex();
  for (std::size_t i = 0; i < start.size(); ++i) {
    const auto at = [&](double by) {
      auto moved = start;
      moved[i] += by;
      return weighted_sum(f(Tensor<D>::from(moved, shape, plain))).item();
    };
    const double wanted = (at(step) - at(-step)) / (2 * step);
    EXPECT_NEAR(gradient[i], wanted, 1e-7 * std::max(1.0, std::abs(wanted))) << "element " << i;
  }
}

}  // namespace strata::test
