#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/convert.hpp"
#include "strata/dtype.hpp"
#include "strata/error.hpp"
#include "strata/tensor_data.hpp"

namespace strata {
namespace {

TEST(Halves, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    Float16 h;
    BFloat16 b;
    h.bits = b.bits = static_cast<std::uint16_t>(bits);
    const float hf = static_cast<float>(h), bf = static_cast<float>(b);
    if (std::isnan(hf))
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(hf))));
    else
      EXPECT_EQ(Float16(hf).bits, bits);
    if (std::isnan(bf))
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(bf))));
    else
      EXPECT_EQ(BFloat16(bf).bits, bits);
  }
}

TEST(Halves, RoundToNearestEven) {
  // Half-way cases between neighbours, checked against the neighbours themselves.
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    Float16 low, high;
    low.bits = static_cast<std::uint16_t>(bits);
    high.bits = static_cast<std::uint16_t>(bits + 1);
    const float middle = (static_cast<float>(low) + static_cast<float>(high)) / 2;
    EXPECT_EQ(Float16(middle).bits, bits + (bits & 1)) << bits;
    EXPECT_EQ(Float16(std::nextafter(middle, 0.f)).bits, bits);
    EXPECT_EQ(Float16(std::nextafter(middle, 1e9f)).bits, bits + 1);
  }
  EXPECT_EQ(Float16(65519.f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.f).bits, 0x7c00);
  EXPECT_EQ(Float16(1e30f).bits, 0x7c00);
  EXPECT_EQ(Float16(-1e-30f).bits, 0x8000);
  EXPECT_EQ(BFloat16(1.00390625f).bits, 0x3f80);  // half-way, even below
  EXPECT_EQ(BFloat16(1.01171875f).bits, 0x3f82);  // half-way, even above
}

// Rows and columns: f64 f32 f16 bf16 i64 i32 u8 bool, as in docs/conventions.md.
TEST(Promotion, FollowsTheTable) {
  using enum DType;
  constexpr DType table[dtype_count][dtype_count] = {
      {f64, f64, f64, f64, f64, f64, f64, f64},  {f64, f32, f32, f32, f32, f32, f32, f32},
      {f64, f32, f16, f32, f16, f16, f16, f16},  {f64, f32, f32, bf16, bf16, bf16, bf16, bf16},
      {f64, f32, f16, bf16, i64, i64, i64, i64}, {f64, f32, f16, bf16, i64, i32, i32, i32},
      {f64, f32, f16, bf16, i64, i32, u8, u8},   {f64, f32, f16, bf16, i64, i32, u8, boolean}};
  for (int i = 0; i < dtype_count; ++i) {
    for (int j = 0; j < dtype_count; ++j) {
      EXPECT_EQ(promote_types(static_cast<DType>(i), static_cast<DType>(j)), table[i][j]) << i << ", " << j;
    }
  }
}

TEST(Convert, FloatToIntSaturatesAndNanIsZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(base::convert<std::int32_t>(nan), 0);
  EXPECT_EQ(base::convert<std::int32_t>(inf), INT32_MAX);
  EXPECT_EQ(base::convert<std::int32_t>(-inf), INT32_MIN);
  EXPECT_EQ(base::convert<std::int64_t>(1e30), INT64_MAX);
  EXPECT_EQ(base::convert<std::uint8_t>(-3.0f), 0);
  EXPECT_EQ(base::convert<std::uint8_t>(300.0f), 255);
  EXPECT_EQ(base::convert<std::uint8_t>(255.9f), 255);
  EXPECT_EQ(base::convert<std::int32_t>(-2.9f), -2);
  EXPECT_TRUE(base::convert<bool>(nan));
  EXPECT_FALSE(base::convert<bool>(-0.0f));
  EXPECT_EQ(base::convert<std::uint8_t>(std::int64_t{257}), 1);
}

TEST(TensorData, ChecksCountsAndTypes) {
  EXPECT_THROW(TensorData::from<float>({1, 2, 3}, {2, 2}), ShapeError);
  EXPECT_THROW(TensorData::from<float>({1}, {1}).to_vector<double>(), DTypeError);
  EXPECT_THROW((Shape{1, 2, 3, 4, 5, 6, 7, 8, 9}), ShapeError);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(TensorData::from<float>({1}, {1}).bytes()) % 64, 0u);
}

TEST(TensorData, PrintsEveryRank) {
  EXPECT_EQ(TensorData::from<float>({1.5f}, {}).to_string(), "1.5");
  EXPECT_EQ(TensorData::from<std::int64_t>({1, 2, 3, 4}, {1, 2, 2}).to_string(), "[[[1, 2],\n  [3, 4]]]");
  EXPECT_EQ(TensorData::from<bool>({true, false}, {2}).to_string(), "[true, false]");
  EXPECT_EQ(TensorData::from<float>({}, {0, 3}).to_string(), "[]");
}

}  // namespace
}  // namespace strata
