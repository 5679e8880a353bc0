/// Accuracy and special cases of the language's mathematics, by the interpreter against long double.
#include "kernel/math.hpp"

#include <gtest/gtest.h>

#include "kernel/function_harness.hpp"

namespace strata::kernel {
namespace {

struct Function {
  const char* name;
  Val (*record)(Val);
  long double (*reference)(long double);
  double low, high;                               // where samples are dense
  double limit32, limit64;                        // ULP
  double valid32 = HUGE_VAL, valid64 = HUGE_VAL;  // |x| up to which the limit holds
};

long double sigmoid_reference(long double x) { return 1 / (1 + std::exp(-x)); }

const Function functions[] = {
    {"exp", exp, std::exp, -110, 100, 1.1, 1.1},
    {"exp wide", exp, std::exp, -760, 720, 1.1, 1.1},
    {"expm1", expm1, std::expm1, -2, 2, 1.6, 2.2},
    {"expm1 wide", expm1, std::expm1, -60, 800, 1.6, 2.2},
    {"log", log, std::log, 0, 4, 1.0, 1.0},
    {"log1p", log1p, std::log1p, -1, 2, 1.0, 1.0},
    {"tanh", tanh, std::tanh, -3, 3, 2.5, 2.5},
    {"sin", sin, std::sin, -20, 20, 2.0, 1.6, 0x1p20, 0x1p30},
    {"sin wide", sin, std::sin, -0x1p20, 0x1p20, 2.0, 1.6, 0x1p20, 0x1p30},
    {"cos", cos, std::cos, -20, 20, 2.0, 1.6, 0x1p20, 0x1p30},
    {"cos wide", cos, std::cos, -0x1p30, 0x1p30, 2.0, 1.6, 0x1p20, 0x1p30},
    {"erf", erf, std::erf, -4, 4, 1.2, 1.1},
    {"sigmoid", sigmoid, sigmoid_reference, -20, 20, 2.3, 2.3},
};

template <class T>
void check(const Function& f) {
  const auto x = samples<T>(f.low, f.high, 200000);
  const auto y = apply1<T>(f.record, x);
  const double valid = sizeof(T) == 4 ? f.valid32 : f.valid64;
  double worst = 0;
  T at{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::abs(static_cast<double>(x[i])) > valid) {
      if (std::isinf(x[i])) {
        EXPECT_TRUE(std::isnan(y[i])) << f.name;
      } else {
        EXPECT_LE(std::abs(y[i]), T{1}) << f.name << " of " << x[i];
      }
      continue;
    }
    const long double want = f.reference(x[i]);
    if (want == 0) {
      EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << f.name << " of " << x[i];
    }
    const double e = ulp_error(y[i], want);
    if (e > worst) {
      worst = e;
      at = x[i];
    }
  }
  ::testing::Test::RecordProperty(std::string(f.name) + (sizeof(T) == 4 ? " f32" : " f64"),
                                  std::to_string(worst));
  EXPECT_LE(worst, sizeof(T) == 4 ? f.limit32 : f.limit64) << f.name << " at " << at;
}

TEST(Math, FloatFunctionsStayWithinTheirStatedError) {
  for (const auto& f : functions) check<float>(f);
}

/// The units themselves are exact here; their 2 ULP (exp2) and 1 (reciprocal) come on top.
TEST(Math, WithApproximateUnitsTheRestStaysWithinTheStatedError) {
  const auto fast = [](Opcode op) {
    return [op](std::vector<Val> a) { return expand_math(op, a[0], MathUnits::approximate); };
  };
  const auto check = [&](Opcode op, long double (*reference)(long double), double low, double high,
                         double limit) {
    auto x = samples<float>(low, high, 200000);
    const auto y = apply<float, float>(fast(op), {x});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double want = reference(x[i]);
      ASSERT_LE(ulp_error(y[i], want), limit) << name_of(op) << " of " << x[i] << ": " << y[i];
      if (want == 0) {
        ASSERT_EQ(std::signbit(y[i]), std::signbit(want)) << name_of(op) << " of " << x[i];
      }
    }
  };
  check(Opcode::exp, std::exp, -110, 100, 1.1);
  check(Opcode::exp, std::exp, -2, 2, 1.1);
  check(Opcode::tanh, std::tanh, -3, 3, 3.0);
  check(Opcode::tanh, std::tanh, -20, 20, 3.0);
}

