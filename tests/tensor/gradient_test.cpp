#include <thread>

#include "tensor/devices.hpp"

namespace strata {
namespace {

using Floats = std::vector<float>;

class GradientTest : public testing::TestWithParam<const char*> {
 protected:
  Device device() const { return Device::named(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, GradientTest, testing::Values("flex", "cpu"), test::device_test_name);

TEST_P(GradientTest, MatmulAgainstItsFormula) {
  const auto d = device().autodiff();
  const auto a = Tensor<2>::from({{1, 2}, {3, 4}}, d).require_grad();
  const auto b = Tensor<2>::from({{5, 6}, {7, 8}}, d).require_grad();
  const auto gradients = a.matmul(b).sum().backward();
  EXPECT_EQ(a.grad(gradients).to_vector<float>(), (Floats{11, 15, 11, 15}));
  EXPECT_EQ(b.grad(gradients).to_vector<float>(), (Floats{4, 4, 6, 6}));
  EXPECT_EQ(a.grad(gradients).device(), device());
}

TEST_P(GradientTest, SecondDerivativeByStackingTwice) {
  const auto d = device().autodiff().autodiff();
  const auto x = Tensor<1>::from({2, 3}, d).require_grad();
  const auto first = x.grad((x * x * x).sum().backward());
  EXPECT_EQ(first.to_vector<float>(), (Floats{12, 27}));
  const auto second = x.inner().grad(first.sum().backward());
  EXPECT_EQ(second.to_vector<float>(), (Floats{12, 18}));
}

TEST_P(GradientTest, UntrackedLeavesHaveNoGradient) {
  const auto d = device().autodiff();
  const auto x = Tensor<1>::from({2, 3}, d).require_grad(), y = Tensor<1>::from({1, 1}, d);
  const auto gradients = (x * y).sum().backward();
  EXPECT_THROW(y.grad(gradients), UserError);
  EXPECT_THROW((y * y).sum().backward(), UserError);
  EXPECT_THROW(Tensor<1>::ones({2}, device()).backward(), UserError);
}

TEST_P(GradientTest, GradientsOfANormAreTheSameEveryTime) {  // case 43
  const auto d = device().autodiff();
  const auto x = Tensor<3>::random_normal({2, 4, 8}, 0, 1, d).require_grad();
  const auto weight = Tensor<1>::ones({8}, d).require_grad(), bias = Tensor<1>::zeros({8}, d).require_grad();
  Floats first;
  for (int i = 0; i < 1000; ++i) {
    const auto gradients = layer_norm(x, weight, bias).mean().backward();
    EXPECT_EQ(bias.grad(gradients).to_vector<float>(), Floats(8, 0.125F));
    const auto gain = weight.grad(gradients).to_vector<float>();
    if (i == 0) first = gain;
    ASSERT_EQ(gain, first) << i;
  }
}

TEST_P(GradientTest, TwoThreadsDifferentiateAtOnce) {
  const auto d = device().autodiff();
  const auto shared = Tensor<1>::from({1, 2, 3}, d).require_grad();
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      const auto x = Tensor<1>::from({1, 2, 3}, d).require_grad();
      const auto gradients = (x * x + shared * x).sum().backward();
      ASSERT_EQ(x.grad(gradients).to_vector<float>(), (Floats{3, 6, 9}));
      ASSERT_EQ(shared.grad(gradients).to_vector<float>(), (Floats{1, 2, 3}));
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}

}  // namespace
}  // namespace strata
