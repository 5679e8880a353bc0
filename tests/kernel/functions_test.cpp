/// Accuracy and special cases of kernel/functions.hpp, by the interpreter against long double.
#include "kernel/functions.hpp"

#include <gtest/gtest.h>

#include <string>

#include "conformance/special_functions.hpp"
#include "kernel/function_harness.hpp"

namespace strata::kernel {
namespace {

using Exact = long double;

/// Where and how exactly a function is to hold; samples are dense in [low, high] and touch every exponent.
struct Function {
  const char* name;
  Val (*record)(Val);
  Exact (*reference)(Exact);
  double low, high;
  double limit32, limit64;  // ULP
  /// Below this size an error is measured as one of a result of this size: near the function's roots.
  double floor = 0;
  double valid32 = HUGE_VAL, valid64 = HUGE_VAL;  // |x| up to which the limit holds
};

const Function functions[] = {
    {"exp2", exp2, std::exp2, -3, 3, 1.1, 1.2},
    {"exp2 wide", exp2, std::exp2, -1080, 1030, 1.1, 1.2},
    {"log2", log2, std::log2, 0, 4, 1.7, 1.7},
    {"log10", log10, std::log10, 0, 4, 2.0, 1.8},
    {"tan", tan, std::tan, -20, 20, 2.9, 2.8, 0, 0x1p20, 0x1p30},
    {"tan wide", tan, std::tan, -1e5, 1e5, 2.9, 2.8, 0, 0x1p20, 0x1p30},
    {"asin", asin, std::asin, -1, 1, 2.4, 2.2},
    {"acos", acos, std::acos, -1, 1, 1.3, 1.3},
    {"atan", atan, std::atan, -5, 5, 2.0, 2.3},
    {"sinh", sinh, std::sinh, -3, 3, 2.1, 2.5},
    {"sinh wide", sinh, std::sinh, -720, 720, 2.1, 2.5},
    {"sinh middle", sinh, std::sinh, -91, 91, 2.1, 2.5},
    {"cosh", cosh, std::cosh, -3, 3, 1.5, 1.5},
    {"cosh wide", cosh, std::cosh, -720, 720, 1.5, 1.5},
    {"cosh middle", cosh, std::cosh, -91, 91, 1.5, 1.5},
    {"asinh", asinh, std::asinh, -3, 3, 1.7, 1.7},
    {"acosh", acosh, std::acosh, 1, 5, 2.5, 2.6},
    {"acosh near one", acosh, std::acosh, 1, 1.01, 2.5, 2.6},
    {"atanh", atanh, std::atanh, -1, 1, 2.1, 1.8},
    {"gelu", gelu, conformance::gelu, -6, 6, 4.2, 4.9},
    {"gelu far tail", gelu, conformance::gelu, -40, 14, 4.2, 4.9},
    {"gelu tail", gelu, conformance::gelu, -15, 14, 4.2, 4.9},
    {"silu", silu, conformance::silu, -20, 20, 3.2, 2.8, 0, 80, 700},
    {"softplus", softplus, conformance::softplus, -20, 20, 1.6, 1.5},
    {"softplus tail", softplus, conformance::softplus, -750, 0, 1.6, 1.5},
    {"erfinv", erfinv, conformance::erfinv, -1, 1, 5.0, 3.9},
    {"erfinv near one", erfinv, conformance::erfinv, 0.999, 1, 5.0, 3.9},
    {"lgamma", lgamma, std::lgamma, 0, 12, 0.51, 30, 1},
    {"lgamma of negatives", lgamma, std::lgamma, -12, 0, 0.51, 30, 1},
    {"digamma", digamma, conformance::digamma, 0, 12, 0.51, 16, 1},
    {"digamma of negatives", digamma, conformance::digamma, -12, 0, 0.51, 16, 1},
};

template <class T>
void check(const Function& f) {
  const auto x = samples<T>(f.low, f.high, 100000);
  const auto y = apply1<T>(f.record, x);
  const double valid = sizeof(T) == 4 ? f.valid32 : f.valid64;
  double worst = 0;
  T at{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::abs(static_cast<double>(x[i])) > valid && !std::isinf(x[i])) continue;
    const Exact want = f.reference(x[i]);
    if (want == 0 && f.floor == 0) {
      EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << f.name << " of " << x[i];
    }
    double e = ulp_error(y[i], want);
    if (std::abs(want) < f.floor && std::isfinite(y[i]))
      e = static_cast<double>(std::abs(y[i] - want) / (f.floor * std::numeric_limits<T>::epsilon()));
    if (e > worst) {
      worst = e;
      at = x[i];
    }
  }
  ::testing::Test::RecordProperty(std::string(f.name) + (sizeof(T) == 4 ? " f32" : " f64"),
                                  std::to_string(worst));
  EXPECT_LE(worst, sizeof(T) == 4 ? f.limit32 : f.limit64) << f.name << " at " << at;
}

TEST(Functions, StayWithinTheirStatedErrorInSinglePrecision) {
  for (const auto& f : functions) check<float>(f);
}

TEST(Functions, StayWithinTheirStatedErrorInDoublePrecision) {
  for (const auto& f : functions) check<double>(f);
}

template <class T>
void check_pairs(const char* name, Val (*record)(Val, Val), Exact (*reference)(Exact, Exact), double limit) {
  const auto some = samples<T>(-3, 3, 300);
  std::vector<T> a, b;
  for (const T x : some)
    for (const T y : some) {
      a.push_back(x);
      b.push_back(y);
    }
  const auto r = apply<T, T>([record](std::vector<Val> v) { return record(v[0], v[1]); }, {a, b});
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Exact want = reference(a[i], b[i]);
    if (std::isfinite(want) && std::abs(want) > std::numeric_limits<T>::max()) continue;  // either is right
    ASSERT_LE(ulp_error(r[i], want), limit) << name << "(" << a[i] << ", " << b[i] << ") gave " << r[i];
    if (want == 0) {
      ASSERT_EQ(std::signbit(r[i]), std::signbit(want)) << name << "(" << a[i] << ", " << b[i] << ")";
    }
  }
}

