#include <limits>

#include "tensor/devices.hpp"

namespace strata {
namespace {

using Floats = std::vector<float>;

class QuantizeTest : public test::OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(QuantizeTest);

TEST_P(QuantizeTest, RoundsToTheGridOfScaleAndZeroPoint) {
  const auto x =
      Tensor<1>::from({-1, -0.26F, 0, 0.25F, 0.75F, 100, std::numeric_limits<float>::quiet_NaN()}, device());
  const auto q =
      quantize(x, Tensor<1>::from({0.5F}, device()), Tensor<1, Int>::from({3}, device(), DType::u8));
  EXPECT_EQ(q.values.dtype(), DType::u8);
  EXPECT_EQ(q.values.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 2, 3, 3, 5, 103 + 100, 0}));
  EXPECT_EQ(q.dequantize().narrow(0, 0, 5).to_vector<float>(), (Floats{-1, -0.5F, 0, 0, 1}));
}

TEST_P(QuantizeTest, RangesHoldAllElementsAndZero) {
  const auto x = Tensor<2>::from({{-1, 0, 2}, {10, 30, 51}}, device());
  const auto whole = quantize(x);
  EXPECT_EQ(whole.scale.shape(), (Shape{1, 1}));
  EXPECT_EQ(whole.values.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 5, 15, 54, 152, 255}));
  const auto rows = quantize(x, {.axis = 0});
  EXPECT_EQ(rows.scale.shape(), (Shape{2, 1}));
  EXPECT_EQ(rows.values.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 85, 255, 50, 150, 255}));
  EXPECT_EQ(quantize(x, {.axis = -1, .symmetric = true}).zero_point.to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{128, 128, 128}));
  for (const auto& q : {whole, rows, quantize(x, {.symmetric = true})}) {
    const auto error = (q.dequantize() - x).abs(), half_step = q.scale * 0.501;
    EXPECT_TRUE(error.less_equal(half_step).all().item());
    EXPECT_EQ(q.dequantize().to_vector<float>()[1], 0);
  }
  EXPECT_EQ(quantize(Tensor<1>::zeros({3}, device())).dequantize().to_vector<float>(), Floats(3, 0));
}

TEST_P(QuantizeTest, FakeQuantisationPassesGradientsInsideTheRange) {
  const auto x = Tensor<1>::from({-7, -1, 0.3F, 200}, device().autodiff()).require_grad();
  const auto scale = Tensor<1>::from({0.5F}, x.device());
  const auto zero = Tensor<1, Int>::from({4}, x.device(), DType::u8);
  const auto y = fake_quantize(x, scale, zero);
  EXPECT_EQ(y.to_vector<float>(), (Floats{-2, -1, 0.5F, 125.5F}));
  EXPECT_EQ(x.grad((y * 3).sum().backward()).to_vector<float>(), (Floats{0, 3, 3, 0}));
}

}  // namespace
}  // namespace strata
