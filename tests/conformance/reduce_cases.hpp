/// Reduce against the model. Instantiate `ReduceConformance`.
#pragma once

#include "conformance/reference.hpp"

namespace strata::conformance {

using op::ReduceKind;

class ReduceConformance : public Conformance {};

struct ReferenceReduction {
  Array result;
  std::vector<Exact> magnitude;  ///< what the rounding error of each element is proportional to, per addition
  std::int64_t length = 1;
};

inline Exact reduce_values(ReduceKind kind, DType t, const std::vector<Exact>& xs) {
  const auto n = static_cast<std::int64_t>(xs.size());
  if (kind == ReduceKind::max || kind == ReduceKind::min) {
    Exact best = xs.front();
    for (auto x : xs) {
      if (std::isnan(x)) return x;
      best = kind == ReduceKind::max ? std::max(best, x) : std::min(best, x);
    }
    return best;
  }
  if (is_float(t)) {
    Exact total = kind == ReduceKind::prod ? 1 : 0;
    for (auto x : xs) total = kind == ReduceKind::prod ? total * x : total + x;
    return rounded(t, kind == ReduceKind::mean ? (n ? total / static_cast<Exact>(n) : nan_value) : total);
  }
  std::uint64_t total = kind == ReduceKind::prod ? 1 : 0;
  for (auto x : xs) {
    const auto u = static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    total = kind == ReduceKind::prod ? total * u : total + u;
  }
  const auto whole = wrapped(t, total);
  if (kind != ReduceKind::mean) return static_cast<Exact>(whole);
  return static_cast<Exact>(whole / n - (whole % n != 0 && whole < 0));
}

inline ReferenceReduction reference_reduce(ReduceKind kind, const Array& x, const Axes& axes,
                                           bool keep_dims) {
  ReferenceReduction out{{x.dtype, {}, {}}, {}, 1};
  Shape kept;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (axes.contains(i)) {
      out.length *= x.shape[i];
      if (keep_dims) out.result.shape.push_back(1);
    } else {
      kept.push_back(x.shape[i]);
      out.result.shape.push_back(x.shape[i]);
    }
  }
  std::vector<std::vector<Exact>> groups(static_cast<std::size_t>(kept.product()));
  const Array positions{x.dtype, kept, {}};
  for (std::int64_t i = 0; i < x.shape.product(); ++i) {
    const auto index = index_of(x.shape, i);
    Index own;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
      if (!axes.contains(axis)) own.push_back(index[static_cast<std::size_t>(axis)]);
    }
    groups[static_cast<std::size_t>(positions.offset(own))].push_back(x.values[static_cast<std::size_t>(i)]);
  }
  for (const auto& group : groups) {
    out.result.values.push_back(reduce_values(kind, x.dtype, group));
    Exact magnitude = 0;
    for (auto v : group) magnitude += std::abs(v);
    if (kind == ReduceKind::mean) magnitude /= static_cast<Exact>(std::max<std::size_t>(group.size(), 1));
    if (kind == ReduceKind::prod)
      magnitude = std::abs(out.result.values.back()) * static_cast<Exact>(group.size());
    out.magnitude.push_back(magnitude);
  }
  return out;
}

inline void check_reduce(ReduceKind kind, const Sample& x, const Axes& axes, bool keep_dims) {
  SCOPED_TRACE(std::string(op::name_of(kind)) + " of " + std::string(name_of(x.array.dtype)) +
               x.array.shape.to_string() + " over " + axes.to_string());
  const auto expected = reference_reduce(kind, x.array, axes, keep_dims);
  const auto dtype = x.array.dtype;
  const bool exact = !is_float(dtype) || kind == ReduceKind::max || kind == ReduceKind::min;
  // A split sum errs by its longest chain of additions, not by its length.
  const auto chain = std::min<Exact>(static_cast<Exact>(expected.length), 64);
  expect_equal(bridge::reduce(kind, x.value, axes, keep_dims), expected.result,
               exact ? Tolerance{} : Tolerance([&](std::size_t i) {
                 return accumulator_epsilon(dtype) * (chain + 2) * expected.magnitude[i] +
                        epsilon(dtype) * std::abs(expected.result.values[i]) + smallest_subnormal(dtype);
               }));
}

inline std::vector<ReduceKind> reductions_of(DType t) {
  if (t == DType::boolean) return {ReduceKind::max, ReduceKind::min};
  return {ReduceKind::sum, ReduceKind::mean, ReduceKind::prod, ReduceKind::max, ReduceKind::min};
}