TEST(Math, DoubleFunctionsStayWithinTheirStatedError) {
  for (const auto& f : functions) check<double>(f);
}

template <class T>
void check_pow(double limit) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-1, 1), logarithm(-80, 80);
  const auto special = samples<T>(-3, 3, 40);
  std::vector<T> x, y;
  for (const T a : special)
    for (const T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  for (const T a : {T{-8}, T{-0.5}, T{0}, -T{0}, -std::numeric_limits<T>::infinity(), T{1}})
    for (const T b : {T{3}, T{2}, T{-3}, T{-2}, T{0.5}, T{0x1p60}, T{-0x1p60}}) {
      x.push_back(a);
      y.push_back(b);
    }
  const double largest = sizeof(T) == 4 ? 88 : 708;
  while (x.size() < 100000) {
    const double l = logarithm(random);
    x.push_back(static_cast<T>(std::exp(l)));
    y.push_back(static_cast<T>(exponent(random) * largest / l));
  }
  const auto z = apply<T, T>([](std::vector<Val> a) { return pow(a[0], a[1]); }, {x, y});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double want = std::pow(static_cast<long double>(x[i]), static_cast<long double>(y[i]));
    ASSERT_LE(ulp_error(z[i], want), limit) << "pow(" << x[i] << ", " << y[i] << ") gave " << z[i];
    if (want == 0) {
      ASSERT_EQ(std::signbit(z[i]), std::signbit(want)) << "pow(" << x[i] << ", " << y[i] << ")";
    }
  }
}

TEST(Math, PowOfFloatsFollowsIeeeWithinItsStatedError) {
  check_pow<float>(0.51);
  check_pow<double>(2);
}

TEST(Math, PowOfIntegersWrapsAndTreatsNegativeExponents) {
  const std::vector<std::int32_t> x{2, 3, 0, 0, -2, 7, 1, -1, -1, 0, 5, 10, -3},
      y{10, 4, 0, 5, 3, 30, -4, -3, -4, -1, -1, 9, 31};
  const auto z =
      apply<std::int32_t, std::int32_t>([](std::vector<Val> a) { return pow(a[0], a[1]); }, {x, y});
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint32_t want = 1;
    for (std::int32_t k = 0; k < y[i]; ++k) want *= static_cast<std::uint32_t>(x[i]);
    if (y[i] < 0) want = x[i] == 1 ? 1u : x[i] == -1 ? (y[i] % 2 == 0 ? 1u : ~0u) : 0u;
    EXPECT_EQ(z[i], static_cast<std::int32_t>(want)) << x[i] << " to the " << y[i];
  }
  EXPECT_EQ((apply<std::uint8_t, std::uint8_t>([](std::vector<Val> a) { return pow(a[0], a[1]); },
                                               {{2, 3, 255}, {7, 200, 3}})),
            (std::vector<std::uint8_t>{128, 161, 255}));
}

