// Faults met in the field that concern how kernels walk memory and combine numbers.
#include <cmath>
#include <limits>
#include <numeric>

#include "cube/harness.hpp"

namespace strata::cube::test {
namespace {

using op::BinaryKind;
using op::ReduceKind;

class CubeCases : public CubeTest {
 protected:
  backend::ValueRef reduce(ReduceKind kind, const Axes& axes, const backend::ValueRef& x) const {
    return run(op::Reduce{kind, axes, false}, {x});
  }
  backend::ValueRef add(const backend::ValueRef& a, const backend::ValueRef& b) const {
    return run(op::Binary{BinaryKind::add}, {a, b});
  }
  backend::ValueRef range(std::int64_t n, DType t = DType::f32, int start = 0) const {
    return run(op::Iota{n, t, start, 1});
  }
  backend::ValueRef empty(const Shape& shape, DType t = DType::f32) const {
    return run(op::Fill{shape, t, 0});
  }
};

TEST_F(CubeCases, ZeroSizedOperandsBroadcastAndLaunchNothing) {  // 1, 6
  const auto builds = cube().kernels().builds();
  const auto binary = [&](BinaryKind k, const Shape& a, const Shape& b) {
    return run(op::Binary{k}, {empty(a), put(random_data(DType::f32, b))})->shape;
  };
  EXPECT_EQ(binary(BinaryKind::add, {2, 0}, {2, 1}), (Shape{2, 0}));
  EXPECT_EQ(binary(BinaryKind::add, {0, 3}, {1, 3}), (Shape{0, 3}));
  EXPECT_EQ(binary(BinaryKind::mul, {1, 0}, {2, 0}), (Shape{2, 0}));
  const auto compared =
      run(op::Compare{op::CompareKind::greater}, {empty({2, 0}), put(random_data(DType::f32, {2, 1}))});
  EXPECT_EQ(get(compared).shape(), (Shape{2, 0}));
  const auto mask = put<bool>({true, false}, {2, 1});
  EXPECT_EQ(get(run(op::Where{}, {mask, empty({2, 0}), put<float>({1, 2}, {2, 1})})).shape(), (Shape{2, 0}));
  EXPECT_EQ(get(run(op::Reshape{{3, 0}}, {empty({0, 5})})).shape(), (Shape{3, 0}));
  EXPECT_EQ(cube().kernels().builds(), builds);
}

TEST_F(CubeCases, ReductionsOverAnEmptyAxis) {  // 2
  const auto x = empty({3, 0});
  EXPECT_EQ(values<float>(reduce(ReduceKind::sum, {1}, x)), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(values<float>(reduce(ReduceKind::prod, {1}, x)), (std::vector<float>{1, 1, 1}));
  for (float v : values<float>(reduce(ReduceKind::mean, {1}, x))) EXPECT_TRUE(std::isnan(v));
  EXPECT_THROW(reduce(ReduceKind::max, {1}, x), ShapeError);
  EXPECT_THROW(reduce(ReduceKind::max, {1}, empty({0, 0})), ShapeError);
  EXPECT_THROW(reduce(ReduceKind::mean, {1}, empty({3, 0}, DType::i32)), ShapeError);
  EXPECT_EQ(get(run(op::Reduce{ReduceKind::sum, {1}, true}, {empty({0, 3})})).shape(), (Shape{0, 1}));
}

TEST_F(CubeCases, TransposedViewIsReducedAlongItsOwnAxis) {  // 9
  const auto x = run(op::Permute{{1, 0}}, {put<float>({1, 2, 3, 4, 5, 6}, {2, 3})});
  EXPECT_EQ(values<float>(reduce(ReduceKind::sum, {1}, x)), (std::vector<float>{5, 7, 9}));
  EXPECT_EQ(values<float>(reduce(ReduceKind::prod, {1}, x)), (std::vector<float>{4, 10, 18}));
  EXPECT_EQ(values<float>(reduce(ReduceKind::mean, {1}, x)), (std::vector<float>{2.5, 3.5, 4.5}));
}

TEST_F(CubeCases, PrefixOfALargerBufferEndsWhereTheViewEnds) {  // 10
  const auto matrix = run(op::Reshape{{8, 5}}, {range(40)});
  const auto prefix = run(op::Slice{{0, 0}, {5, 5}, {1, 1}}, {matrix});
  std::vector<float> expected(25);
  std::iota(expected.begin(), expected.end(), 0.f);
  EXPECT_EQ(values<float>(prefix), expected);
  EXPECT_EQ(values<float>(reduce(ReduceKind::sum, {0, 1}, prefix)), (std::vector<float>{300}));
}

TEST_F(CubeCases, ResultNeverOverwritesASharedElement) {  // 11
  const auto x = put<std::int32_t>({1, 2, 3}, {3});
  const auto y = add(run(op::Expand{{2, 3}}, {x}), run(op::Fill{{}, DType::i32, 1}));
  EXPECT_EQ(values<std::int32_t>(y), (std::vector<std::int32_t>{2, 3, 4, 2, 3, 4}));
  EXPECT_EQ(values<std::int32_t>(x), (std::vector<std::int32_t>{1, 2, 3}));
}

TEST_F(CubeCases, OperandAndItsTransposedViewMayMeet) {  // 12
  const auto b = put<bool>({true, false, true, true}, {2, 2});
  EXPECT_EQ(values<bool>(run(op::Binary{BinaryKind::bit_and}, {b, run(op::Permute{{1, 0}}, {b})})),
            (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(values<bool>(b), (std::vector<bool>{true, false, true, true}));
  const auto x = put<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(values<float>(run(op::Binary{BinaryKind::mul}, {x, run(op::Permute{{1, 0}}, {x})})),
            (std::vector<float>{1, 6, 6, 16}));
}

TEST_F(CubeCases, NegativeStrides) {  // 15
  const auto reversed = run(op::Flip{{0}}, {range(8)});
  EXPECT_EQ(values<float>(add(reversed, reversed)), (std::vector<float>{14, 12, 10, 8, 6, 4, 2, 0}));
  const auto rows = run(op::Flip{{0}}, {run(op::Reshape{{2, 65}}, {range(130, DType::f32, 1)})});
  EXPECT_EQ(values<float>(reduce(ReduceKind::sum, {1}, rows)), (std::vector<float>{6370, 2145}));
  EXPECT_EQ(values<float>(reduce(ReduceKind::max, {1}, rows)), (std::vector<float>{130, 65}));
  const auto both = run(op::Flip{{0, 1}}, {run(op::Reshape{{2, 65}}, {range(130, DType::f32, 1)})});
  EXPECT_EQ(values<float>(reduce(ReduceKind::sum, {1}, both)), (std::vector<float>{6370, 2145}));
}

TEST_F(CubeCases, ShapesBeyond32BitsNeedNoMemoryAsViews) {  // 19
  const auto zero = run(op::Expand{{std::int64_t{1} << 30, 2}}, {empty({}, DType::u8)});
  EXPECT_EQ(run(op::Reshape{{std::int64_t{1} << 31}}, {zero})->shape, (Shape{2147483648}));
  const op::TensorType third{DType::u8, {std::int64_t{1} << 30}};
  EXPECT_EQ(cube().plan(op::Cat{0}, std::vector{third, third, third}).size(), 3u);
}

TEST_F(CubeCases, IndicesBeyond32Bits) {  // 21
  const std::int64_t n = (std::int64_t{1} << 31) + 16;
  const auto x = run(op::Expand{{n}}, {put<std::uint8_t>({7}, {1})});
  EXPECT_EQ(values<std::uint8_t>(reduce(ReduceKind::max, {0}, x)), (std::vector<std::uint8_t>{7}));
  EXPECT_EQ(values<std::uint8_t>(run(op::Slice{{n - 32}, {n}, {1}}, {x})), std::vector<std::uint8_t>(32, 7));
  const auto sum = values<std::uint8_t>(reduce(ReduceKind::sum, {0}, x))[0];
  EXPECT_EQ(sum, static_cast<std::uint8_t>(7 * n));
}

TEST_F(CubeCases, NaNWinsMaxAndMinOnEveryPath) {  // 22
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t n : {3, 600, 100000}) {
    for (std::int64_t at : {std::int64_t{0}, std::int64_t{1}, n - 1}) {
      std::vector<float> row(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] = static_cast<float>(i % 7) - 3;
      row[static_cast<std::size_t>(at)] = nan;
      const auto x = put(TensorData::from<float>(row, {n, 1}));
      for (auto kind : {ReduceKind::max, ReduceKind::min}) {
        EXPECT_TRUE(std::isnan(values<float>(reduce(kind, {0}, x))[0])) << n << " rows, NaN at " << at;
        const auto wide = run(op::Expand{{n, 70}}, {x});
        const auto dense = add(wide, run(op::Fill{{}, DType::f32, 0}));
        for (float v : values<float>(reduce(kind, {0}, dense))) EXPECT_TRUE(std::isnan(v));
        EXPECT_TRUE(std::isnan(
            values<float>(run(op::Binary{kind == ReduceKind::max ? BinaryKind::max : BinaryKind::min},
                              {x, run(op::Fill{{}, DType::f32, 1})}))[static_cast<std::size_t>(at)]));
      }
    }
  }
}

TEST_F(CubeCases, HalvesAccumulateInSinglePrecision) {  // 27
  const auto positive = run(op::Fill{{4}, DType::f16, 32000}),
             negative = run(op::Fill{{4}, DType::f16, -32000});
  const auto x = run(op::Cat{0}, {positive, negative});
  EXPECT_EQ(static_cast<float>(values<Float16>(reduce(ReduceKind::sum, {0}, x))[0]), 0.f);
  const auto large =
      run(op::Cat{0}, {run(op::Fill{{2048}, DType::f16, 60000}), run(op::Fill{{2048}, DType::f16, -60000})});
  EXPECT_EQ(static_cast<float>(values<Float16>(reduce(ReduceKind::sum, {0}, large))[0]), 0.f);
}

TEST_F(CubeCases, LongSumsStayAccurate) {  // 29
  const std::int64_t n = 1392640;
  const auto x = run(op::Fill{{n}, DType::f32, 0.1});
  EXPECT_NEAR(values<float>(reduce(ReduceKind::sum, {0}, x))[0], 139264.0, 0.139);
  const auto column = run(op::Reshape{{n / 5, 5}}, {x});
  for (float v : values<float>(reduce(ReduceKind::sum, {0}, column))) EXPECT_NEAR(v, 27852.8, 0.0278);
  const auto row = run(op::Reshape{{5, n / 5}}, {x});
  for (float v : values<float>(reduce(ReduceKind::mean, {1}, row))) EXPECT_NEAR(v, 0.1, 1e-7);
}

TEST_F(CubeCases, InfiniteSumsAreNotSpoiledByTheCompensation) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto x = put<float>({1, inf, 2, inf}, {4});
  EXPECT_EQ(values<float>(reduce(ReduceKind::sum, {0}, x))[0], inf);
  EXPECT_TRUE(std::isnan(values<float>(reduce(ReduceKind::sum, {0}, put<float>({inf, -inf}, {2})))[0]));
}

TEST_F(CubeCases, FlooredIntegerDivisionAndRemainder) {  // 31
  using I = std::int32_t;
  const auto a = put<I>({-3, -2, -1, 1, 2, 3}, {6}), b = put<I>({2, 3, 1, 2, 1, 3}, {6});
  EXPECT_EQ(values<I>(run(op::Binary{BinaryKind::rem}, {a, b})), (std::vector<I>{1, 1, 0, 1, 0, 0}));
  const auto c = put<I>({-7, 7, -7, 7, 5}, {5}), d = put<I>({2, 2, -2, -2, 0}, {5});
  EXPECT_EQ(values<I>(run(op::Binary{BinaryKind::div}, {c, d})), (std::vector<I>{-4, 3, 3, -4, 0}));
  EXPECT_EQ(values<I>(run(op::Binary{BinaryKind::rem}, {c, d})), (std::vector<I>{1, 1, -1, -1, 0}));
}

TEST_F(CubeCases, AbsOfTheSmallestIntegerWraps) {  // 32
  const auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(values<std::int64_t>(run(op::Unary{op::UnaryKind::abs}, {put<std::int64_t>({least}, {1})}))[0],
            least);
}

TEST_F(CubeCases, TooLargeAResultFailsForItsReadersOnly) {
  const auto x = run(op::Fill{{16}, DType::f32, 1});
  const auto huge = run(op::Fill{{std::int64_t{1} << 48}, DType::f32, 1});
  const auto from_huge = run(op::Unary{op::UnaryKind::exp}, {huge});
  EXPECT_THROW(get(reduce(ReduceKind::sum, {0}, from_huge)), OutOfMemoryError);
  EXPECT_EQ(values<float>(x), std::vector<float>(16, 1.f));
}

TEST_F(CubeCases, TenThousandLengthsShareAFewKernels) {  // 61
  const auto before = cube().kernels().builds();
  for (std::int64_t n = 1; n <= 10000; ++n) {
    const auto x = run(op::Fill{{n}, DType::f32, 2});
    const auto y = run(op::Unary{op::UnaryKind::neg}, {x});
    if (n % 997 == 0) {
      EXPECT_EQ(values<float>(reduce(ReduceKind::sum, {0}, y))[0], -2.f * static_cast<float>(n));
    }
  }
  EXPECT_LE(cube().kernels().builds() - before, 12u);
}

}  // namespace
}  // namespace strata::cube::test
