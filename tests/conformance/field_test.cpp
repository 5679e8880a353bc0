/// Faults met in the field whose inputs are too large to be data, on every device; those of more than 2^18
/// elements or products not interpreted.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "conformance/devices.hpp"

namespace strata::conformance {
namespace {

class FieldCases : public Conformance {};
class LargeFieldCases : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (GetParam().interpreted) GTEST_SKIP() << "too large to be interpreted";
  }
};

Array row_of(std::vector<Exact> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return {DType::f32, {1, n}, std::move(values)};
}

TEST_P(FieldCases, RowsOfReversedMatrixAreSorted) {
  const std::int64_t n = 32769;
  const auto x = random_array(DType::f32, {3, n}, 1);
  const auto reversed = bridge::flip(upload(backend(), x), {0});
  const auto order = bridge::argsort(reversed, 1, false);
  const auto sorted = read(bridge::gather(reversed, 1, order));
  for (std::int64_t row = 0; row < 3; ++row) {
    std::vector<Exact> expected(x.values.begin() + (2 - row) * n, x.values.begin() + (3 - row) * n);
    std::ranges::sort(expected);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sorted.values.begin() + row * n)) << row;
  }
}

TEST_P(FieldCases, MaskedSoftmaxOfManyRows) {
  Array x{DType::f32, {6, 96, 96}, {}};
  for (int i = 0; i < 6 * 96 * 96; ++i)
    x.values.push_back(rounded(DType::f32, (static_cast<Exact>(i) / 55296 - 0.5L) * 20));
  const auto q = bridge::reshape(bridge::iota(backend(), 96, DType::i64, 0, 1), {96, 1});
  const auto k = bridge::reshape(bridge::iota(backend(), 96, DType::i64, 0, 1), {1, 96});
  const auto masked = bridge::where(bridge::compare(op::CompareKind::greater, k, q),
                                    bridge::fill(backend(), {}, DType::f32, -10000), upload(backend(), x));
  const auto p = bridge::softmax(masked, 2, false);
  const auto got = read(p);
  for (std::int64_t row = 0; row < 6 * 96; ++row) {
    const auto first = got.values.begin() + row * 96;
    EXPECT_NEAR(static_cast<double>(std::accumulate(first, first + 96, Exact{0})), 1, 1e-5);
    EXPECT_TRUE(std::all_of(first + row % 96 + 1, first + 96, [](Exact v) { return v == 0; })) << row;
  }
  EXPECT_EQ(got.values[0], 1);
  EXPECT_NEAR(static_cast<double>(got.values[96]), 0.49990958, 1e-6);
  EXPECT_NEAR(static_cast<double>(got.values[97]), 0.50009042, 1e-6);
}

TEST_P(FieldCases, OppositeLargeHalvesContainNoNaN) {
  Array x{DType::f16, {4096}, std::vector<Exact>(2048, 60000)};
  x.values.resize(4096, -60000);
  const auto v = upload(backend(), x);
  const auto any = bridge::reduce_all(op::ReduceKind::max, bridge::compare(op::CompareKind::not_equal, v, v));
  expect_equal(any, {DType::boolean, {}, {0}});
}

TEST_P(FieldCases, NaNWinsOnEveryPathAlsoOfASum) {
  for (std::int64_t n : {3, 511, 512, 600, 5000}) {
    for (std::int64_t at : {std::int64_t{1}, n - 1}) {
      auto values = random_array(DType::f32, {1, n}, 2).values;
      values[static_cast<std::size_t>(at)] = nan_value;
      const auto x = upload(backend(), row_of(values));
      for (const auto& v : {x, bridge::add(x, x)}) {
        for (auto kind : {op::ExtremumKind::max, op::ExtremumKind::min}) {
          expect_equal(bridge::arg_reduce(kind, v, 1, false), {DType::i64, {1}, {static_cast<Exact>(at)}});
          expect_equal(bridge::arg_reduce(kind, bridge::transpose(v), 0, false),
                       {DType::i64, {1}, {static_cast<Exact>(at)}});
        }
      }
    }
  }
}

