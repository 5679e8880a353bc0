/// Accuracy and special cases of unary kinds exp2 ... digamma, on every instruction set, against long double.
#include <cmath>
#include <random>

#include "conformance/special_functions.hpp"
#include "flex/places.hpp"

namespace strata::conformance {
namespace {

using op::UnaryKind;

class FlexSpecialFunctions : public Conformance {};
INSTANTIATE_TEST_SUITE_P(Flex, FlexSpecialFunctions, every_target(), place_name);

/// Samples are spread evenly over [low, high], and over all exponents where `wide`.
struct Function {
  UnaryKind kind;
  Exact (*reference)(Exact);
  double low, high;
  double ulps32, ulps64;
  bool wide = true;
  /// Below this size an error is measured as one of a result of this size: near the function's roots.
  double floor = 0;
};

const Function functions[] = {
    {UnaryKind::exp2, std::exp2, -140, 120, 1.1, 1.2},
    {UnaryKind::exp2, std::exp2, -1080, 1020, 1.1, 1.2},
    {UnaryKind::log2, std::log2, 0, 4, 1.7, 1.7},
    {UnaryKind::log10, std::log10, 0, 4, 1.9, 1.9},
    {UnaryKind::tan, std::tan, -20, 20, 3.2, 3.2, false},
    {UnaryKind::tan, std::tan, -1e5, 1e5, 3.2, 3.2, false},
    {UnaryKind::asin, std::asin, -1, 1, 2.4, 2.3},
    {UnaryKind::acos, std::acos, -1, 1, 1.4, 1.4},
    {UnaryKind::atan, std::atan, -5, 5, 2.6, 2.0},
    {UnaryKind::sinh, std::sinh, -3, 3, 3.1, 3.2},
    {UnaryKind::sinh, std::sinh, -91, 91, 3.1, 3.2},
    {UnaryKind::cosh, std::cosh, -3, 3, 1.7, 1.5},
    {UnaryKind::cosh, std::cosh, -91, 91, 1.7, 1.5},
    {UnaryKind::asinh, std::asinh, -3, 3, 2.5, 2.6},
    {UnaryKind::acosh, std::acosh, 1, 5, 3.3, 3.5},
    {UnaryKind::acosh, std::acosh, 1, 1.01, 3.3, 3.5},
    {UnaryKind::atanh, std::atanh, -1, 1, 2.7, 2.6},
    {UnaryKind::gelu, gelu, -6, 6, 4.2, 4.9},
    {UnaryKind::gelu, gelu, -15, 14, 4.2, 4.9},
    {UnaryKind::gelu, gelu, -40, -30, 4.2, 4.9},
    {UnaryKind::silu, silu, -20, 20, 2.7, 2.8},
    {UnaryKind::silu, silu, -750, 0, 2.7, 2.8},
    {UnaryKind::softplus, softplus, -20, 20, 2.6, 2.8},
    {UnaryKind::softplus, softplus, -750, 0, 2.6, 2.8},
    {UnaryKind::erf, std::erf, -7, 7, 2.5, 2.5},
    {UnaryKind::erfinv, erfinv, -1, 1, 5.0, 3.0},
    {UnaryKind::erfinv, erfinv, 0.999, 1, 5.0, 3.0},
    {UnaryKind::lgamma, std::lgamma, -12, 12, 2.5, 4, true, 1},
    {UnaryKind::digamma, digamma, -12, 12, 0.51, 16, true, 1},
};

template <class T>
std::vector<T> samples(const Function& f) {
  using L = std::numeric_limits<T>;
  std::vector<T> xs{0,
                    -T{0},
                    1,
                    -1,
                    2,
                    L::min(),
                    -L::min(),
                    L::denorm_min(),
                    -L::denorm_min(),
                    L::infinity(),
                    -L::infinity(),
                    L::quiet_NaN(),
                    T(1e-10),
                    T(-1e-10),
                    static_cast<T>(f.high)};
  if (f.wide) xs.insert(xs.end(), {L::max(), L::lowest(), T(1e30), T(-1e30)});
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> even(f.low, f.high), exponent(L::min_exponent, L::max_exponent);
  for (int i = 0; i < 4000; ++i) {
    xs.push_back(static_cast<T>(even(random)));
    if (f.wide) xs.push_back(static_cast<T>(std::exp2(exponent(random)) * (i % 2 ? 1 : -1)));
  }
  return xs;
}

/// |got - want| in units of the last place of T at `want`, or at `floor` where that is larger.
template <class T>
double ulp_error(T got, Exact want, double floor) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  if (want == 0 && floor == 0 && std::signbit(got) != std::signbit(want)) return 1e9;
  int power = 0;
  std::frexp(std::max<Exact>(std::abs(want), floor), &power);
  const int lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  const int last = std::max(power - std::numeric_limits<T>::digits, lowest);
  return static_cast<double>(std::abs(static_cast<Exact>(got) - want) / std::ldexp(1.0L, last));
}

template <class T>
void check(Backend& backend, const Function& f) {
  const auto xs = samples<T>(f);
  const auto n = static_cast<std::int64_t>(xs.size());
  const auto x = backend.from_data(TensorData::from<T>(std::span<const T>(xs), {n}));
  const auto got = backend.into_data(bridge::unary(f.kind, x)).get().template to_vector<T>();
  double worst = 0;
  T at{};
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double error = ulp_error(got[i], f.reference(xs[i]), f.floor);
    if (error > worst) {
      worst = error;
      at = xs[i];
    }
  }
  EXPECT_LE(worst, sizeof(T) == 4 ? f.ulps32 : f.ulps64) << op::name_of(f.kind) << " at " << at;
}

TEST_P(FlexSpecialFunctions, StayWithinTheirStatedErrorInSinglePrecision) {
  for (const auto& f : functions) check<float>(backend(), f);
}
TEST_P(FlexSpecialFunctions, StayWithinTheirStatedErrorInDoublePrecision) {
  for (const auto& f : functions) check<double>(backend(), f);
}

TEST_P(FlexSpecialFunctions, LogarithmsOfWholePowersOfTwoAreWhole) {
  Array powers{DType::f32, {254}, {}}, exponents = powers;
  for (int k = -126; k < 128; ++k) {
    powers.values.push_back(std::ldexp(Exact{1}, k));
    exponents.values.push_back(k);
  }
  expect_equal(bridge::unary(UnaryKind::log2, upload(backend(), powers)), exponents);
  expect_equal(bridge::unary(UnaryKind::exp2, upload(backend(), exponents)), powers);
}

TEST_P(FlexSpecialFunctions, HypotIsInfiniteBesideNaN) {
  const Array a{DType::f32, {3}, {infinity, nan_value, 3e30L}},
      b{DType::f32, {3}, {nan_value, -infinity, 4e30L}};
  const auto result = bridge::binary(op::BinaryKind::hypot, upload(backend(), a), upload(backend(), b));
  expect_equal(result, {DType::f32, {3}, {infinity, infinity, 5e30L}},
               [](std::size_t) { return Exact{1e24L}; });
}

}  // namespace
}  // namespace strata::conformance
