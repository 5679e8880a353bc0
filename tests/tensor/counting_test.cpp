// Counting, searching, indices of several axes. Values: by hand, or from NumPy 2.
#include "tensor/function_fixture.hpp"

namespace strata {
namespace {

using namespace test;

class CountingTest : public FunctionFixture {};
STRATA_ON_EVERY_DEVICE(CountingTest);

TEST_P(CountingTest, UniqueValues) {
  const auto x = Tensor<2, Int>::from({{5, 1, 5}, {-2, 1, 5}}, device());
  EXPECT_EQ(ints(unique(x)), (Ints{-2, 1, 5}));
  const auto all = unique_all(x);
  EXPECT_EQ(ints(all.inverse), (Ints{2, 1, 2, 0, 1, 2}));
  EXPECT_EQ(ints(all.counts), (Ints{1, 2, 3}));
  EXPECT_EQ(ints(take(all.values, all.inverse)), ints(x));
  expect_near(unique(vector({0, nan_value, -0.0f, inf, nan_value, -inf})), {-inf, 0, inf, nan_value});
  EXPECT_EQ(ints(unique_all(vector({nan_value, 1, nan_value})).counts), (Ints{1, 2}));
  EXPECT_EQ(unique(vector({})).shape(), (Shape{0}));
  EXPECT_EQ(unique_all(Tensor<2>::zeros({3, 0}, device())).inverse.shape(), (Shape{3, 0}));
  EXPECT_EQ(bools(unique(Tensor<1, Bool>::from({true, false, true}, device()))), (Bools{0, 1}));
  EXPECT_EQ(ints(unique(Tensor<1, Int>::from({200, 3, 200}, device(), DType::u8).to_int())), (Ints{3, 200}));
  EXPECT_EQ(floats(unique(ramp(3, 3).t().slice({{.step = -2}}))), (Floats{0, 2, 3, 5, 6, 8}));
}

TEST_P(CountingTest, CountsNumbers) {
  EXPECT_EQ(ints(bincount(integers({1, 3, 1, 0}))), (Ints{1, 2, 0, 1}));
  EXPECT_EQ(ints(bincount(integers({1}), 4)), (Ints{0, 1, 0, 0}));
  EXPECT_EQ(ints(bincount(integers({}), 2)), (Ints{0, 0}));
  EXPECT_EQ(bincount(integers({})).shape(), (Shape{0}));
  EXPECT_EQ(floats(bincount(integers({1, 3, 1}), vector({0.5f, 2, 0.25f}))), (Floats{0, 0.75f, 0, 2}));
  EXPECT_EQ(ints(bincount(Tensor<1, Int>::from({2, 2}, device(), DType::u8))), (Ints{0, 0, 2}));
  EXPECT_THROW(static_cast<void>(bincount(integers({2, -1})).into_data()), IndexError);
  EXPECT_THROW(bincount(integers({1}), vector({1, 2})), ShapeError);
  EXPECT_THROW(bincount(integers({1}), -1), ArgumentError);
}

TEST_P(CountingTest, Histograms) {
  const auto x = vector({0, 0.5f, 1, 1.5f, 2, 2.1f, -0.1f, nan_value, inf});
  const auto [counts, edges] = histogram(x, 4, 0, 2);
  EXPECT_EQ(ints(counts), (Ints{1, 1, 1, 2}));
  EXPECT_EQ(floats(edges), (Floats{0, 0.5f, 1, 1.5f, 2}));
  EXPECT_EQ(ints(histogram(ramp(3, 4), vector({1, 2, 10, 11}))), (Ints{1, 8, 2}));
  EXPECT_EQ(ints(histogram(vector({}), 2, 0, 1).counts), (Ints{0, 0}));
  EXPECT_EQ(ints(histogram(vector({2, 2}), vector({2, 2, 2}))), (Ints{0, 2}));  // as NumPy: the last bin
  EXPECT_THROW(histogram(x, 0, 0, 1), ArgumentError);
  EXPECT_THROW(histogram(x, 2, 1, 1), ArgumentError);
  EXPECT_THROW(histogram(x, 2, 0, inf), ArgumentError);
  EXPECT_THROW(histogram(x, vector({1})), ShapeError);
}

TEST_P(CountingTest, SearchesSortedValues) {
  const auto sorted = vector({1, 3, 3, 5});
  const auto values = Tensor<2>::from({{0, 1, 3}, {4, 5, 6}}, device());
  EXPECT_EQ(ints(searchsorted(sorted, values)), (Ints{0, 0, 1, 3, 3, 4}));
  EXPECT_EQ(ints(searchsorted(sorted, values, true)), (Ints{0, 1, 3, 3, 4, 4}));
  const auto ends = vector({1, inf, nan_value, nan_value});
  EXPECT_EQ(ints(searchsorted(ends, vector({nan_value, inf, -inf}))), (Ints{2, 1, 0}));
  EXPECT_EQ(ints(searchsorted(ends, vector({nan_value, inf, -inf}), true)), (Ints{4, 2, 0}));
  EXPECT_EQ(ints(searchsorted(vector({}), values)), (Ints{0, 0, 0, 0, 0, 0}));
  const auto rows = Tensor<2, Int>::from({{0, 2, 4}, {10, 20, 30}}, device());
  EXPECT_EQ(ints(searchsorted(rows, Tensor<2, Int>::from({{3, -1}, {30, 31}}, device()))),
            (Ints{2, 0, 2, 3}));
  for (std::int64_t n = 1; n < 20; ++n) {
    const auto line = Tensor<1, Int>::arange(0, n, 1, device());
    EXPECT_EQ(ints(searchsorted(line, line)), ints(line)) << n;
    EXPECT_EQ(ints(searchsorted(line, line, true)), ints(line + 1)) << n;
  }
  EXPECT_EQ(ints(searchsorted(Tensor<1, Bool>::from({false, true}, device()),
                              Tensor<1, Bool>::from({true}, device()))),
            (Ints{1}));
  EXPECT_THROW(searchsorted(rows, Tensor<2, Int>::zeros({3, 1}, device())), ShapeError);
  EXPECT_THROW(searchsorted(sorted, Tensor<1>::zeros({1}, device(), DType::f64)), DTypeError);
}

TEST_P(CountingTest, FindsElements) {
  const auto x = Tensor<2, Int>::from({{1, 0}, {0, 5}}, device());
  EXPECT_EQ(bools(isin(x, integers({5, 7, 0}))), (Bools{0, 1, 1, 1}));
  EXPECT_EQ(bools(isin(x, integers({}))), (Bools{0, 0, 0, 0}));
  EXPECT_EQ(bools(isin(vector({nan_value, inf, 0}), vector({nan_value, inf, -0.0f}))), (Bools{0, 1, 1}));
  EXPECT_EQ(ints(nonzero(x)), (Ints{0, 0, 1, 1}));
  EXPECT_EQ(ints(nonzero(vector({0, nan_value, -0.0f, 2}))), (Ints{1, 3}));
  EXPECT_EQ(ints(nonzero(Tensor<1, Bool>::from({false, true}, device()))), (Ints{1}));
  EXPECT_EQ(ints(argtopk(vector({3, 9, 9, 1}), 2)), (Ints{1, 2}));
  EXPECT_EQ(ints(argtopk(vector({3, 9, 9, 1}), 1, 0, false)), (Ints{3}));
  EXPECT_THROW(argtopk(vector({3}), 2), ShapeError);
}

TEST_P(CountingTest, TakesByFlatPlaces) {
  const auto x = ramp(2, 3).t();
  EXPECT_EQ(floats(take(x, Tensor<2, Int>::from({{0, 1}, {5, 0}}, device()))), (Floats{0, 3, 5, 0}));
  EXPECT_EQ(floats(take(x, Tensor<0, Int>::from(2, device(), DType::u8))), (Floats{1}));
  EXPECT_THROW(static_cast<void>(take(x, integers({6})).into_data()), IndexError);
}

TEST_P(CountingTest, GathersByPlacesOnSeveralAxes) {
  const auto x = Tensor<1>::arange(0, 12, 1, device()).reshape<3>({2, 3, 2});
  const auto index = Tensor<2, Int>::from({{1, 0}, {0, 2}, {1, 0}}, device());
  EXPECT_EQ(floats(gather_nd<2>(x, index)), (Floats{6, 7, 4, 5, 6, 7}));
  EXPECT_EQ(floats(gather_nd<3>(x, Tensor<1, Int>::from({1, 2, 1}, device()))), (Floats{11}));
  EXPECT_EQ(floats(gather_nd<1>(x, Tensor<2, Int>::from({{1}}, device()))), (Floats{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(gather_nd<0>(x, Tensor<2, Int>::zeros({4, 0}, device())).shape(), (Shape{4, 2, 3, 2}));
  EXPECT_EQ(gather_nd<2>(x, Tensor<2, Int>::zeros({0, 2}, device())).shape(), (Shape{0, 2}));
  EXPECT_THROW(gather_nd<2>(x, Tensor<2, Int>::zeros({1, 3}, device())), ShapeError);
  // An index past its own axis is refused even where the flat place exists.
  for (const auto& bad :
       {Tensor<2, Int>::from({{0, 3}}, device()), Tensor<2, Int>::from({{0, -1}}, device())}) {
    EXPECT_THROW(static_cast<void>(gather_nd<2>(x, bad).into_data()), IndexError);
    EXPECT_THROW(static_cast<void>(scatter_nd(x, bad, Tensor<2>::ones({1, 2}, device())).into_data()),
                 IndexError);
  }
}

TEST_P(CountingTest, ScattersToPlacesOnSeveralAxes) {
  const auto x = Tensor<2>::full({2, 2}, 3, device());
  const auto index = Tensor<2, Int>::from({{0, 1}, {1, 0}, {0, 1}}, device());
  const auto source = vector({5, 2, 4});
  const std::pair<ScatterMode, Floats> cases[] = {{ScatterMode::assign, {3, 4, 2, 3}},
                                                  {ScatterMode::add, {3, 12, 5, 3}},
                                                  {ScatterMode::mul, {3, 60, 6, 3}},
                                                  {ScatterMode::max, {3, 5, 3, 3}},
                                                  {ScatterMode::min, {3, 3, 2, 3}}};
  for (const auto& [mode, wanted] : cases) EXPECT_EQ(floats(scatter_nd(x, index, source, mode)), wanted);
  const auto rows = scatter_nd(x, Tensor<2, Int>::from({{1}}, device()), Tensor<2>::from({{7, 8}}, device()));
  EXPECT_EQ(floats(rows), (Floats{3, 3, 7, 8}));
  EXPECT_THROW(scatter_nd(x, index, vector({1, 2})), ShapeError);
}

// Case 16: a leading batch axis of 1, contiguous and as a slice with step 2.
TEST_P(CountingTest, ScattersUnderALeadingAxisOfOne) {
  const auto data = Tensor<4>::zeros({1, 2, 4, 2}, device());
  const auto place = [](std::int64_t i, std::int64_t j) { return std::array<std::int64_t, 4>{0, i, j, 0}; };
  Ints rows, spread;
  Floats values, gaps;
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      for (auto v : place(i, j)) {
        rows.push_back(v);
        spread.insert(spread.end(), {v, 77});
      }
      values.push_back(static_cast<float>(10 * (4 * i + j + 1)));
      gaps.insert(gaps.end(), {values.back(), -1});
    }
  }
  const auto index = Tensor<5, Int>::from(rows, {1, 2, 4, 1, 4}, device());
  const auto source = Tensor<4>::from(values, {1, 2, 4, 1}, device());
  const auto strided_index =
      Tensor<5, Int>::from(spread, {1, 2, 4, 1, 8}, device()).slice({{}, {}, {}, {}, {.step = 2}});
  const auto strided_source = Tensor<4>::from(gaps, {1, 2, 4, 2}, device()).slice({{}, {}, {}, {.step = 2}});
  for (const auto& result :
       {scatter_nd(data, index, source), scatter_nd(data, strided_index, strided_source)}) {
    const auto got = floats(result);
    for (std::size_t k = 0; k < 8; ++k) {
      EXPECT_EQ(got[2 * k], static_cast<float>(10 * (k + 1)));
      EXPECT_EQ(got[2 * k + 1], 0);
    }
  }
}

class CountingGradientTest : public OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(CountingGradientTest);

TEST_P(CountingGradientTest, AgreeWithDifferences) {
  const auto d = device();
  const auto pairs = [](const Device& on) { return Tensor<2, Int>::from({{1, 0}, {0, 2}, {1, 0}}, on); };
  expect_gradient<1>(d, {5}, [](const auto& x) { return unique(x); });
  expect_gradient<1>(d, {3}, [](const auto& w) {
    return bincount(Tensor<1, Int>::from({2, 0, 2}, w.device()), w);
  });
  expect_gradient<2>(d, {2, 3}, [](const auto& x) {
    return take(x, Tensor<1, Int>::from({4, 0, 4}, x.device()));
  });
  expect_gradient<3>(d, {2, 3, 2}, [&](const auto& x) { return gather_nd<2>(x, pairs(x.device())); });
  for (auto mode :
       {ScatterMode::assign, ScatterMode::add, ScatterMode::mul, ScatterMode::max, ScatterMode::min}) {
    expect_gradient<2>(d, {2, 3}, [&](const auto& x) {
      return scatter_nd(x, pairs(x.device()), x.template reshape<1>({6}).slice({{.step = 2}}) + 0.25, mode);
    });
  }
}

}  // namespace
}  // namespace strata