/// Tensors large enough to be split over threads and strips, whole entries and single elements.
TEST_P(LargeFieldCases, LargeGathersAndScattersMeetTheModel) {
  const std::int64_t rows = 70, n = 150, depth = 30;
  const auto x = random_array(DType::f32, {rows, n, depth}, 3);
  for (int axis = 0; axis < 3; ++axis) {
    for (bool shared : {true, false}) {
      SCOPED_TRACE(axis);
      auto index = x;
      index.dtype = DType::i64;
      for (std::int64_t i = 0; i < x.shape.product(); ++i) {
        const auto at = index_of(x.shape, i)[static_cast<std::size_t>(axis)];
        index.values[static_cast<std::size_t>(i)] =
            static_cast<Exact>((shared ? at * 7 + 3 : i * 31 + at) % x.shape[axis]);
      }
      const auto to = [&](std::int64_t i) {
        auto at = index_of(x.shape, i);
        at[static_cast<std::size_t>(axis)] =
            static_cast<std::int64_t>(index.values[static_cast<std::size_t>(i)]);
        return static_cast<std::size_t>(x.offset(at));
      };
      auto gathered = x, added = x;
      for (std::int64_t i = 0; i < x.shape.product(); ++i) {
        gathered.values[static_cast<std::size_t>(i)] = x.values[to(i)];
        added.values[to(i)] += x.values[static_cast<std::size_t>(i)];
      }
      for (auto& v : added.values) v = rounded(DType::f32, v);
      auto at = upload(backend(), index);
      if (shared) {
        Shape one{1, 1, 1};
        one[axis] = x.shape[axis];
        at = bridge::expand(bridge::slice(at, {0, 0, 0}, one, {1, 1, 1}), x.shape);
      }
      const auto v = upload(backend(), x);
      expect_equal(bridge::gather(v, axis, at), gathered);
      expect_equal(bridge::scatter(v, axis, at, v, op::ScatterMode::add), added,
                   [](auto) { return 0x1p-23L * 3 * static_cast<Exact>(rows + n); });
    }
  }
}

TEST_P(FieldCases, OperationsOfOneFamilyAreNotTakenForEachOther) {  // case 45
  const Array p{DType::f32,
                {4},
                {rounded(DType::f32, 0.1L), rounded(DType::f32, 0.2L), rounded(DType::f32, 0.3L),
                 rounded(DType::f32, 0.4L)}};
  const auto v = upload(backend(), p);
  const auto entropy = [&](op::UnaryKind log) {
    const auto terms = bridge::binary(op::BinaryKind::mul, v, bridge::unary(log, v));
    return bridge::unary(op::UnaryKind::neg, bridge::reduce(op::ReduceKind::sum, terms, {0}, true));
  };
  const auto both = read(bridge::cat({entropy(op::UnaryKind::log), entropy(op::UnaryKind::log2)}, 0));
  EXPECT_NEAR(static_cast<double>(both.values[0]), 1.2798542, 2e-7);
  EXPECT_NEAR(static_cast<double>(both.values[1]), 1.8464393, 2e-7);
}

