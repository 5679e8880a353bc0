/// Families in their forms for a GPU, interpreted, against flex.
#pragma once

#include <cmath>

#include "cube/harness.hpp"

namespace strata::cube::test {

/// Data, and the views to take of it.
struct Operand {
  TensorData data;
  std::vector<op::Operation> views{};

  backend::ValueRef on(backend::Backend& backend) const {
    auto value = backend.from_data(data);
    for (const auto& view : views) value = backend::execute(backend, view, {&value, 1})[0];
    return value;
  }
};

class GpuFamilies : public CubeTest {
 protected:
  CubeBackend& cube() const override { return gpu_cube(); }

  static std::vector<TensorData> results(backend::Backend& backend, const op::Operation& op,
                                         const std::vector<Operand>& operands) {
    std::vector<backend::ValueRef> inputs;
    for (const auto& o : operands) inputs.push_back(o.on(backend));
    std::vector<TensorData> data;
    for (const auto& v : backend::execute(backend, op, inputs)) data.push_back(backend.into_data(v).get());
    return data;
  }

  /// Bits for bits, or where `relative` is given as near as that. No host call may be made.
  void agrees(const op::Operation& op, const std::vector<Operand>& operands, double relative = 0) const {
    std::string what(op::name_of(op));
    for (const auto& o : operands) what += ' ' + op::TensorType{o.data.dtype(), o.data.shape()}.to_string();
    SCOPED_TRACE(what);
    const auto calls = cube().client().counters().host_calls;
    const auto got = results(cube(), op, operands), expected = results(flex::instance(), op, operands);
    EXPECT_EQ(cube().client().counters().host_calls, calls);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (relative == 0) {
        EXPECT_TRUE(same(got[i], expected[i]));
      } else {
        near(got[i], expected[i], relative);
      }
    }
  }

 private:
  static void near(const TensorData& got, const TensorData& expected, double relative) {
    ASSERT_EQ(got.dtype(), expected.dtype());
    ASSERT_EQ(got.shape(), expected.shape());
    const auto x = got.to_doubles(), y = expected.to_doubles();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      ASSERT_NEAR(x[i], y[i], relative * std::max(1.0, std::abs(y[i]))) << "at " << i;
    }
  }
};

inline op::Permute permute(std::initializer_list<std::int64_t> order) { return {Axes(order)}; }
inline op::Flip flip(std::initializer_list<std::int64_t> axes) { return {Axes(axes)}; }
inline op::Expand expand(std::initializer_list<std::int64_t> shape) { return {Shape(shape)}; }

/// With ties, and of floats NaN, infinities and zeros of both signs.
inline TensorData tied_data(DType dtype, const Shape& shape, unsigned seed = 1) {
  const auto data = random_data(dtype, shape, -3, 3, seed);
  return visit_dtype(dtype, [&]<class T>() {
    if constexpr (!is_float(dtype_of<T>())) {
      return data;
    } else {
      auto values = data.to_vector<T>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        constexpr double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
        const auto v = static_cast<float>(values[i]);
        values[i] = base::convert<T>(i % 7 == 3 ? special[(i / 7 + seed) % 5] : std::round(v));
      }
      return TensorData::from<T>(values, shape);
    }
  });
}

}  // namespace strata::cube::test
