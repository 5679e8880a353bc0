// Statistics, products and activations. Values: by hand, or from NumPy 2 and SciPy 1.17.
#include "tensor/function_fixture.hpp"

namespace strata {
namespace {

using namespace test;

class StatisticsTest : public FunctionFixture {};
STRATA_ON_EVERY_DEVICE(StatisticsTest);

TEST_P(StatisticsTest, VarianceAndCovariance) {
  const auto x = Tensor<2>::from({{1, 2, 4}, {-1, 0, 1}}, device());
  const auto [variance, mean] = var_mean(x, 1);
  expect_near(variance, {7.0f / 3, 1});
  expect_near(mean, {7.0f / 3, 0});
  expect_near(cov(x), {7.0f / 3, 1.5f, 1.5f, 1});
  expect_near(cov(x, 0), {14.0f / 9, 1, 1, 2.0f / 3});
  expect_near(cov(x.slice({{}, {0, 1}})), {nan_value, nan_value, nan_value, nan_value});
  // Halves are computed in f32: these squares would overflow f16.
  const auto half = Tensor<2>::from({{-300, 300, 0}}, device(), DType::f16);
  EXPECT_EQ(cov(half * 0.5).to_float().at(0, 0).at(0, 0).item(), 22496);
}

TEST_P(StatisticsTest, NormsAndExtremes) {
  const auto x = Tensor<2>::from({{3, 0, -4}, {0, 0, 0}}, device());
  EXPECT_EQ(floats(l0_norm(x, 1)), (Floats{2, 0}));
  EXPECT_EQ(floats(l1_norm(x, 1)), (Floats{7, 0}));
  EXPECT_EQ(floats(l2_norm(x, 1)), (Floats{5, 0}));
  EXPECT_EQ(floats(max_abs_norm(x, 1)), (Floats{4, 0}));
  EXPECT_EQ(floats(min_abs_norm(x, 1)), (Floats{0, 0}));
  EXPECT_EQ(max_abs(x).item(), 4);
  EXPECT_EQ(floats(max_abs(x, 0)), (Floats{3, 0, 4}));
  EXPECT_EQ(max_abs(integers({-7, 3})).item(), 7);
  expect_near(normalize(x), {0.6f, 0, -0.8f, 0, 0, 0});
  expect_near(normalize(x, 1), {3.0f / 7, 0, -4.0f / 7, 0, 0, 0});
  expect_near(normalize(x, inf), {0.75f, 0, -1, 0, 0, 0});
  expect_near(normalize(x, 3, 1, 10), {0.3f, 0, -0.4f, 0, 0, 0});
  expect_near(normalize(x, 2, 0), {1, 0, -1, 0, 0, 0});
  EXPECT_THROW(normalize(x, 0), ArgumentError);
  const auto [values, places] = median_with_indices(Tensor<2>::from({{3, 1, 2}, {0, 5, 4}}, device()));
  EXPECT_EQ(floats(values), (Floats{2, 4}));
  EXPECT_EQ(ints(places), (Ints{2, 2}));
}

// Case 27: a sum that overflows is no NaN.
TEST_P(StatisticsTest, ContainsNanLooksAtElementsNotAtSums) {
  const auto halves = cat({Tensor<1>::full({4096}, 60000, device(), DType::f16),
                           Tensor<1>::full({4096}, -60000, device(), DType::f16)},
                          0);
  EXPECT_FALSE(contains_nan(halves).item());
  EXPECT_TRUE(contains_nan(vector({1, nan_value})).item());
  EXPECT_FALSE(contains_nan(vector({1, inf})).item());
  EXPECT_FALSE(contains_nan(vector({})).item());
  EXPECT_EQ(bools(is_close(vector({1, inf, nan_value, 2}), vector({1.000001f, inf, nan_value, 3}))),
            (Bools{1, 1, 0, 0}));
  EXPECT_EQ(bools(is_close(vector({nan_value}), vector({nan_value}), 0, 0, true)), (Bools{1}));
  EXPECT_EQ(bools(is_close(integers({1, 2}), integers({1, 3}))), (Bools{1, 0}));
}

TEST_P(StatisticsTest, ContractsAxes) {
  const auto a = Tensor<1>::arange(0, 24, 1, device()).reshape<3>({2, 3, 4});
  const auto b = Tensor<1>::arange(0, 12, 1, device()).reshape<2>({3, 4});
  EXPECT_EQ(floats(tensordot<2>(a, b)), (Floats{506, 1298}));
  EXPECT_EQ(floats(tensordot(a, b, {1}, {0})), floats(einsum<3>("ijk,jl->ikl", a, b)));
  EXPECT_EQ(floats(tensordot(a, b, {2, -2}, {1, 0})), (Floats{506, 1298}));
  EXPECT_EQ(tensordot<0>(b, b).shape(), (Shape{3, 4, 3, 4}));
  EXPECT_EQ(floats(tensordot<1>(Tensor<2>::zeros({2, 0}, device()), Tensor<1>::zeros({0}, device()))),
            (Floats{0, 0}));
  EXPECT_THROW(tensordot<1>(a, b), ShapeError);
  EXPECT_THROW(tensordot(a, b, {1, 1}, {0, 1}), ShapeError);
}

TEST_P(StatisticsTest, CrossAndBatchedProducts) {
  const auto x = vector({1, 2, 3}), y = vector({4, 5, 6});
  EXPECT_EQ(floats(cross(x, y)), (Floats{-3, 6, -3}));
  EXPECT_EQ(floats(cross(ramp(3, 2), Tensor<2>::ones({3, 1}, device()), 0)), (Floats{-2, -2, 4, 4, -2, -2}));
  EXPECT_THROW(cross(ramp(3, 2), ramp(3, 2)), ShapeError);
  EXPECT_EQ(floats(outer(ramp(2, 2), ramp(2, 2), 1)), (Floats{0, 0, 0, 1, 4, 6, 6, 9}));
  EXPECT_EQ(outer(ramp(2, 3), ramp(4, 3), 0).shape(), (Shape{2, 4, 3}));
  const auto batch = Tensor<3>::ones({2, 2, 2}, device());
  EXPECT_EQ(floats(baddbmm(vector({1, 2}), batch, batch, 10, 3)), (Floats{16, 26, 16, 26, 16, 26, 16, 26}));
}

TEST_P(StatisticsTest, Activations) {
  const auto x = vector({-2, -0.25f, 0, 0.25f, 2});
  expect_near(gelu_tanh(x), {-0.0454023f, -0.1003247f, 0, 0.1496754f, 1.9545977f});
  expect_near(log_sigmoid(x), {-2.1269280f, -0.8259395f, -0.6931472f, -0.5759395f, -0.1269280f});
  expect_near(mish(x), {-0.2525015f, -0.1299270f, 0, 0.1695724f, 1.9439590f});
  expect_near(thresholded_relu(x, 0.1), {0, 0, 0, 0.25f, 2});
  expect_near(shrink(x, 0.5, 0.5), {-1.5f, 0, 0, 0, 1.5f});
  expect_near(shrink(x, 0.1), {-2, -0.25f, 0, 0.25f, 2});
  const auto ends = vector({-inf, inf, nan_value});
  EXPECT_EQ(floats(gelu_tanh(ends)).at(0), 0);
  EXPECT_TRUE(std::signbit(floats(gelu_tanh(ends))[0]));
  EXPECT_TRUE(std::signbit(floats(mish(ends))[0]));
  for (const auto& y : {gelu_tanh(ends), mish(ends), thresholded_relu(ends), shrink(ends)}) {
    EXPECT_EQ(floats(y)[1], inf);
    EXPECT_TRUE(std::isnan(floats(y)[2]));
  }
  EXPECT_EQ(floats(log_sigmoid(ends)).at(0), -inf);
  expect_near(deg2rad(vector({180, -90})), {3.1415927f, -1.5707964f});
  expect_near(rad2deg(vector({3.1415927f})), {180});
}

TEST_P(StatisticsTest, QuietSoftmaxMaySayNothing) {
  const auto x = Tensor<2>::from({{1, 2}, {-1000, -1000}, {1000, 999}}, device());
  const float e = std::exp(1.0f), sum = 1 + e + e * e;
  expect_near(quiet_softmax(x, 1), {e / sum, e * e / sum, 0, 0, 0.7310586f, 0.2689414f});
  expect_near(quiet_softmax(vector({-inf, -inf}), 0), {0, 0});
  EXPECT_EQ(quiet_softmax(Tensor<2>::zeros({3, 0}, device()), 1).shape(), (Shape{3, 0}));
}

TEST_P(StatisticsTest, DrawsClassesByTheirWeights) {
  manual_seed(11);
  const auto weights = Tensor<2>::from({{0, 1, 3, 0}, {2, 0, 0, 0}}, device());
  const auto drawn = categorical(weights, 4000);
  EXPECT_EQ(drawn.shape(), (Shape{2, 4000}));
  const auto counts = bincount(drawn.at(0, 0), 4).to_vector<std::int64_t>();
  EXPECT_EQ(counts[0] + counts[3], 0);
  EXPECT_NEAR(static_cast<double>(counts[2]), 3000, 5 * std::sqrt(4000 * 0.75 * 0.25));  // five sigma
  EXPECT_EQ(drawn.at(0, 1).max().item(), 0);
  EXPECT_THROW(categorical(vector({}), 1), ArgumentError);
  const auto like = random_like(Tensor<2>::zeros({3, 5}, device(), DType::f64), 2, 3);
  EXPECT_EQ(like.dtype(), DType::f64);
  EXPECT_EQ(like.shape(), (Shape{3, 5}));
  EXPECT_TRUE(like.greater_equal(2).all().item() && like.less(3).all().item());
  EXPECT_EQ(random_normal_like(vector({1, 2})).shape(), (Shape{2}));
}

TEST_P(StatisticsTest, EveryFloatType) {
  const auto d = device();
  expect_every_float<2>(d, {3, 40}, [](const auto& x) { return cov(x); });
  expect_every_float<2>(d, {3, 40}, [](const auto& x) { return normalize(x.t(), 3, 0); });
  expect_every_float<2>(d, {3, 5}, [](const auto& x) { return quiet_softmax(x, 0); });
  expect_every_float<1>(d, {20}, [](const auto& x) { return gelu_tanh(x); });
  expect_every_float<1>(d, {20}, [](const auto& x) { return mish(x); });
  expect_every_float<1>(d, {20}, [](const auto& x) { return log_sigmoid(x); });
}

class StatisticsGradientTest : public OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(StatisticsGradientTest);

TEST_P(StatisticsGradientTest, AgreeWithDifferences) {
  const auto d = device();
  expect_gradient<2>(d, {3, 4}, [](const auto& x) { return cov(x); });
  expect_gradient<2>(d, {3, 4}, [](const auto& x) { return normalize(x, 2, 0); });
  expect_gradient<2>(d, {3, 4}, [](const auto& x) { return normalize(x, 3); });
  expect_gradient<2>(d, {3, 4}, [](const auto& x) { return normalize(x, inf); });
  expect_gradient<2>(d, {3, 4}, [](const auto& x) { return max_abs(x, 1); });
  expect_gradient<2>(d, {2, 3}, [](const auto& x) { return cross(x, x.square() + 1); });
  expect_gradient<3>(d, {2, 2, 3}, [](const auto& x) { return tensordot(x, x, {0, 2}, {0, 2}); });
  expect_gradient<1>(
      d, {9}, [](const auto& x) { return gelu_tanh(x); }, -3, 3);
  expect_gradient<1>(
      d, {9}, [](const auto& x) { return log_sigmoid(x); }, -3, 3);
  expect_gradient<1>(
      d, {9}, [](const auto& x) { return mish(x); }, -3, 3);
  expect_gradient<1>(
      d, {9}, [](const auto& x) { return shrink(x, 0.5, 0.25); }, -3, 3);
  expect_gradient<1>(
      d, {9}, [](const auto& x) { return thresholded_relu(x); }, -3, 3);
  expect_gradient<2>(d, {2, 3}, [](const auto& x) { return quiet_softmax(x, 1); });
}

TEST_P(StatisticsGradientTest, NormsOfZeroHaveGradientZero) {
  const auto x = Tensor<2>::zeros({2, 3}, device().autodiff()).require_grad();
  for (const double p : {1.0, 2.0, 3.0}) {
    EXPECT_EQ(x.grad(x.norm(p, 1).sum().backward()).to_vector<float>(), Floats(6, 0)) << p;
    const auto slope = x.grad(normalize(x, p).sum().backward()).to_vector<float>();
    EXPECT_TRUE(std::ranges::all_of(slope, [](float v) { return std::isfinite(v); })) << p;
  }
}

}  // namespace
}  // namespace strata