TEST_P(LargeFieldCases, PointwiseConvolutionsAreProducts) {  // case 51
  for (const auto& [in, out] : {std::pair{104, 208}, {440, 440}}) {
    const std::int64_t n = 2, side = 7;
    const auto x = random_array(DType::f32, {n, in, side, side}, 5),
               w = random_array(DType::f32, {out, in}, 6);
    const auto xs = upload(backend(), x), ws = upload(backend(), w);
    const auto got = read(bridge::conv({.stride = {1, 1}, .padding = {0, 0}, .dilation = {1, 1}, .extra = {}},
                                       xs, bridge::reshape(ws, {out, in, 1, 1})));
    for (std::int64_t i = 0; i < got.shape.product(); ++i) {
      const auto at = index_of(got.shape, i);
      Exact sum = 0, size = 0;
      for (std::int64_t c = 0; c < in; ++c) {
        const auto term = x.values[static_cast<std::size_t>(x.offset({at[0], c, at[2], at[3]}))] *
                          w.values[static_cast<std::size_t>(w.offset({at[1], c}))];
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(static_cast<double>(got.values[static_cast<std::size_t>(i)]), static_cast<double>(sum),
                  static_cast<double>(size) * in * 0x1p-24);
    }
  }
}

// Beyond the caches' size devices copy by other means; tiles, their edges and batches must all be right.
TEST_P(LargeFieldCases, LargeTransposedCopies) {
  const auto check = [&]<class T>(const Shape& shape) {
    SCOPED_TRACE(shape.to_string() + " of " + std::to_string(sizeof(T)) + " bytes");
    std::vector<T> values(static_cast<std::size_t>(shape.product()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 7919 % 251);
    const auto x = backend().from_data(TensorData::from<T>(values, shape));
    const auto y = backend().into_data(bridge::permute(x, {0, 2, 1})).get();
    const auto got = y.template as<T>();
    const auto n = shape[1], m = shape[2];
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < shape.product(); ++i) {
      const auto batch = i / (n * m), row = i / n % m, column = i % n;
      wrong += got[static_cast<std::size_t>(i)] !=
               values[static_cast<std::size_t>(batch * n * m + column * m + row)];
    }
    EXPECT_EQ(wrong, 0);
  };
  const auto check_each = [&](const Shape& shape) {
    check.template operator()<std::uint8_t>(shape);
    check.template operator()<std::int32_t>(shape);
    check.template operator()<double>(shape);
  };
  check_each({3, 1600, 1000});  // whole lines in the target
  check_each({2, 1537, 1600});  // broken ones
  check.template operator()<Float16>({1, 1088, 2050});
}

// Found by the fuzzer: matrices of a batch that share elements.
TEST_P(FieldCases, ProductsOfOverlappingWindows) {
  for (std::int64_t side : {12, 40}) {
    const auto x = random_array(DType::f32, {side, side}, 7), w = random_array(DType::f32, {1, 3, side}, 8);
    const auto windows = bridge::unfold(upload(backend(), x), 0, 3, 2);  // [count, side, 3]
    const auto b = upload(backend(), w);
    const auto dense = bridge::add(windows, 0.0);
    expect_equal(bridge::matmul(windows, b), read(bridge::matmul(dense, b)),
                 [](auto) { return 0x1p-22L * 6; });
    const auto turned = bridge::transpose(windows, 1, 2);
    expect_equal(bridge::matmul(b, windows), read(bridge::matmul(b, dense)),
                 [&](auto) { return 0x1p-22L * 4 * static_cast<Exact>(side); });
    expect_equal(bridge::matmul(turned, windows), read(bridge::matmul(bridge::add(turned, 0.0), dense)),
                 [&](auto) { return 0x1p-22L * 4 * static_cast<Exact>(side); });
  }
}

// Found by the fuzzer: the quotient is beyond f64's range, the remainder is not.
TEST_P(FieldCases, RemaindersWhoseQuotientOverflows) {
  const std::vector<double> a{1, 1e308, -1e308, 0x1p1000, -1.5, 1e300, 3e-320},
      b{-1.5e-323, 3e-320, 3e-320, 0x1.8p-100, 0x1p-1074, -7e-300, 1e-323};
  const auto x = backend().from_data(TensorData::from<double>(a, {7})),
             y = backend().from_data(TensorData::from<double>(b, {7}));
  const auto floored = read(bridge::binary(op::BinaryKind::rem, x, y)),
             truncated = read(bridge::binary(op::BinaryKind::fmod, x, y));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double r = std::fmod(a[i], b[i]);
    EXPECT_EQ(static_cast<double>(truncated.values[i]), r) << i;
    EXPECT_EQ(static_cast<double>(floored.values[i]), r != 0 && (r < 0) != (b[i] < 0) ? r + b[i] : r) << i;
  }
}

// Found by the fuzzer.
TEST_P(FieldCases, LogGammaOfSubnormals) {
  const std::vector<double> values{1.5e-323, -1.5e-323, 4e-310, -3e-200};
  const auto x = backend().from_data(TensorData::from<double>(values, {4}));
  const auto got = read(bridge::unary(op::UnaryKind::lgamma, x));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = -std::log(std::abs(values[i]));
    EXPECT_NEAR(static_cast<double>(got.values[i]), exact, 1e-14 * exact) << values[i];
  }
}

