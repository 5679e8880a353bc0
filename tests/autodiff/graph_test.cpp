// What is recorded, what backward returns, and what both leave behind.
#include <cmath>

#include "autodiff_fixture.hpp"
#include "strata/error.hpp"

namespace strata::testing {
namespace {

class Graph : public AutodiffTest {};

TEST_F(Graph, DifferentiatesAMatmulSum) {
  const auto a = leaf({1, 2, 3, 4}, {2, 2}), b = leaf({5, 6, 7, 8}, {2, 2});
  const auto c = bridge::matmul(a, b);
  EXPECT_EQ(read(c), (Doubles{19, 22, 43, 50}));
  const auto gradients = backward(bridge::reduce_all(op::ReduceKind::sum, c));
  EXPECT_EQ(read(gradients.get(a)), (Doubles{11, 15, 11, 15}));
  EXPECT_EQ(read(gradients.get(b)), (Doubles{4, 4, 6, 6}));
  EXPECT_EQ(&gradients.get(a)->backend, &reference);
}

TEST_F(Graph, SpellsItsLayers) {
  EXPECT_EQ(ad.name(), "autodiff<reference>");
  EXPECT_EQ(Autodiff(as_backend(ad)).name(), "autodiff<autodiff<reference>>");
}

TEST_F(Graph, SumsOverEveryUseOfASharedValue) {
  const auto x = leaf({2, 3}, {2});
  const auto square = bridge::mul(x, x);
  const auto diamond = bridge::add(bridge::mul(square, x), square);  // x^3 + x^2
  EXPECT_EQ(gradient(diamond, x), (Doubles{16, 33}));
}

TEST_F(Graph, TakesPathsOfUnequalLengthInOrder) {
  const auto x = leaf({3}, {1});
  auto deep = x;
  for (int i = 0; i < 5; ++i) deep = bridge::mul(deep, 2.0);
  const auto y = bridge::mul(bridge::add(deep, x), x);  // 33 x^2
  EXPECT_EQ(gradient(y, x), (Doubles{198}));
}

TEST_F(Graph, BackwardConsumesNothing) {
  const auto x = leaf({1, 2}, {2});
  const auto y = bridge::mul(bridge::unary(op::UnaryKind::exp, x), x);
  EXPECT_EQ(gradient(y, x), gradient(y, x));
}

TEST_F(Graph, TheRootMayBeTheLeaf) {
  const auto x = leaf({1, 2}, {2});
  EXPECT_EQ(gradient(x, x), (Doubles{1, 1}));
}

TEST_F(Graph, StartsFromAGivenGradient) {
  const auto x = leaf({1, 2}, {2});
  const auto y = bridge::mul(x, x);
  const auto seed = value_on(reference, {10, 100}, {2});
  EXPECT_EQ(read(backward(y, seed).get(x)), (Doubles{20, 400}));
  EXPECT_THROW(backward(y, value_on(reference, {1}, {1})), ShapeError);
  EXPECT_THROW(backward(y, reference.from_data(TensorData::from<float>({1, 1}, {2}))), DTypeError);
  EXPECT_THROW(backward(y, value({1, 1}, {2})), DeviceError);
}

TEST_F(Graph, TracksOnlyFloatsComputedFromTrackedValues) {
  const auto x = leaf({1, 2}, {2}), plain = value({1, 2}, {2});
  EXPECT_TRUE(autodiff::is_tracked(x));
  EXPECT_TRUE(autodiff::is_tracked(bridge::mul(plain, x)));
  EXPECT_FALSE(autodiff::is_tracked(bridge::mul(plain, plain)));
  EXPECT_FALSE(autodiff::is_tracked(bridge::compare(op::CompareKind::less, x, plain)));
  EXPECT_FALSE(autodiff::is_tracked(bridge::cast(x, DType::i64)));
  EXPECT_FALSE(autodiff::is_tracked(bridge::cast(bridge::cast(x, DType::i64), DType::f64)));
  EXPECT_FALSE(autodiff::is_tracked(bridge::fill(ad, {2}, DType::f64, 1)));
  EXPECT_FALSE(autodiff::is_tracked(value_on(reference, {1}, {1})));
  EXPECT_THROW(track(bridge::cast(x, DType::i64)), DTypeError);
}

TEST_F(Graph, DetachCutsAndInnerUnwraps) {
  const auto x = leaf({3}, {1});
  const auto y = bridge::mul(bridge::mul(x, x), autodiff::detach(bridge::mul(x, x)));
  EXPECT_EQ(gradient(y, x), (Doubles{54}));
  EXPECT_EQ(&autodiff::inner(x)->backend, &reference);
  EXPECT_EQ(autodiff::inner(ad.lift(autodiff::inner(x))), autodiff::inner(x));
  const auto plain = value({1}, {1});
  EXPECT_EQ(autodiff::detach(plain), plain);
}

TEST_F(Graph, ALeafStaysItselfAndAResultIsNoLeaf) {
  const auto x = leaf({3}, {1});
  EXPECT_EQ(track(x), x);
  EXPECT_THROW(track(bridge::neg(x)), ArgumentError);
  EXPECT_TRUE(autodiff::is_tracked(track(autodiff::detach(bridge::neg(x)))));
}

TEST_F(Graph, KeepsIntermediateGradientsOnDemand) {
  const auto x = leaf({3}, {1});
  const auto kept = bridge::mul(x, x), dropped = bridge::mul(kept, 2.0);
  autodiff::retain_grad(kept);
  const auto gradients = backward(bridge::mul(dropped, dropped));
  EXPECT_EQ(read(gradients.get(kept)), (Doubles{72}));
  EXPECT_THROW(gradients.get(dropped), ArgumentError);
  EXPECT_THROW(autodiff::retain_grad(value({1}, {1})), ArgumentError);
}

TEST_F(Graph, SaysWhyThereIsNoGradient) {
  const auto x = leaf({3}, {1}), elsewhere = leaf({4}, {1}), plain = value({5}, {1});
  const auto gradients = backward(bridge::mul(x, plain));
  EXPECT_FALSE(gradients.find(elsewhere));
  EXPECT_THROW(gradients.get(elsewhere), ArgumentError);
  EXPECT_THROW(gradients.get(plain), ArgumentError);
  EXPECT_THROW(gradients.get(value_on(reference, {1}, {1})), DeviceError);
  EXPECT_THROW(backward(plain), ArgumentError);
  EXPECT_THROW(backward(bridge::cast(x, DType::i64)), DTypeError);
  EXPECT_THROW(backward(value_on(reference, {1}, {1})), DeviceError);
  EXPECT_THROW(track(value_on(reference, {1}, {1})), DeviceError);
}

TEST_F(Graph, AFaultyOperationThrowsAndRecordsNothing) {
  const auto a = leaf({1, 2}, {1, 2}), b = leaf({1, 2, 3}, {1, 3});
  const auto before = live_allocations();
  EXPECT_THROW(bridge::matmul(a, b), ShapeError);
  EXPECT_EQ(live_allocations(), before);
}

TEST_F(Graph, OutlivesTheValuesItWasBuiltFrom) {
  const auto x = leaf({1, 2}, {2});
  ValueRef y;
  {
    const auto e = bridge::unary(op::UnaryKind::exp, x);
    y = bridge::mul(e, e);
  }
  const auto g = gradient(y, x);
  EXPECT_NEAR(g[0], 2 * std::exp(2.0), 1e-12);
}

TEST_F(Graph, StackedLeavesAreTrackedOnEveryLevel) {
  Autodiff upper(as_backend(ad));
  const auto x = track(value_on(upper, {2}, {1}));
  EXPECT_TRUE(autodiff::is_tracked(autodiff::inner(x)));
  const auto first = backward(bridge::mul(bridge::mul(x, x), x)).get(x);  // 3 x^2
  EXPECT_EQ(read(first), (Doubles{12}));
  EXPECT_EQ(gradient(first, autodiff::inner(x)), (Doubles{12}));
  const auto cut = autodiff::detach(x);
  EXPECT_FALSE(autodiff::is_tracked(cut));
  EXPECT_FALSE(autodiff::is_tracked(autodiff::inner(cut)));
}

TEST_F(Graph, DifferentiatesThroughAGradientStep) {
  // f(x - 0.1 f'(x)) with f = x^2: the inner gradient is lifted back, and the outer one goes through it.
  Autodiff upper(as_backend(ad));
  const auto x = leaf({2}, {1});
  const auto x_upper = track(upper.lift(x));
  const auto step = backward(bridge::mul(x_upper, x_upper)).get(x_upper);
  const auto moved = bridge::sub(x, bridge::mul(step, 0.1));
  EXPECT_NEAR(gradient(bridge::mul(moved, moved), x)[0], 2 * 0.8 * 0.8 * 2, 1e-12);
}

TEST_F(Graph, TrackedTensorsThatAreDroppedLeaveNothingBehind) {
  const auto shared = leaf({1, 2, 3, 4}, {2, 2});
  const auto use = [&] {
    const auto x = leaf({1, 2, 3, 4}, {2, 2});
    bridge::matmul(x, shared);
  };
  use();
  const auto before = live_allocations();
  for (int i = 0; i < 100'000; ++i) use();
  EXPECT_EQ(live_allocations(), before);
}

TEST_F(Graph, BackwardLeavesNothingBehind) {
  for (auto checkpointing : {Checkpointing::disabled, Checkpointing::balanced}) {
    Autodiff home(reference, checkpointing);
    const auto x = track(value_on(home, {1, 2}, {2}));
    const auto use = [&] {
      const auto y = bridge::mul(bridge::unary(op::UnaryKind::exp, bridge::mul(x, x)), x);
      backward(bridge::reduce_all(op::ReduceKind::sum, y));
    };
    use();
    const auto before = live_allocations();
    for (int i = 0; i < 100; ++i) use();
    EXPECT_EQ(live_allocations(), before);
  }
}

TEST_F(Graph, AMillionStepsNeedNoStack) {
  for (auto checkpointing : {Checkpointing::disabled, Checkpointing::balanced}) {
    const auto before = live_allocations();
    {
      Autodiff home(reference, checkpointing);
      const auto x = track(value_on(home, {0.5}, {}));
      auto y = x;
      for (int i = 0; i < 1'000'000; ++i) y = bridge::unary(op::UnaryKind::tanh, y);
      const auto g = gradient(y, x);
      EXPECT_GT(g[0], 0);
    }
    EXPECT_EQ(live_allocations(), before);
  }
}

TEST_F(Graph, AStackedChainNeedsNoStackEither) {
  Autodiff upper(as_backend(ad));
  const auto x = track(value_on(upper, {0.5}, {}));
  auto y = x;
  for (int i = 0; i < 100'000; ++i) y = bridge::unary(op::UnaryKind::sin, y);
  const auto first = backward(y).get(x);
  y = {};
  EXPECT_TRUE(std::isfinite(gradient(first, autodiff::inner(x))[0]));
}

}  // namespace
}  // namespace strata::testing