template <class T>
void check_int_division() {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  std::vector<T> a, b;
  for (const T x : {T{-7}, T{7}, T{0}, T{6}, T{-6}, T{1}, T{-1}, low, high, T{-3}})
    for (const T y : {T{2}, T{-2}, T{0}, T{3}, T{-3}, T{1}, T{-1}, low, high}) {
      a.push_back(x);
      b.push_back(y);
    }
  const auto q = apply<T, T>([](std::vector<Val> v) { return floor_div(v[0], v[1]); }, {a, b});
  const auto r = apply<T, T>([](std::vector<Val> v) { return floor_rem(v[0], v[1]); }, {a, b});
  for (std::size_t i = 0; i < a.size(); ++i) {
    __extension__ using Wide = __int128;
    Wide quotient = 0, rest = 0;
    if (b[i] != 0) {
      quotient = Wide{a[i]} / b[i];
      rest = Wide{a[i]} % b[i];
      if (rest != 0 && (rest < 0) != (b[i] < 0)) {
        quotient -= 1;
        rest += b[i];
      }
    }
    EXPECT_EQ(q[i], static_cast<T>(quotient)) << a[i] << " // " << b[i];
    EXPECT_EQ(r[i], static_cast<T>(rest)) << a[i] << " % " << b[i];
  }
}

TEST(Math, IntegerDivisionIsFlooredAndNeverTraps) {
  check_int_division<std::int32_t>();
  check_int_division<std::int64_t>();
  const auto quotient = [](std::vector<Val> v) { return floor_div(v[0], v[1]); };
  EXPECT_EQ((apply<std::uint8_t, std::uint8_t>(quotient, {{200, 7, 9}, {3, 0, 255}})),
            (std::vector<std::uint8_t>{66, 0, 0}));
}

template <class T>
T remainder_like_numpy(T a, T b) {
  T r = std::fmod(a, b);
  if (r != 0) return (r < 0) != (b < 0) ? r + b : r;
  return std::copysign(T{0}, b);
}

template <class T>
void check_float_remainder() {
  std::vector<T> a, b;
  const auto some = samples<T>(-50, 50, 200);
  for (const T x : some)
    for (const T y : some) {
      if (std::isinf(static_cast<double>(x) / static_cast<double>(y)) && !std::isinf(x) && y != 0) continue;
      a.push_back(x);
      b.push_back(y);
    }
  const auto r = apply<T, T>([](std::vector<Val> v) { return floor_rem(v[0], v[1]); }, {a, b});
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T want = remainder_like_numpy(a[i], b[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(r[i])) << a[i] << " % " << b[i];
      continue;
    }
    ASSERT_EQ(r[i], want) << a[i] << " % " << b[i];
    ASSERT_EQ(std::signbit(r[i]), std::signbit(want)) << a[i] << " % " << b[i];
  }
}

TEST(Math, FloatRemainderHasTheSignOfTheDivisorAndIsExact) {
  check_float_remainder<float>();
  check_float_remainder<double>();
}

template <class T>
void check_truncated_remainder() {
  const auto some = samples<T>(-50, 50, 200);
  std::vector<T> a, b;
  for (const T x : some)
    for (const T y : some) {
      if (std::isinf(static_cast<double>(x) / static_cast<double>(y)) && !std::isinf(x) && y != 0) continue;
      a.push_back(x);
      b.push_back(y);
    }
  for (int n = 1; n < 2000; ++n) {  // just below a whole quotient, which the division rounds to
    const T y = T{1} / static_cast<T>(n);
    a.insert(a.end(), {std::nextafter(static_cast<T>(n) * y, T{0}), std::nextafter(T{-3} * y, T{0}), T{-1}});
    b.insert(b.end(), {y, y, y});
  }
  const auto r = apply<T, T>([](std::vector<Val> v) { return truncated_rem(v[0], v[1]); }, {a, b});
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T want = std::fmod(a[i], b[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(r[i])) << a[i] << " fmod " << b[i];
      continue;
    }
    ASSERT_EQ(r[i], want) << a[i] << " fmod " << b[i];
    ASSERT_EQ(std::signbit(r[i]), std::signbit(want)) << a[i] << " fmod " << b[i];
  }
}

