#include <thread>

#include "tensor/devices.hpp"

namespace strata {
namespace {

using Floats = std::vector<float>;

class GradientTest : public test::OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(GradientTest);

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

TEST_P(GradientTest, KnownGradientsTakeThePlaceOfTheChainRule) {
  const auto d = device().autodiff();
  const auto x = Tensor<1>::from({0.4F, 1.6F}, d).require_grad(),
             y = Tensor<1>::from({2, 3}, d).require_grad();
  const auto round = [](const Tensor<1>& v) { return v.round(); };
  const auto straight = [](const Tensor<1>& g, auto&&...) { return std::tuple(g); };
  const auto rounded = custom_gradient(round, straight, x);
  EXPECT_EQ(rounded.to_vector<float>(), (Floats{0, 2}));
  EXPECT_EQ(x.grad((rounded * y).sum().backward()).to_vector<float>(), (Floats{2, 3}));
  EXPECT_EQ(custom_gradient(round, straight, x.inner()).to_vector<float>(), (Floats{0, 2}));
  EXPECT_FALSE(custom_gradient(round, straight, x.detach()).is_tracked());

  const auto ten_times =
      custom_gradient([](const Tensor<1>& a, const Tensor<1>& b) { return a * b; },
                      [](const Tensor<1>& g, const Tensor<1>&, const Tensor<1>& a, const Tensor<1>& b) {
                        return std::tuple(g * b * 10, g * a * 10);
                      },
                      x, y);
  const auto gradients = (ten_times * 2).sum().backward();
  EXPECT_EQ(x.grad(gradients).to_vector<float>(), (Floats{40, 60}));
  EXPECT_EQ(y.grad(gradients).to_vector<float>(), (Floats{8, 32}));
}

TEST_P(GradientTest, KnownGradientsAreDifferentiatedAgain) {
  const auto x = Tensor<1>::from({2, 3}, device().autodiff().autodiff()).require_grad();
  const auto cube = custom_gradient(
      [](const Tensor<1>& v) { return v * v * v; },
      [](const Tensor<1>& g, const Tensor<1>&, const Tensor<1>& v) { return std::tuple(g * v * v * 3); }, x);
  const auto first = x.grad((cube * cube).sum().backward());  // 6 x^5
  EXPECT_EQ(first.to_vector<float>(), (Floats{192, 1458}));
  EXPECT_EQ(x.inner().grad(first.sum().backward()).to_vector<float>(), (Floats{480, 2430}));
}

TEST_P(GradientTest, KnownGradientsMustFitTheirInputs) {
  const auto x = Tensor<1>::from({1, 2}, device().autodiff()).require_grad();
  const auto same = [](const Tensor<1>& v) { return v; };
  const auto with = [&](auto change) {
    return custom_gradient(
        same, [=](const Tensor<1>& g, auto&&...) { return std::tuple(change(g)); }, x);
  };
  EXPECT_THROW(with([](const Tensor<1>& g) { return g.narrow(0, 0, 1); }).backward(), ShapeError);
  EXPECT_THROW(with([](const Tensor<1>& g) { return g.to_float(DType::f64); }).backward(), DTypeError);
  EXPECT_THROW(with([&](const Tensor<1>&) { return x; }).backward(), DeviceError);
  EXPECT_THROW(custom_gradient([&](const Tensor<1>&) { return x; },
                               [](const Tensor<1>& g, auto&&...) { return std::tuple(g); }, x),
               DeviceError);
}

TEST_P(GradientTest, HooksSeeAndChangeGradients) {
  const auto d = device().autodiff();
  const auto x = Tensor<1>::from({1, 2, 3}, d).require_grad();
  Floats seen;
  const auto hooked = on_gradient(x * x, [&](const Tensor<1>& g) {
    seen = g.to_vector<float>();
    return g.clamp(-2, 2);
  });
  const auto y = (hooked * Tensor<1>::from({1, 4, -5}, d)).sum();
  EXPECT_EQ(x.grad(y.backward()).to_vector<float>(), (Floats{2, 8, -12}));
  EXPECT_EQ(seen, (Floats{1, 4, -5}));
}

TEST_P(GradientTest, InnerTensorsMayRetainTheirGradient) {
  const auto d = device().autodiff();
  const auto x = Tensor<1>::from({1, 2}, d).require_grad(), y = x * 3;
  EXPECT_THROW(y.grad((y * y).sum().backward()), ArgumentError);
  y.retain_grad();
  EXPECT_EQ(y.grad((y * y).sum().backward()).to_vector<float>(), (Floats{6, 12}));
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