TEST_P(ReduceConformance, EveryDtypeLayoutAndAxes) {
  const Axes axes[] = {{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  for (auto dtype : all_dtypes) {
    for (auto layout : all_layouts) {
      SCOPED_TRACE(name_of(layout));
      const auto x = sample(backend(), dtype, {3, 4, 17}, layout, 3);
      for (auto kind : reductions_of(dtype)) {
        for (const auto& over : axes) check_reduce(kind, x, over, over.rank() == 1);
      }
    }
  }
}

TEST_P(ReduceConformance, LongRowsAndColumns) {
  for (auto dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8}) {
    for (const auto& shape : {Shape{5, 3001}, Shape{3001, 5}, Shape{2, 700, 33}}) {
      for (auto layout : {Layout::contiguous, Layout::permuted, Layout::flipped}) {
        SCOPED_TRACE(name_of(layout));
        const auto x = sample(backend(), dtype, shape, layout, 4);
        for (auto kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::max}) {
          for (int axis = 0; axis < shape.rank(); ++axis) check_reduce(kind, x, {axis}, false);
        }
      }
    }
  }
}

TEST_P(ReduceConformance, ScalarsReduceToThemselves) {
  for (auto dtype : all_dtypes) {
    const auto x = sample(backend(), dtype, {}, Layout::contiguous, 1);
    for (auto kind : reductions_of(dtype)) check_reduce(kind, x, {}, false);
  }
}

TEST_P(ReduceConformance, EmptyAxes) {
  for (auto dtype : floats()) {
    const auto x = sample(backend(), dtype, {3, 0}, Layout::contiguous, 1);
    check_reduce(ReduceKind::sum, x, {1}, false);
    check_reduce(ReduceKind::prod, x, {1}, false);
    check_reduce(ReduceKind::mean, x, {1}, false);
    check_reduce(ReduceKind::sum, sample(backend(), dtype, {0, 3}, Layout::contiguous, 1), {1}, true);
    check_reduce(ReduceKind::max, sample(backend(), dtype, {0, 3}, Layout::contiguous, 1), {1}, false);
    EXPECT_THROW(bridge::reduce(ReduceKind::max, x.value, {1}, false), ShapeError);
    EXPECT_THROW(bridge::reduce(ReduceKind::min, x.value, {1}, false), ShapeError);
    // Many results of nothing, rows and columns.
    for (auto kind : {ReduceKind::sum, ReduceKind::prod, ReduceKind::mean}) {
      check_reduce(kind, sample(backend(), dtype, {40, 0}, Layout::contiguous, 1), {1}, false);
      check_reduce(kind, sample(backend(), dtype, {9, 0, 40}, Layout::contiguous, 1), {1}, false);
    }
    const auto nothing = sample(backend(), dtype, {0, 0}, Layout::contiguous, 1);
    EXPECT_THROW(bridge::reduce(ReduceKind::max, nothing.value, {1}, false), ShapeError);
  }
  const auto counts = sample(backend(), DType::i64, {3, 0}, Layout::contiguous, 1);
  check_reduce(ReduceKind::sum, counts, {1}, false);
  check_reduce(ReduceKind::prod, counts, {1}, false);
  EXPECT_THROW(bridge::reduce(ReduceKind::mean, counts.value, {1}, false), ShapeError);
}

TEST_P(ReduceConformance, TransposedRowsAreRead) {
  const Array x{DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}};
  const auto t = bridge::transpose(upload(backend(), x));
  expect_equal(bridge::reduce(ReduceKind::sum, t, {1}, false), {DType::f32, {3}, {5, 7, 9}});
  expect_equal(bridge::reduce(ReduceKind::prod, t, {1}, false), {DType::f32, {3}, {4, 10, 18}});
  expect_equal(bridge::reduce(ReduceKind::mean, t, {1}, false), {DType::f32, {3}, {2.5L, 3.5L, 4.5L}});
}

TEST_P(ReduceConformance, ReversedRowsAreRead) {
  Array x{DType::f32, {2, 65}, {}};
  for (int i = 1; i <= 130; ++i) x.values.push_back(i);
  const auto reversed = bridge::flip(upload(backend(), x), {0});
  expect_equal(bridge::reduce(ReduceKind::sum, reversed, {1}, false), {DType::f32, {2}, {6370, 2145}});
  expect_equal(bridge::reduce(ReduceKind::max, reversed, {1}, false), {DType::f32, {2}, {130, 65}});
}