// Found by the fuzzer: what lies between the taps meets no weight, also no infinite one.
TEST_P(FieldCases, TransposedConvolutionsByInfiniteWeights) {
  for (auto dtype : {DType::f32, DType::bf16}) {
    const Array x{dtype, {1, 1, 1}, {2}}, weight{dtype, {1, 1, 2}, {-0.5, INFINITY}};
    const auto result =
        bridge::conv(op::Conv{{1}, {0}, {2}, 1, true, {}}, upload(backend(), x), upload(backend(), weight));
    const auto values = read(result).values;
    ASSERT_EQ(values.size(), 3u);
    EXPECT_EQ(values[0], -1) << name_of(dtype);
    EXPECT_EQ(values[1], 0) << name_of(dtype);
    EXPECT_EQ(values[2], INFINITY) << name_of(dtype);
  }
}

// Found by the fuzzer.
TEST_P(FieldCases, WeightsOfOtherClassesCountOnlyWithSmoothing) {
  const auto floats = [&](const Shape& shape, std::vector<Exact> values) {
    return upload(backend(), {DType::f32, shape, std::move(values)});
  };
  const std::vector<ValueRef> operands{floats({1, 2}, {0, 0}), upload(backend(), {DType::i64, {1}, {0}}),
                                       floats({1}, {std::log(2.0L)}), floats({1}, {1}),
                                       floats({2}, {1, infinity})};
  const auto gradient = [&](double smoothing) {
    return backend::execute(op::CrossEntropyGradient{smoothing, -100}, operands)[0];
  };
  expect_equal(gradient(0), {DType::f32, {1, 2}, {-0.5L, 0.5L}}, [](auto) { return 8 * 0x1p-23L; });
  EXPECT_FALSE(std::isfinite(read(gradient(0.25)).values[0]));
}

// Case 48: what a layer gives for N + 1 tokens at once, it gives for the last one by a step with kept keys
// and values. Products large enough to be tuned; tests/CMakeLists.txt runs this with tuning off, too.
TEST_P(LargeFieldCases, AttentionStepsMeetTheWholeSequence) {
  const std::int64_t tokens = 129, width = 256, heads = 4;
  const auto upload_random = [&](const Shape& shape, unsigned seed, double scale) {
    return bridge::mul(upload(backend(), random_array(DType::f32, shape, seed)), op::Number(scale));
  };
  const auto x = upload_random({1, tokens, width}, 11, 0.25);
  const auto wq = upload_random({width, width}, 12, 0.02), wk = upload_random({width, width}, 13, 0.02),
             wv = upload_random({width, width}, 14, 0.02), wo = upload_random({width, width}, 15, 0.02);
  const auto part = [&](const ValueRef& y, std::int64_t from, std::int64_t to) {
    return bridge::slice(y, {0, from, 0}, {1, to, width}, {1, 1, 1});
  };
  const auto split = [&](const ValueRef& y, const ValueRef& w) {
    const auto projected = bridge::matmul(y, w);
    return bridge::permute(bridge::reshape(projected, {1, y->shape[1], heads, width / heads}), {0, 2, 1, 3});
  };
  const auto layer = [&](const ValueRef& y, const ValueRef& k, const ValueRef& v) {
    const auto out = bridge::attention({true, 0.125}, split(y, wq), k, v, {})[0];
    const auto rows = bridge::reshape(bridge::permute(out, {0, 2, 1, 3}), y->shape);
    return bridge::unary(op::UnaryKind::tanh, bridge::add(bridge::matmul(rows, wo), y));
  };
  const auto whole = layer(x, split(x, wk), split(x, wv));
  const auto first = part(x, 0, tokens - 1), last = part(x, tokens - 1, tokens);
  const auto k = split(first, wk), v = split(first, wv);
  const auto prefill = layer(first, k, v);
  const auto step = layer(last, bridge::cat({k, split(last, wk)}, 2), bridge::cat({v, split(last, wv)}, 2));
  const auto near = [](auto) { return 1e-4L; };
  expect_equal(prefill, read(part(whole, 0, tokens - 1)), near);
  expect_equal(step, read(part(whole, tokens - 1, tokens)), near);
}

INSTANTIATE_TEST_SUITE_P(Field, FieldCases, testing::ValuesIn(all_places()), place_name);
INSTANTIATE_TEST_SUITE_P(Field, LargeFieldCases, testing::ValuesIn(all_places()), place_name);

}  // namespace
}  // namespace strata::conformance