TEST(Functions, AnglesAndDistancesOfPointsFollowC) {
  check_pairs<float>("atan2", atan2, std::atan2, 2.0);
  check_pairs<double>("atan2", atan2, std::atan2, 2.0);
  check_pairs<float>("hypot", hypot, std::hypot, 2.0);
  check_pairs<double>("hypot", hypot, std::hypot, 2.0);
}

TEST(Functions, LogarithmsOfWholePowersOfTwoAreWhole) {
  std::vector<float> powers, exponents;
  for (int k = -149; k < 128; ++k) {
    powers.push_back(std::ldexp(1.0f, k));
    exponents.push_back(static_cast<float>(k));
  }
  EXPECT_EQ(apply1<float>(log2, powers), exponents);
  EXPECT_EQ(apply1<float>(exp2, exponents), powers);
}

template <class T>
void check_exp_below_zero(double least) {
  const auto x = samples<T>(least, 1e-4, 100000);
  const auto y = apply1<T>(exp_below_zero, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] > T{1e-4}) continue;
    const Exact want = x[i] < static_cast<T>(least) ? Exact{0} : std::exp(static_cast<Exact>(x[i]));
    ASSERT_LE(ulp_error(y[i], want), 1.1) << x[i];
  }
}

TEST(Functions, ExponentialsBelowZeroEndInZero) {
  check_exp_below_zero<float>(-87);
  check_exp_below_zero<double>(-708);
}

TEST(Functions, HalvesAreRoundedOnce) {
  const std::vector<Float16> x{Float16(0.3f), Float16(2.5f)};
  const auto y = apply1<Float16>(gelu, x), z = apply1<Float16>(lgamma, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Exact v = static_cast<float>(x[i]);
    EXPECT_EQ(y[i].bits, Float16(static_cast<float>(conformance::gelu(v))).bits);
    EXPECT_EQ(z[i].bits, Float16(static_cast<float>(std::lgamma(v))).bits);
  }
}

}  // namespace
}  // namespace strata::kernel
