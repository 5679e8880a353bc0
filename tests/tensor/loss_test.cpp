// Losses. Values: from LibTorch 1.13.
#include <cmath>
#include <limits>

#include "tensor/devices.hpp"

namespace strata {
namespace {

using test::OnEveryDevice;
using Floats = std::vector<float>;
constexpr auto none = Reduction::none, sum = Reduction::sum;

class LossTest : public OnEveryDevice {
 protected:
  template <class T>
  static void expect_near(const T& tensor, const Floats& wanted, float tolerance = 2e-5f) {
    const auto got = tensor.template to_vector<float>();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0f, std::abs(wanted[i]))) << i;
  }
  Tensor<1> vector(const Floats& values) const {
    return Tensor<1>::from(values, {static_cast<std::int64_t>(values.size())}, device());
  }
  /// [batch, classes, places]; the third target is ignored.
  Tensor<3> logits() const {
    return vector({0.5f, -1, 2, 0.25f, 1.5f, -0.5f, -2, 1, 0, 0.75f, 3, -1.25f}).reshape<3>({2, 3, 2});
  }
  Tensor<2, Int> target() const { return Tensor<2, Int>::from({{2, 0}, {-100, 1}}, device()); }
  Tensor<1> weights() const { return vector({0.5f, 2, 1.5f}); }
};
STRATA_ON_EVERY_DEVICE(LossTest);

TEST_P(LossTest, OfNumbers) {
  const auto x = vector({-3, 0.5f, 2, -1}), t = vector({0, 1, 1, 0.5f});
  expect_near(l1_loss(x, t), {1.5f});
  expect_near(mse_loss<sum>(x, t), {12.5f});
  expect_near(huber_loss(x, t, 2), {1.4375f});
  expect_near(smooth_l1_loss<none>(x, t, 0.5), {2.75f, 0.25f, 0.75f, 1.25f});
  expect_near(poisson_nll_loss(x, t), {1.863861f});
  expect_near(gaussian_nll_loss<none>(x, t, vector({0.5f, 2, 0, 1})),
              {8.653426f, 0.4090736f, 499993.1f, 1.125f});
}

TEST_P(LossTest, OfProbabilities) {
  const auto x = vector({-3, 0.5f, 2, -1}), t = vector({0, 1, 1, 0.5f});
  expect_near(binary_cross_entropy<none>(vector({0, 0.5f, 0.9f, 1}), vector({0, 1, 0.25f, 0.5f})),
              {0, 0.6931472f, 1.753279f, 50});
  expect_near(binary_cross_entropy_with_logits(x, t), {0.3657135f});
  expect_near(binary_cross_entropy_with_logits<none>(x, t, vector({3})),
              {0.04858732f, 1.422231f, 0.3807842f, 2.126523f});
  expect_near(binary_cross_entropy_with_logits(vector({200}), vector({1})), {0});
  const auto p = vector({0.25f, 0.25f, 0.3f, 0.2f}).log();
  expect_near(kl_div<sum>(p, vector({0.1f, 0.2f, 0.7f, 0})), {0.4568507f});
  expect_near(kl_div_of_logs(p, vector({0.1f, 0.2f, 0.6f, 0.1f}).log()), {0.05257897f});
}

TEST_P(LossTest, OfMargins) {
  const auto x = vector({-3, 0.5f, 2, -1}), t = vector({0, 1, 1, 0.5f}), label = vector({1, -1, 1, -1});
  expect_near(soft_margin_loss(x, label), {1.115713f});
  expect_near(hinge_embedding_loss(x, label, 2), {0.875f});
  expect_near(margin_ranking_loss(x, t, label, 0.5), {0.875f});
  const auto a = Tensor<2>::from({{1, 2}, {3, -1}}, device()),
             b = Tensor<2>::from({{0.5f, 1}, {1, 2}}, device()),
             c = Tensor<2>::from({{-1, 0}, {2, 0}}, device());
  expect_near(cosine_embedding_loss<none>(a, b, vector({1, -1}), 0.1), {0, 0.04142136f});
  expect_near(triplet_margin_loss<none>(a, b, c), {0, 3.191337f});
}

TEST_P(LossTest, CrossEntropyReducesWeighsSmoothsAndIgnores) {
  const CrossEntropyOptions smooth{.label_smoothing = 0.2};
  expect_near(cross_entropy(logits(), target()), {1.267435f});
  expect_near(cross_entropy<sum>(logits(), target()), {3.802306f});
  expect_near(cross_entropy<none>(logits(), target()), {1.104131f, 1.814672f, 0, 0.8835033f});
  expect_near(cross_entropy(logits(), target(), weights()), {1.082635f});
  expect_near(cross_entropy(logits(), target(), weights(), smooth), {1.105011f});
  expect_near(cross_entropy<none>(logits(), target(), weights(), smooth),
              {1.586058f, 0.9931148f, 0, 1.840873f});
  expect_near(cross_entropy(logits(), logits().flip({1}).softmax(1), smooth), {2.143476f});
  expect_near(cross_entropy(vector({1, 2, 0.5f}), Tensor<0, Int>::full({}, 1, device())), {0.4643688f});
  const auto last = logits().permute({0, 2, 1});
  expect_near(cross_entropy(last, target(), {.axis = -1}), {1.267435f});
  const auto ignored = Tensor<2, Int>::full({2, 2}, -100, device());
  EXPECT_TRUE(std::isnan(cross_entropy(logits(), ignored).item()));
  EXPECT_EQ(cross_entropy<sum>(logits(), ignored).item(), 0);
  EXPECT_THROW(cross_entropy(logits(), target() + 1).item(), IndexError);
}

