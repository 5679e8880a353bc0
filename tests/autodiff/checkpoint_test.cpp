// Balanced checkpointing: the same gradients from less memory. The gradient checks run under both strategies
// as well.
#include "autodiff_fixture.hpp"

namespace strata::testing {
namespace {

using op::UnaryKind;

class Checkpoint : public AutodiffTest {
 protected:
  Autodiff balanced{reference, Checkpointing::balanced};

  /// References to the inner value of exp(x) that the graph of exp(x)^2 holds once exp(x) itself is gone.
  static std::uint32_t references_held(Autodiff& home) {
    const auto x = track(value_on(home, {1, 2}, {2}));
    auto e = bridge::unary(UnaryKind::exp, x);
    const auto under = autodiff::inner(e);
    const auto y = bridge::mul(e, e);
    e = {};
    return under->reference_count() - 1;
  }
};

TEST_F(Checkpoint, BalancedKeepsNoOutputOfAMemoryBoundOperation) {
  EXPECT_GT(references_held(ad), 0u);
  EXPECT_EQ(references_held(balanced), 0u);
}

TEST_F(Checkpoint, BalancedKeepsTheOutputsOfProducts) {
  const auto x = track(value_on(balanced, {1, 2, 3, 4}, {2, 2}));
  auto product = bridge::matmul(x, x);
  const auto under = autodiff::inner(product);
  const auto y = bridge::unary(UnaryKind::exp, product);
  product = {};
  const int before = reference.executed;
  backward(y);
  EXPECT_GT(under->reference_count(), 1u);
  EXPECT_EQ(reference.executed - before,
            1 + 1 + 1 + 5);  // seed, exp again, its rule, that of matmul (shared leaf)
}

TEST_F(Checkpoint, EachValueIsRecomputedOnce) {
  constexpr int n = 500;
  const auto x = track(value_on(balanced, {0.3}, {}));
  auto y = x;
  for (int i = 0; i < n; ++i) y = bridge::mul(bridge::unary(UnaryKind::tanh, y), y);
  const int before = reference.executed;
  backward(y);
  // The seed; all forward results but the last; in each link two operations for mul's rule, four for tanh's,
  // one sum.
  EXPECT_EQ(reference.executed - before, 1 + (2 * n - 1) + n * (2 + 4 + 1));
}

TEST_F(Checkpoint, RecomputedValuesGoAsBackwardGoesPastThem) {
  const auto held_in_backward = [&](int links) {
    auto y = track(value_on(balanced, {0.3}, {1, 1}));
    for (int i = 0; i < links; ++i) y = bridge::matmul(bridge::unary(UnaryKind::tanh, y), y);
    reference.most_allocations = 0;
    const auto before = live_allocations();
    backward(y);
    return reference.most_allocations - before;
  };
  EXPECT_LT(held_in_backward(200), held_in_backward(20) + 20);
}

TEST_F(Checkpoint, GradientsAreTheSameToTheBit) {
  for (const auto& c : gradient_cases()) {
    std::vector<Doubles> results[2];
    for (auto* home : {&ad, &balanced}) {
      std::vector<ValueRef> leaves;
      for (const auto& data : c.inputs) leaves.push_back(track(home->from_data(data)));
      const auto gradients = backward(c.function(leaves));
      for (const auto& x : leaves) results[home == &balanced].push_back(read(gradients.get(x)));
    }
    EXPECT_EQ(results[0], results[1]) << c.name;
  }
}

// Rules must not count on what they would save for the gradients that nobody asks for.
TEST_F(Checkpoint, EachGradientIsTheSameAlone) {
  for (const auto& c : gradient_cases()) {
    for (auto* home : {&ad, &balanced}) {
      std::vector<ValueRef> leaves;
      for (const auto& data : c.inputs) leaves.push_back(track(home->from_data(data)));
      const auto together = backward(c.function(leaves));
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        auto inputs = leaves;
        for (auto& x : inputs) x = autodiff::detach(x);
        inputs[i] = track(inputs[i]);
        const auto y = c.function(inputs);
        EXPECT_EQ(read(backward(y).get(inputs[i])), read(together.get(leaves[i])))
            << c.name << ", input " << i;
      }
    }
  }
}

}  // namespace
}  // namespace strata::testing
