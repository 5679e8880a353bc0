/// Cube backends for tests: put data, run operations, get data.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/convert.hpp"
#include "cube/cube_backend.hpp"
#include "flex/flex.hpp"
#include "interpreted/client.hpp"
#include "runtime/cpu/cpu_client.hpp"

namespace strata::cube::test {

inline constexpr DType all_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                                       DType::i64, DType::i32, DType::u8,  DType::boolean};

/// Values in [low, high], the same for a seed; integers for integer dtypes.
inline TensorData random_data(DType dtype, const Shape& shape, double low = -3, double high = 3,
                              unsigned seed = 1) {
  return visit_dtype(dtype, [&]<class T>() {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> distribution(low, high);
    const auto bytes = TensorData::allocate(static_cast<std::size_t>(shape.product()) * sizeof(T));
    auto* values = reinterpret_cast<T*>(bytes.get());
    for (std::int64_t i = 0; i < shape.product(); ++i) values[i] = base::convert<T>(distribution(generator));
    return TensorData(dtype, shape, bytes);
  });
}

/// This machine's CPU.
inline CubeBackend& cpu_cube() {
  static auto* backend = new CubeBackend(runtime::cpu::client(), flex::execute_on_host);
  return *backend;
}
/// A GPU whose kernels are interpreted.
inline CubeBackend& gpu_cube() {
  static auto* client = new interpreted::Client(interpreted::gpu_properties());
  static auto* backend = new CubeBackend(*client, flex::execute_on_host);
  return *backend;
}

class CubeTest : public ::testing::Test {
 protected:
  virtual CubeBackend& cube() const { return cpu_cube(); }
  backend::ValueRef put(const TensorData& data) const { return cube().from_data(data); }
  template <Element T>
  backend::ValueRef put(std::initializer_list<T> values, const Shape& shape) const {
    return put(TensorData::from<T>(values, shape));
  }
  TensorData get(const backend::ValueRef& v) const { return cube().into_data(v).get(); }
  backend::ValueRef run(const op::Operation& op, std::vector<backend::ValueRef> inputs = {}) const {
    return backend::execute(cube(), op, inputs)[0];
  }
  template <Element T>
  std::vector<T> values(const backend::ValueRef& v) const {
    return get(v).to_vector<T>();
  }
};

/// Equal bit for bit, except that any NaN equals any NaN.
inline ::testing::AssertionResult same(const TensorData& a, const TensorData& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return ::testing::AssertionFailure() << name_of(a.dtype()) << a.shape().to_string() << " against "
                                         << name_of(b.dtype()) << b.shape().to_string();
  }
  const auto x = a.to_doubles(), y = b.to_doubles();
  const std::size_t size = size_of(a.dtype());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::memcmp(a.bytes() + i * size, b.bytes() + i * size, size) == 0 || (x[i] != x[i] && y[i] != y[i]))
      continue;
    return ::testing::AssertionFailure() << "element " << i << ": " << x[i] << " against " << y[i];
  }
  return ::testing::AssertionSuccess();
}

}  // namespace strata::cube::test
