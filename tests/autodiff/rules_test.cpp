// Gradients at the points where central differences say nothing: kinks, zeros, ties, empty tensors, dtypes.
#include <cmath>
#include <limits>

#include "autodiff_fixture.hpp"

namespace strata::testing {
namespace {

using op::BinaryKind;
using op::ReduceKind;
using op::UnaryKind;

class GradientRules : public AutodiffTest {};

TEST_F(GradientRules, ProductsDoNotDivideByZeros) {
  const auto one_zero = leaf({0, 2, 3}, {3}), two_zeros = leaf({0, 0, 3}, {3});
  EXPECT_EQ(gradient(bridge::reduce_all(ReduceKind::prod, one_zero), one_zero), (Doubles{6, 0, 0}));
  EXPECT_EQ(gradient(bridge::reduce_all(ReduceKind::prod, two_zeros), two_zeros), (Doubles{0, 0, 0}));
}

TEST_F(GradientRules, CumulativeProductsThroughZeroKeepTheirGradient) {
  const auto x = leaf({2, 0, 3, 4}, {4});
  ValueRef total;
  for (std::int64_t n = 1; n <= 4; ++n) {
    const auto product = bridge::reduce_all(ReduceKind::prod, bridge::slice(x, {0}, {n}, {1}));
    total = total ? bridge::add(total, product) : product;
  }
  EXPECT_EQ(gradient(total, x), (Doubles{1, 32, 0, 0}));
}

TEST_F(GradientRules, SecondDerivativesOfProductsAreRightAtZeros) {
  Autodiff upper(as_backend(ad));
  const auto x = track(value_on(upper, {0, 0, 3}, {3}));
  const auto first = backward(bridge::reduce_all(ReduceKind::prod, x)).get(x);
  EXPECT_EQ(read(first), (Doubles{0, 0, 0}));
  EXPECT_EQ(gradient(first, autodiff::inner(x)), (Doubles{3, 3, 0}));
}

TEST_F(GradientRules, ReducedExtremaShareAmongTies) {
  const auto x = leaf({1, 5, 5, 2, 2, 0}, {2, 3});
  EXPECT_EQ(gradient(bridge::reduce(ReduceKind::max, x, {1}, false), x), (Doubles{0, 0.5, 0.5, 0.5, 0.5, 0}));
  EXPECT_EQ(gradient(bridge::reduce_all(ReduceKind::min, x), x), (Doubles{0, 0, 0, 0, 0, 1}));
}

TEST_F(GradientRules, ExtremaOfTwoShareTies) {
  const auto a = leaf({1, 2, 3}, {3}), b = leaf({2, 2, 2}, {3});
  const auto larger = backward(bridge::binary(BinaryKind::max, a, b));
  EXPECT_EQ(read(larger.get(a)), (Doubles{0, 0.5, 1}));
  EXPECT_EQ(read(larger.get(b)), (Doubles{1, 0.5, 0}));
  const auto smaller = backward(bridge::binary(BinaryKind::min, a, b));
  EXPECT_EQ(read(smaller.get(a)), (Doubles{1, 0.5, 0}));
  EXPECT_EQ(read(smaller.get(b)), (Doubles{0, 0.5, 1}));
}

TEST_F(GradientRules, PowersAreFiniteWhereTheTrueGradientIs) {
  const auto base = leaf({0, 0, 0, 0, -2, -2, 3}, {7}), exponent = leaf({0, 1, 2, 3, 3, 0, 0}, {7});
  const auto gradients = backward(bridge::binary(BinaryKind::pow, base, exponent));
  EXPECT_EQ(read(gradients.get(base)), (Doubles{0, 1, 0, 0, 12, 0, 0}));
  const auto by_exponent = read(gradients.get(exponent));
  EXPECT_EQ(Doubles(by_exponent.begin(), by_exponent.begin() + 4), (Doubles{0, 0, 0, 0}));
  EXPECT_NEAR(by_exponent[6], std::log(3), 1e-15);
}

TEST_F(GradientRules, SecondDerivativesOfPowersAreFiniteAtZero) {
  Autodiff upper(as_backend(ad));
  const auto x = track(value_on(upper, {0, 0, 0, 0}, {4}));
  const auto exponent = value_on(upper, {0, 1, 2, 3}, {4});
  const auto first = backward(bridge::binary(BinaryKind::pow, x, exponent)).get(x);
  EXPECT_EQ(read(first), (Doubles{0, 1, 0, 0}));
  EXPECT_EQ(gradient(first, autodiff::inner(x)), (Doubles{0, 0, 2, 0}));
}

TEST_F(GradientRules, StaircasesHaveZeroGradients) {
  using enum UnaryKind;
  for (auto kind : {sign, floor, ceil, round, trunc}) {
    const auto x = leaf({-1.2, 0.3}, {2});
    EXPECT_EQ(gradient(bridge::unary(kind, x), x), (Doubles{0, 0})) << op::name_of(kind);
  }
  const auto x = leaf({-2, 0, 2}, {3});
  EXPECT_EQ(gradient(bridge::unary(abs, x), x), (Doubles{-1, 0, 1}));
}

TEST_F(GradientRules, ABranchNotTakenLeavesNoNaN) {
  const auto x = leaf({4, 0}, {2});
  const auto positive = bridge::compare(op::CompareKind::greater, x, 0.0);
  const auto one = bridge::scalar_like(x, 1);
  const auto root = bridge::unary(UnaryKind::sqrt, bridge::where(positive, x, one));
  EXPECT_EQ(gradient(bridge::where(positive, root, bridge::zeros_like(x)), x), (Doubles{0.25, 0}));
}

TEST_F(GradientRules, CatGivesEachTrackedInputItsOwnPart) {
  const auto a = leaf({1}, {1}), c = leaf({4, 5, 6}, {3});
  const auto b = value({2, 3}, {2}), weights = value({1, 2, 3, 4, 5, 6}, {6});
  const auto gradients = backward(bridge::mul(bridge::cat({a, b, c}, 0), weights));
  EXPECT_EQ(read(gradients.get(a)), (Doubles{1}));
  EXPECT_EQ(read(gradients.get(c)), (Doubles{4, 5, 6}));
}

TEST_F(GradientRules, CumulativeProductsNeverDivide) {
  const auto x = leaf({2, 0, 3, 4}, {4}), two_zeros = leaf({0, 5, 0}, {3});
  EXPECT_EQ(gradient(bridge::cumulative(op::CumulativeKind::prod, x, 0), x), (Doubles{1, 32, 0, 0}));
  EXPECT_EQ(gradient(bridge::cumulative(op::CumulativeKind::prod, two_zeros, 0), two_zeros),
            (Doubles{6, 0, 0}));
}

TEST_F(GradientRules, CastsPassGradientsInTheirInputsDType) {
  const auto x = track(ad.from_data(TensorData::from<float>({1.5f, 2.5f, 3.5f}, {3})));
  const auto gradient_of_x =
      backward(bridge::reduce_all(ReduceKind::sum, bridge::cast(x, DType::f64))).get(x);
  EXPECT_EQ(gradient_of_x->dtype, DType::f32);
  EXPECT_EQ(read(gradient_of_x), (Doubles{1, 1, 1}));
}

TEST_F(GradientRules, EmptyTensorsHaveEmptyGradients) {
  const auto x = leaf({}, {2, 0}), column = leaf({3, 4}, {2, 1});
  const auto gradients = backward(bridge::mul(x, column));
  EXPECT_EQ(gradients.get(x)->shape, (Shape{2, 0}));
  EXPECT_EQ(read(gradients.get(column)), (Doubles{0, 0}));
  for (auto kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::prod}) {
    EXPECT_EQ(backward(bridge::reduce(kind, x, {1}, false)).get(x)->shape, (Shape{2, 0}));
  }
  const auto a = leaf({}, {2, 0}), b = leaf({}, {0, 3});
  const auto of_product = backward(bridge::matmul(a, b));
  EXPECT_EQ(of_product.get(a)->shape, a->shape);
  EXPECT_EQ(of_product.get(b)->shape, b->shape);
}

TEST_F(GradientRules, RemaindersHaveWholeQuotients) {
  const auto a = value({5.7, -16.2, 7.3}, {3}), b = leaf({0.1, 0.2, -0.7}, {3});
  EXPECT_EQ(gradient(bridge::binary(BinaryKind::rem, a, b), b), (Doubles{-56, 81, 11}));
}

TEST_F(GradientRules, DistancesAndAnglesAreFlatAtTheOrigin) {
  for (auto kind : {BinaryKind::hypot, BinaryKind::atan2}) {
    const auto a = leaf({0, 0}, {2}), b = leaf({0, 2}, {2});
    const auto gradients = backward(bridge::binary(kind, a, b));
    const bool angle = kind == BinaryKind::atan2;
    EXPECT_EQ(read(gradients.get(a)), (Doubles{0, angle ? 0.5 : 0})) << op::name_of(kind);
    EXPECT_EQ(read(gradients.get(b)), (Doubles{0, angle ? 0.0 : 1})) << op::name_of(kind);
  }
}

TEST_F(GradientRules, ActivationsHaveTheirLimitsAtInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (auto kind : {UnaryKind::gelu, UnaryKind::silu, UnaryKind::softplus}) {
    const auto x = leaf({-infinity, infinity, -1e300, 1e300}, {4});
    EXPECT_EQ(gradient(bridge::unary(kind, x), x), (Doubles{0, 1, 0, 1})) << op::name_of(kind);
  }
}

TEST_F(GradientRules, MeansOfManyHalvesKeepTheirPrecision) {
  const auto x = track(bridge::cast(bridge::fill(ad, {70000}, DType::f64, 1), DType::f16));
  const auto exact = static_cast<double>(static_cast<float>(Float16(3.0f / 70000)));
  const auto mean = bridge::reduce_all(ReduceKind::mean, x);
  EXPECT_EQ(gradient(bridge::mul(mean, 3.0), x), Doubles(70000, exact));
}

TEST_F(GradientRules, ProductsOfHalvesMayLeaveTheirRangeOnTheWay) {
  const auto wide = value({256, 256, 256, 0x1p-8, 0x1p-8, 0x1p-8}, {6});
  const auto x = track(bridge::cast(wide, DType::f16));
  EXPECT_EQ(gradient(bridge::reduce_all(ReduceKind::prod, x), x),
            (Doubles{0x1p-8, 0x1p-8, 0x1p-8, 256, 256, 256}));
}

}  // namespace
}  // namespace strata::testing
