#include <gtest/gtest.h>

#include <cmath>

#include "flex/flex.hpp"
#include "fuzz/decorators.hpp"
#include "fuzz/fuzzer/interval.hpp"
#include "fuzz/fuzzer/session.hpp"

namespace strata::fuzz {
namespace {

using op::BinaryKind;
using op::UnaryKind;

/// Bounds of one operation's result on f32 inputs, themselves off by exp's rounding where `rounded` says so.
std::vector<double> bounds_of(const op::Operation& op, std::vector<std::vector<float>> inputs) {
  BoundedBackend bounded(flex::instance());
  std::vector<ValueRef> values;
  for (const auto& x : inputs) {
    values.push_back(bounded.from_data(
        TensorData::from<float>(std::span<const float>(x), {static_cast<std::int64_t>(x.size())})));
  }
  return bounded.errors(bounded.execute(op, values)[0]);
}

TEST(Bounds, WhatIeeeDefinesHasNone) {
  for (auto kind : {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::div, BinaryKind::max}) {
    EXPECT_EQ(bounds_of(op::Binary{kind}, {{1.1f, 3e38f, NAN}, {3.3f, 3e38f, 1}}), std::vector<double>(3));
  }
}

TEST(Bounds, FunctionsAreGrantedSomeUlps) {
  const auto e = bounds_of(op::Unary{UnaryKind::exp}, {{1, 200, -INFINITY}});
  EXPECT_GT(e[0], 8 * 2.7 * 0x1p-23);
  EXPECT_LT(e[0], 32 * 2.7 * 0x1p-23);
  EXPECT_EQ(e[1], 0);  // certainly infinite
  EXPECT_LT(e[2], 5 * 0x1p-149);
}

TEST(Bounds, TheBorderOfOverflowIsUndetermined) {
  EXPECT_EQ(bounds_of(op::Unary{UnaryKind::exp}, {{88.7228394f}})[0], undetermined);
}

TEST(Bounds, TheSignOfAZeroDivisorIsUndetermined) {
  const auto e = bounds_of(op::Binary{BinaryKind::div}, {{1, 0, NAN}, {0, 0, 0}});
  EXPECT_EQ(e, (std::vector<double>{undetermined, 0, 0}));
}

TEST(Bounds, JumpsInsideAnIntervalAreUndetermined) {
  EXPECT_TRUE(apply(UnaryKind::floor, {0.9L, 0.99L}));
  EXPECT_FALSE(apply(UnaryKind::floor, {0.9L, 1.01L}));
  EXPECT_FALSE(apply(UnaryKind::sign, {-1e-9L, 1e-9L}));
  EXPECT_FALSE(apply(UnaryKind::recip, {-1e-9L, 1e-9L}));
  EXPECT_FALSE(apply(BinaryKind::rem, {2.9L, 3.1L}, {3, 3}));
  EXPECT_TRUE(decided(op::CompareKind::less, {1, 2}, {2.5L, 3}));
  EXPECT_FALSE(decided(op::CompareKind::less, {1, 2}, {2, 3}));
  EXPECT_TRUE(decided_cast(DType::i32, {3.1L, 3.9L}));
  EXPECT_TRUE(decided_cast(DType::u8, {400, 500}));  // saturates
  EXPECT_FALSE(decided_cast(DType::i32, {2.9L, 3.1L}));
  EXPECT_FALSE(decided_cast(DType::boolean, {-0.1L, 0.1L}));
}

TEST(Bounds, NanAtEveryCornerIsNotNanBetweenThem) {
  for (auto kind : {UnaryKind::asin, UnaryKind::acos, UnaryKind::atanh, UnaryKind::erfinv}) {
    EXPECT_FALSE(apply(kind, {-1.5L, 1.5L})) << op::name_of(kind);
    ASSERT_TRUE(apply(kind, {1.5L, 2})) << op::name_of(kind);
    EXPECT_TRUE(apply(kind, {1.5L, 2})->is_nan()) << op::name_of(kind);
  }
  EXPECT_FALSE(apply(BinaryKind::mul, {0, 0}, {-HUGE_VALL, HUGE_VALL}));
  EXPECT_FALSE(apply(BinaryKind::div, {-HUGE_VALL, HUGE_VALL}, {HUGE_VALL, HUGE_VALL}));
}

TEST(Bounds, CancellationKeepsTheAbsoluteError) {
  BoundedBackend bounded(flex::instance());
  const auto x = bounded.from_data(TensorData::from<float>({10}, {1}));
  const auto y = bounded.execute(op::Unary{UnaryKind::exp}, {&x, 1})[0];
  const ValueRef pair[] = {y, bounded.from_data(TensorData::from<float>({22026}, {1}))};
  const auto difference = bounded.execute(op::Binary{BinaryKind::sub}, pair)[0];
  EXPECT_GE(bounded.errors(difference)[0], bounded.errors(y)[0]);
}

TEST(Bounds, SumsErrByTheirMagnitudes) {
  const auto e = bounds_of(op::Reduce{op::ReduceKind::sum, {0}, false}, {{1e6f, -1e6f, 1}});
  EXPECT_GE(e[0], 3 * 2e6 * 0x1p-23);
  EXPECT_LT(e[0], 10 * 2e6 * 0x1p-23);
  EXPECT_EQ(bounds_of(op::Reduce{op::ReduceKind::max, {0}, false}, {{1e6f, -1e6f, 1}})[0], 0);
}

TEST(Bounds, ScansMayAddPartsThatOverflow) {
  const op::Cumulative sum{op::CumulativeKind::sum, 0};
  EXPECT_EQ(bounds_of(sum, {{1, INFINITY, 2}}), (std::vector<double>{0, 0, 0}));
  // Infinity, or the sum of the last two first: NaN.
  const auto e = bounds_of(sum, {{INFINITY, -3e38f, -3e38f}});
  EXPECT_EQ(e[0], 0);
  EXPECT_EQ(e[2], undetermined);
}

/// Of a sum of `entries` ones onto one element, and of one more onto the other.
std::vector<double> scattered(std::int64_t entries) {
  BoundedBackend bounded(flex::instance());
  std::vector<std::int64_t> index(static_cast<std::size_t>(entries), 0);
  index.back() = 1;
  const std::vector<float> ones(index.size(), 1);
  const ValueRef operands[] = {
      bounded.from_data(TensorData::from<float>({1, 1}, {2})),
      bounded.from_data(TensorData::from<std::int64_t>(std::span<const std::int64_t>(index), {entries})),
      bounded.from_data(TensorData::from<float>(std::span<const float>(ones), {entries}))};
  return bounded.errors(bounded.execute(op::Scatter{0, op::ScatterMode::add}, operands)[0]);
}

TEST(Bounds, OnlyManyEntriesOfAScatterAreAddedInParts) {
  EXPECT_EQ(scattered(1024), (std::vector<double>{0, 0}));
  const auto e = scattered(1025);
  EXPECT_GE(e[0], 1024 * 1024 * 0x1p-23);
  EXPECT_LT(e[0], 1100 * 1100 * 0x1p-23);
}

/// Of cross entropy's loss of one row of scores, or of its gradient for a target.
double cross_entropy_bound(std::vector<float> scores, std::int64_t target, bool gradient, float log_sum = 0,
                           double smoothing = 0) {
  BoundedBackend bounded(flex::instance());
  const auto data = [&](float x) { return bounded.from_data(TensorData::from<float>({x}, {1})); };
  const auto n = static_cast<std::int64_t>(scores.size());
  std::vector<ValueRef> operands{
      bounded.from_data(TensorData::from<float>(std::span<const float>(scores), {1, n})),
      bounded.from_data(TensorData::from<std::int64_t>({target}, {1}))};
  if (!gradient) return bounded.errors(bounded.execute(op::CrossEntropy{smoothing, -100}, operands)[0])[0];
  operands.push_back(data(log_sum));
  operands.push_back(data(1));
  return bounded.errors(bounded.execute(op::CrossEntropyGradient{}, operands)[0])[0];
}

TEST(Bounds, CrossEntropiesAreGrantedTheRoundingsOfExponentials) {
  const float unit = 0x1p-23f;
  EXPECT_GT(cross_entropy_bound({1, 2, 3}, 2, false), 18 * unit);
  EXPECT_LT(cross_entropy_bound({1, 2, 3}, 2, false), 200 * unit);
  EXPECT_GT(cross_entropy_bound({1, 2, 3}, 2, true, 3.4f), 16 * 0.09f * unit);
  EXPECT_LT(cross_entropy_bound({1, 2, 3}, 2, true, 3.4f), 20 * unit);
  EXPECT_EQ(cross_entropy_bound({1, 2, 3}, -100, false), 0);  // ignored
  EXPECT_EQ(cross_entropy_bound({3e38f, 1, 1}, 1, false, 0, 0.1),
            undetermined);                                             // sums of distances overflow
  EXPECT_EQ(cross_entropy_bound({262, 2, 3}, 1, true), undetermined);  // exp(262) times the weight, or not
}

/// The model is sound: a device that rounds as the suites allow is never accused.
TEST(Bounds, HoldForADeviceThatRoundsAsItMay) {
  NoisyBackend noisy(flex::instance(), 2);
  Rig rig(flex::instance());
  rig.add("noisy", noisy);
  SessionSettings settings;
  settings.programs = 500;
  settings.generator.threaded_programs = 0;
  const auto report = fuzz(rig, settings);
  EXPECT_TRUE(report.good()) << report.to_string();
}

/// And tight enough to see one that rounds worse.
TEST(Bounds, AccuseADeviceThatRoundsTooMuch) {
  NoisyBackend noisy(flex::instance(), 100);
  Rig rig(flex::instance());
  rig.add("noisy", noisy);
  SessionSettings settings;
  settings.programs = 100;
  settings.mismatches = 1;
  settings.generator.threaded_programs = 0;
  EXPECT_EQ(fuzz(rig, settings).found.size(), 1u);
}

}  // namespace
}  // namespace strata::fuzz
