// Softmax and norms by the row kernels of a GPU, interpreted, against flex.
#include <cmath>

#include "cube/harness.hpp"
#include "cube/normalise.hpp"

namespace strata::cube::test {
namespace {

class RowKernels : public CubeTest {
 protected:
  CubeBackend& cube() const override { return gpu_cube(); }

  /// Runs `op` on the same data in both places; views, where given, are taken of the first operand.
  void check(const op::Operation& op, const std::vector<TensorData>& data,
             const std::vector<op::Operation>& views = {}) const {
    const auto result = [&](backend::Backend& home) {
      std::vector<backend::ValueRef> inputs;
      for (const auto& d : data) inputs.push_back(home.from_data(d));
      for (const auto& v : views) inputs[0] = backend::execute(home, v, std::vector{inputs[0]})[0];
      EXPECT_TRUE(&home != &cube() || !cube().expands(op, {inputs.data(), inputs.size()}));
      return home.into_data(backend::execute(home, op, inputs)[0]).get();
    };
    const auto expected = result(flex::instance()), actual = result(cube());
    ASSERT_EQ(expected.shape(), actual.shape());
    ASSERT_EQ(expected.dtype(), actual.dtype());
    const auto e = expected.to_doubles(), a = actual.to_doubles();
    const DType t = data[0].dtype();
    const double eps = t == DType::f64   ? 0x1p-52
                       : t == DType::f32 ? 0x1p-23
                       : t == DType::f16 ? 0x1p-10
                                         : 0x1p-7;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (std::isnan(e[i])) {
        EXPECT_TRUE(std::isnan(a[i])) << op::name_of(op) << " " << i << ": " << a[i];
      } else if (std::isinf(e[i])) {
        EXPECT_EQ(e[i], a[i]) << op::name_of(op) << " " << i;
      } else {
        EXPECT_NEAR(e[i], a[i], 32 * eps * (1 + std::abs(e[i]))) << op::name_of(op) << " " << i;
      }
    }
  }
};

TEST_F(RowKernels, SoftmaxOfEveryLengthAndDtype) {
  for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const Shape& s :
         {Shape{3, 5}, Shape{70, 1}, Shape{2, 3, 64}, Shape{5, 300}, Shape{2, 2048}, Shape{1001}}) {
      for (bool log : {false, true}) check(op::Softmax{s.rank() - 1, log}, {random_data(t, s, -9, 9)});
    }
  }
}

TEST_F(RowKernels, NormsWithAndWithoutParameters) {
  for (DType t : {DType::f32, DType::f64, DType::f16}) {
    for (std::int64_t n : {7, 64, 300, 2048}) {
      for (auto kind : {op::NormKind::layer, op::NormKind::rms}) {
        std::vector<TensorData> inputs{random_data(t, {5, n})};
        for (unsigned parameters = 0; parameters < 3; ++parameters) {
          check(op::Norm{kind, 1e-5}, inputs);
          inputs.push_back(random_data(t, {n}, -2, 2, 7 + parameters));
        }
      }
    }
  }
}

TEST_F(RowKernels, ViewsOfEveryLayout) {
  const auto x = random_data(DType::f32, {6, 8, 40});
  const op::Softmax softmax{2, false};
  check(softmax, {x}, {op::Slice{{1, 0, 0}, {6, 8, 40}, {2, 1, 1}}});
  check(softmax, {x}, {op::Slice{{0, 0, 3}, {6, 8, 40}, {1, 1, 1}}});
  check(softmax, {x}, {op::Slice{{1, 0, 0}, {3, 8, 40}, {1, 1, 1}}});
  check(softmax, {x}, {op::Permute{{2, 0, 1}}});
  check(softmax, {x}, {op::Flip{{2}}});
  check(op::Softmax{1, false}, {random_data(DType::f32, {6, 1})}, {op::Expand{{6, 33}}});
}

TEST_F(RowKernels, RowsWithoutAnythingFinite) {
  const float inf = INFINITY;
  check(op::Softmax{1, false},
        {TensorData::from<float>({-inf, -inf, -inf, 1, -inf, 2, inf, 1, 0, NAN, 1, 2}, {4, 3})});
  check(op::Softmax{0, false}, {TensorData::from<float>({}, {0})});
}

TEST_F(RowKernels, LongRowsAndOtherAxesAreExpanded) {
  const auto expands = [&](const op::Operation& op, const Shape& s) {
    const auto x = put(random_data(DType::f32, s));
    return cube().expands(op, {&x, 1});
  };
  EXPECT_TRUE(expands(op::Softmax{0, false}, {4, 5}));
  EXPECT_TRUE(expands(op::Softmax{1, false}, {1, 5000}));
  EXPECT_FALSE(expands(op::Softmax{1, false}, {1, 4096}));
  EXPECT_FALSE(expands(op::Norm{op::NormKind::rms, 0}, {4, 5}));
}

}  // namespace
}  // namespace strata::cube::test