TEST_P(ReduceConformance, NaNWinsOnEveryPath) {
  for (auto dtype : floats()) {
    for (std::int64_t n : {3, 600, 5000}) {
      auto row = random_array(dtype, {1, n}, 5);
      row.values[1] = nan_value;
      const auto x = upload(backend(), row);
      const auto y = bridge::add(x, x);
      for (auto kind : {ReduceKind::max, ReduceKind::min}) {
        expect_equal(bridge::reduce(kind, x, {1}, false), {dtype, {1}, {nan_value}});
        expect_equal(bridge::reduce(kind, y, {1}, false), {dtype, {1}, {nan_value}});
        expect_equal(bridge::reduce(kind, bridge::transpose(x), {0}, false), {dtype, {1}, {nan_value}});
        auto over_first = row;
        over_first.values.insert(over_first.values.end(), row.values.begin(), row.values.end());
        over_first.shape = {2, n};
        auto expected = row;
        expected.shape = {n};
        expect_equal(bridge::reduce(kind, upload(backend(), over_first), {0}, false), expected);
      }
    }
  }
}

TEST_P(ReduceConformance, HalvesAccumulateInSinglePrecision) {
  const Array x{DType::f16, {8}, {32000, 32000, 32000, 32000, -32000, -32000, -32000, -32000}};
  expect_equal(bridge::reduce(ReduceKind::sum, upload(backend(), x), {0}, false), {DType::f16, {}, {0}});
  const Array ones{DType::f16, {4096}, std::vector<Exact>(4096, 1)};
  expect_equal(bridge::reduce(ReduceKind::sum, upload(backend(), ones), {0}, false),
               {DType::f16, {}, {4096}});
  const auto tall = bridge::expand(bridge::reshape(upload(backend(), ones), {4096, 1}), {4096, 40});
  expect_equal(bridge::reduce(ReduceKind::sum, tall, {0}, false),
               {DType::f16, {40}, std::vector<Exact>(40, 4096)});
}

TEST_P(ReduceConformance, LongSumsStayAccurate) {
  const std::int64_t n = 1392640;
  const auto tenths = bridge::fill(backend(), {n}, DType::f32, 0.1);
  const auto total = read(bridge::reduce(ReduceKind::sum, tenths, {0}, false)).values[0];
  EXPECT_NEAR(static_cast<double>(total), 139264.0, 139264.0 * 1e-6);
  const auto columns = bridge::reshape(bridge::fill(backend(), {n * 2}, DType::f32, 0.1), {n / 16, 32});
  for (auto x : read(bridge::reduce(ReduceKind::sum, columns, {0}, false)).values) {
    EXPECT_NEAR(static_cast<double>(x), 8704.0, 8704.0 * 2e-6);
  }
}

TEST_P(ReduceConformance, IndicesBeyondThirtyTwoBits) {
  const std::int64_t n = (std::int64_t{1} << 31) + 16;
  const auto x = bridge::expand(upload(backend(), {DType::u8, {1}, {7}}), {n});
  expect_equal(bridge::reduce(ReduceKind::max, x, {0}, false), {DType::u8, {}, {7}});
  expect_equal(bridge::reduce(ReduceKind::sum, x, {0}, false), {DType::u8, {}, {7 * 16}});  // 2^31 wraps to 0
  expect_equal(bridge::slice(x, {n - 3}, {n}, {1}), {DType::u8, {3}, {7, 7, 7}});
}

TEST_P(ReduceConformance, IntegerMeansFloor) {
  for (auto dtype : {DType::i64, DType::i32}) {
    const Array x{dtype, {2, 2}, {-3, 0, 3, 0}};
    expect_equal(bridge::reduce(ReduceKind::mean, upload(backend(), x), {1}, false), {dtype, {2}, {-2, 1}});
  }
}

TEST_P(ReduceConformance, FaultyCallsAreRefused) {
  const auto x = upload(backend(), random_array(DType::f32, {2, 3}, 1));
  EXPECT_THROW(bridge::reduce(ReduceKind::sum, x, {2}, false), ShapeError);
  EXPECT_THROW(bridge::reduce(ReduceKind::sum, x, {1, 1}, false), ShapeError);
  const auto flags = upload(backend(), random_array(DType::boolean, {2, 3}, 1));
  EXPECT_THROW(bridge::reduce(ReduceKind::sum, flags, {1}, false), DTypeError);
}

}  // namespace strata::conformance