TEST(Math, TruncatedRemainderIsExactlyFmod) {
  check_truncated_remainder<float>();
  check_truncated_remainder<double>();
  constexpr auto lowest = std::numeric_limits<std::int32_t>::min();
  const auto rest = [](std::vector<Val> v) { return truncated_rem(v[0], v[1]); };
  EXPECT_EQ((apply<std::int32_t, std::int32_t>(rest, {{-7, 7, 7, 0, lowest, lowest}, {2, -2, 0, 0, -1, 3}})),
            (std::vector<std::int32_t>{-1, 1, 0, 0, 0, lowest % 3}));
  EXPECT_EQ((apply<std::uint8_t, std::uint8_t>(rest, {{200, 9}, {7, 0}})), (std::vector<std::uint8_t>{4, 0}));
}

TEST(Math, MinimumAndMaximumKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> in{{1, nan, -3, nan}, {2, 5, nan, nan}};
  const auto low = apply<float, float>([](std::vector<Val> v) { return min(v[0], v[1]); }, in);
  const auto high = apply<float, float>([](std::vector<Val> v) { return max(v[0], v[1]); }, in);
  EXPECT_EQ(low[0], 1);
  EXPECT_EQ(high[0], 2);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_TRUE(std::isnan(low[i]));
    EXPECT_TRUE(std::isnan(high[i]));
  }
}

TEST(Math, SignKeepsNaNAndRintRoundsHalvesToEven) {
  const auto s = apply1<double>(sign, {-2.5, 3, 0, -0.0, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ((std::vector<double>(s.begin(), s.begin() + 4)), (std::vector<double>{-1, 1, 0, 0}));
  EXPECT_TRUE(std::isnan(s[4]));
  EXPECT_EQ(apply1<std::int32_t>(sign, {-5, 0, 9}), (std::vector<std::int32_t>{-1, 0, 1}));
  EXPECT_EQ(apply1<std::uint8_t>(sign, {0, 200}), (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(apply1<float>(rint, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f}), (std::vector<float>{0, 2, 2, 0, -2}));
}

/// Known answers of the authors' Random123 distribution.
TEST(Math, PhiloxGivesTheKnownAnswers) {
  struct Case {
    std::array<std::uint32_t, 4> counter;
    std::array<std::uint32_t, 2> key;
    std::array<std::uint32_t, 4> answer;
  };
  const Case cases[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                         {0xa4093822, 0x299f31d0},
                         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const int lanes : {1, 8}) {
    for (const auto& c : cases) {
      Builder b("philox");
      auto out = b.write("out", Scalar::u32);
      const auto word = [&](std::uint32_t v) { return constant(make_type(Scalar::u32, lanes), v); };
      const auto r = philox({word(c.counter[0]), word(c.counter[1]), word(c.counter[2]), word(c.counter[3])},
                            {word(c.key[0]), word(c.key[1])});
      for (int i = 0; i < 4; ++i) out.store(i * lanes, r[static_cast<std::size_t>(i)]);
      const Kernel k = b.finish();
      std::vector<std::uint32_t> got(static_cast<std::size_t>(4 * lanes));
      test::interpret(k, {{got.data()}, {4 * lanes}, {}, {1, 1, 1}, 1});
      for (int i = 0; i < 4 * lanes; ++i)
        EXPECT_EQ(got[static_cast<std::size_t>(i)], c.answer[static_cast<std::size_t>(i / lanes)]);
    }
  }
}

TEST(Math, PhiloxTakesItsCounterAsTwo64BitHalves) {
  Builder b("philox");
  auto out = b.write("out", Scalar::u32);
  const auto half = [](std::uint64_t v) {
    return constant_bits(make_type(Scalar::u64), static_cast<std::int64_t>(v));
  };
  const auto word = [](std::uint32_t v) { return constant(make_type(Scalar::u32), v); };
  const auto r =
      philox(half(0x85a308d3243f6a88), half(0x0370734413198a2e), word(0xa4093822), word(0x299f31d0));
  for (std::size_t i = 0; i < 4; ++i) out[i] = r[i];
  const Kernel k = b.finish();
  std::vector<std::uint32_t> got(4);
  test::interpret(k, {{got.data()}, {4}, {}, {1, 1, 1}, 1});
  EXPECT_EQ(got, (std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace strata::kernel