TEST_P(LossTest, CrossEntropyOfHalvesCountsManyRows) {
  const auto many = Tensor<2>::zeros({70000, 2}, device()).cast(DType::f16);
  const auto zeros = Tensor<1, Int>::zeros({70000}, device());
  EXPECT_NEAR(cross_entropy(many, zeros).item(), std::log(2.0), 1e-3);
}

TEST_P(LossTest, NegativeLogLikelihood) {
  const auto p = logits().log_softmax(1);
  expect_near(nll_loss(p, target()), {1.267435f});
  expect_near(nll_loss(p, target(), weights()), {1.082635f});
  expect_near(nll_loss<none>(p, target(), weights()), {1.656196f, 0.9073361f, 0, 1.767007f});
}

TEST_P(LossTest, ConnectionistTemporalClassification) {
  const auto scores = Tensor<1>::arange(0, 40, 1, device()).sin().reshape<3>({5, 2, 4});
  const auto targets = Tensor<2, Int>::from({{1, 1, 3}, {2, 1, 0}}, device());
  const auto steps = Tensor<1, Int>::from({5, 4}, device()), labels = Tensor<1, Int>::from({3, 2}, device());
  const auto p = scores.log_softmax(2);
  expect_near(ctc_loss<none>(p, targets, steps, labels), {5.234698f, 2.614251f});
  expect_near(ctc_loss(p, targets, steps, labels), {1.526012f});
  expect_near(ctc_loss<sum>(p, targets, steps, labels), {7.848948f});
  const auto short_steps = Tensor<1, Int>::from({3, 4}, device());
  EXPECT_TRUE(std::isinf(ctc_loss(p, targets, short_steps, labels).item()));
  expect_near(ctc_loss<none>(p, targets, short_steps, labels, {.zero_infinity = true}), {0, 2.614251f});
}

TEST_P(LossTest, Gradients) {
  if (!device().is_autodiff()) return;
  const auto x = logits().require_grad();
  const auto loss = cross_entropy(x, target(), weights(), {.label_smoothing = 0.2});
  expect_near(x.grad(loss.backward()), {0.03638227f, -0.08118479f, 0.1670681f, 0.0614244f, -0.2034504f,
                                        0.01976039f, 0, 0.2393403f, 0, -0.2404449f, 0, 0.001104604f});
  const auto scores = Tensor<1>::arange(0, 40, 1, device()).sin().reshape<3>({5, 2, 4}).require_grad();
  const auto ctc =
      ctc_loss<sum>(scores.log_softmax(2), Tensor<2, Int>::from({{1, 1, 3}, {2, 1, 0}}, device()),
                    Tensor<1, Int>::from({5, 4}, device()), Tensor<1, Int>::from({3, 2}, device()));
  const auto gradient = scores.grad(ctc.backward());
  expect_near(gradient.slice({{0, 1}}), {0.113916f, -0.6365193f, 0.3570042f, 0.1655992f, -0.1166865f,
                                         0.1083497f, -0.5369298f, 0.5452666f});
  expect_near(gradient.slice({{4, 5}}), {-0.2430544f, 0.3995454f, 0.2495098f, -0.4060009f, 0, 0, 0, 0});
}

TEST_P(LossTest, GradientsOfWeights) {
  if (!device().is_autodiff()) return;
  const auto check = [&](auto&& loss) {
    const auto w = weights().cast(DType::f64).require_grad();
    const auto gradient = w.grad(loss(w).backward()).template to_vector<double>();
    const auto start = w.template to_vector<double>();
    constexpr double step = 1e-5;
    for (std::size_t i = 0; i < start.size(); ++i) {
      const auto at = [&](double by) {
        auto moved = start;
        moved[i] += by;
        return loss(Tensor<1>::from(moved, {3}, device())).item();
      };
      const double wanted = (at(step) - at(-step)) / (2 * step);
      EXPECT_NEAR(gradient[i], wanted, 1e-8 * std::max(1.0, std::abs(wanted))) << "class " << i;
    }
  };
  const auto x = logits().cast(DType::f64);
  const auto each = Tensor<2>::from({{1, -2}, {3, 4}}, device()).cast(DType::f64);
  for (double smoothing : {0.0, 0.2}) {
    const CrossEntropyOptions o{.label_smoothing = smoothing};
    check([&](const Tensor<1>& w) { return cross_entropy(x, target(), w, o); });
    check([&](const Tensor<1>& w) { return cross_entropy<sum>(x, target(), w, o); });
    check([&](const Tensor<1>& w) { return (cross_entropy<none>(x, target(), w, o) * each).sum(); });
  }
  check([&](const Tensor<1>& w) { return nll_loss(x.log_softmax(1), target(), w); });
}

TEST_P(LossTest, AnImpossibleClassTouchesOnlyItsOwnWeight) {
  if (!device().is_autodiff()) return;
  const auto inf = std::numeric_limits<float>::infinity();
  const auto x = Tensor<2>::from({{0, 0, -inf}, {-inf, 0, 0}, {-inf, 0, 0}}, device());
  const auto t = Tensor<1, Int>::from({0, 2, -100}, device());
  const auto w = weights().require_grad();
  const float log2 = std::log(2.0f);
  expect_near(w.grad(cross_entropy<sum>(x, t, w).backward()), {log2, 0, log2});
}

}  // namespace
}  // namespace strata
