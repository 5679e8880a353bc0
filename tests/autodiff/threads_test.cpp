// Graphs are shared freely: leaves, sub-expressions and backward passes of several threads meet without
// locks.
#include <latch>
#include <thread>

#include "autodiff_fixture.hpp"

namespace strata::testing {
namespace {

class Threads : public AutodiffTest {
 protected:
  /// Runs `body(i)` on two threads that start together.
  template <class Body>
  static void on_two_threads(Body&& body) {
    std::latch start(2);
    std::jthread threads[2];
    for (int i = 0; i < 2; ++i) {
      threads[i] = std::jthread([&, i] {
        start.arrive_and_wait();
        body(i);
      });
    }
  }
  static constexpr int rounds = 10'000;
};

TEST_F(Threads, DifferentiateAtOnceFromASharedLeaf) {
  ReferenceBackend plain;
  Autodiff home(plain);
  const auto x = track(value_on(home, {1, 2, 3}, {3}));
  int wrong[2] = {};
  on_two_threads([&](int i) {
    for (int n = 0; n < rounds; ++n) {
      const auto y = bridge::reduce_all(op::ReduceKind::sum, bridge::mul(x, x));
      wrong[i] += read(backward(y).get(x)) != Doubles{2, 4, 6};
    }
  });
  EXPECT_EQ(wrong[0] + wrong[1], 0);
}

TEST_F(Threads, DifferentiateAtOnceFromLeavesOfTheirOwn) {
  ReferenceBackend plain;
  Autodiff home(plain, Checkpointing::balanced);
  int wrong[2] = {};
  on_two_threads([&](int i) {
    for (int n = 0; n < rounds; ++n) {
      const auto x = track(value_on(home, {1, 2, 3}, {3}));
      wrong[i] += gradient(bridge::mul(x, x), x) != Doubles{2, 4, 6};
    }
  });
  EXPECT_EQ(wrong[0] + wrong[1], 0);
}

TEST_F(Threads, DifferentiateAndDropOneGraph) {
  ReferenceBackend plain;
  Autodiff home(plain);
  int wrong[2] = {};
  for (int n = 0; n < 200; ++n) {
    const auto x = track(value_on(home, {1, 2, 3}, {3}));
    auto shared = bridge::mul(bridge::mul(x, x), x);
    ValueRef own[2] = {shared, std::move(shared)};
    on_two_threads([&](int i) {
      const auto y = std::move(own[i]);
      wrong[i] += gradient(y, x) != Doubles{3, 12, 27};
    });
  }
  EXPECT_EQ(wrong[0] + wrong[1], 0);
}

}  // namespace
}  // namespace strata::testing
