/// Loops that queue the same operations again and again: devices may start what repeats itself several at a
/// time.
#include "tensor/devices.hpp"

namespace strata {
namespace {

class LoopTest : public test::OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(LoopTest);

/// Fifteen kernels or so that do not fuse, of integers, so that every device agrees on each bit.
Tensor<1, Int> step(const Tensor<1, Int>& x, std::int64_t round) {
  const auto sums = x.cumsum(0).rem(97), order = sums.flip({0}).argsort(0);
  const auto mixed = x.gather(0, order) * 3 + round % 5;
  const auto square = mixed.narrow(0, 0, 64).reshape({8, 8});
  const auto product = square.matmul(square.transpose()).sum(0).rem(53);
  return (mixed + product.cumsum(0).repeat({13}).narrow(0, 0, 100)).rem(1009);
}

TEST_P(LoopTest, LongLoopsGiveWhatFlexGives) {
  auto x = Tensor<1, Int>::arange(0, 100, 1, device()), y = Tensor<1, Int>::arange(0, 100, 1, Device::flex());
  for (std::int64_t round = 0; round < 300; ++round) {
    x = step(x, round);
    y = step(y, round);
    if (round % 41 == 17) {  // a loop that breaks off, on data of its own
      auto a = x.cumsum(0), b = y.cumsum(0);
      for (int i = 0; i < round % 7; ++i)
        a = a.flip({0}).cumsum(0).rem(31), b = b.flip({0}).cumsum(0).rem(31);
      ASSERT_EQ(a.to_vector<std::int64_t>(), b.to_vector<std::int64_t>()) << round;
    }
    if (round % 59 == 0) {
      ASSERT_EQ(x.to_vector<std::int64_t>(), y.to_vector<std::int64_t>()) << round;
    }
  }
  EXPECT_EQ(x.to_vector<std::int64_t>(), y.to_vector<std::int64_t>());
}

TEST_P(LoopTest, ATrainingLoopLearnsAsOnFlex) {
  const auto train = [](const Device& bare) {
    const auto d = bare.autodiff();
    const auto x =
        Tensor<2>::from_data(TensorData::from<float>(std::vector<float>{0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}), d);
    const auto target = Tensor<1, Int>::from({0, 0, 0, 1}, d);
    auto w1 = (Tensor<1>::arange(0, 32, 1, d).reshape({2, 16}) * 0.37).sin().detach().require_grad();
    auto w2 = (Tensor<1>::arange(0, 32, 1, d).reshape({16, 2}) * 0.73).cos().detach().require_grad();
    double loss = 0;
    for (int i = 0; i < 500; ++i) {
      const auto cost = cross_entropy((x.matmul(w1)).tanh().matmul(w2), target);
      const auto g = cost.backward();
      w1 = (w1.inner() - w1.grad(g) * 0.2).to_device(d).require_grad();
      w2 = (w2.inner() - w2.grad(g) * 0.2).to_device(d).require_grad();
      if (i % 50 == 49) loss = cost.item();
    }
    return loss;
  };
  const auto here = train(device()), there = train(Device::flex());
  EXPECT_NEAR(here, there, 1e-3) << here << " " << there;
  EXPECT_LT(here, 0.2);
}

}  // namespace
}  // namespace strata
