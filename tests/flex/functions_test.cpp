/// Functions where the vectorised formulas end: huge and tiny arguments, element by element, at every length.
#include <cmath>

#include "flex/places.hpp"

namespace strata::conformance {
namespace {

class FlexFunctions : public Conformance {};
INSTANTIATE_TEST_SUITE_P(Flex, FlexFunctions, every_target(), place_name);

using op::UnaryKind;

template <class T>
void expect_near_libm(Backend& backend, UnaryKind kind, const std::vector<T>& xs,
                      double (*reference)(double)) {
  const auto n = static_cast<std::int64_t>(xs.size());
  const auto x = backend.from_data(TensorData::from<T>(std::span<const T>(xs), {n}));
  const auto got = backend.into_data(bridge::unary(kind, x)).get().template to_vector<T>();
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const T expected = static_cast<T>(reference(static_cast<double>(xs[i])));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got[i])) << op::name_of(kind) << "(" << xs[i] << ") = " << got[i];
    } else if (std::isinf(expected) || expected == 0) {
      EXPECT_EQ(got[i], expected) << op::name_of(kind) << "(" << xs[i] << ")";
      EXPECT_EQ(std::signbit(got[i]), std::signbit(expected)) << op::name_of(kind) << "(" << xs[i] << ")";
    } else {
      const T slack =
          std::abs(expected) * std::numeric_limits<T>::epsilon() * 8 + std::numeric_limits<T>::denorm_min();
      EXPECT_NEAR(got[i], expected, slack) << op::name_of(kind) << "(" << xs[i] << ")";
    }
  }
}

template <class T>
std::vector<T> hard_arguments() {
  using L = std::numeric_limits<T>;
  std::vector<T> xs{0,         -T{0},       L::min(),      -L::min(),      L::denorm_min(), -L::denorm_min(),
                    L::max(),  L::lowest(), L::infinity(), -L::infinity(), L::quiet_NaN(),  1,
                    -1,        T(1e-10),    T(-1e-10),     T(1e30),        T(-1e30),        T(86.9),
                    T(87.1),   T(88.8),     T(-87.4),      T(-103),        T(-104.5),       T(699.5),
                    T(-709),   T(-745.5),   T(0.9999),     T(1.0001),      T(-0.9999),      T(39001),
                    T(123456), T(19),       T(-41),        T(0.5)};
  return xs;
}

template <class T>
void check_all(Backend& backend) {
  const auto xs = hard_arguments<T>();
  using F = double (*)(double);
  const std::pair<UnaryKind, F> functions[] = {
      {UnaryKind::exp, std::exp},
      {UnaryKind::expm1, std::expm1},
      {UnaryKind::log, std::log},
      {UnaryKind::log1p, std::log1p},
      {UnaryKind::sin, std::sin},
      {UnaryKind::cos, std::cos},
      {UnaryKind::tanh, std::tanh},
      {UnaryKind::erf, std::erf},
      {UnaryKind::sqrt, std::sqrt},
      {UnaryKind::floor, std::floor},
      {UnaryKind::ceil, std::ceil},
      {UnaryKind::trunc, std::trunc},
      {UnaryKind::round, std::nearbyint},
      {UnaryKind::sigmoid,
       [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }}};
  for (const auto& [kind, reference] : functions) {
    expect_near_libm<T>(backend, kind, xs, reference);
    for (T x : xs) expect_near_libm<T>(backend, kind, {x}, reference);  // a length that fills no vector
  }
}

TEST_P(FlexFunctions, HardArgumentsInSinglePrecision) { check_all<float>(backend()); }
TEST_P(FlexFunctions, HardArgumentsInDoublePrecision) { check_all<double>(backend()); }

TEST_P(FlexFunctions, AResultDoesNotDependOnWhereItsElementStands) {
  for (auto dtype : floats()) {
    for (auto kind :
         {UnaryKind::exp, UnaryKind::tanh, UnaryKind::log1p, UnaryKind::sin, UnaryKind::sigmoid}) {
      const auto x = random_array(dtype, {77}, 1);
      const auto whole = read(bridge::unary(kind, upload(backend(), x)));
      for (std::int64_t start = 1; start < 40; ++start) {
        const auto part = bridge::slice(upload(backend(), x), {start}, {77}, {1});
        const Array expected{dtype, {77 - start}, {whole.values.begin() + start, whole.values.end()}};
        auto got = bridge::unary(kind, part);
        expect_equal(got, expected);
      }
    }
  }
}

/// A row of the result beside one number has a loop of its own from a length on; its rest is the scalar part.
template <class T>
void check_columns(Backend& backend) {
  const std::int64_t rows = 5, columns = 67;
  std::vector<T> matrix(static_cast<std::size_t>(rows * columns)), column{3, T(-0.5), 0, T(INFINITY), T(NAN)};
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<T>(i) / 7 - 20;
  const auto m = backend.from_data(TensorData::from<T>(std::span<const T>(matrix), {rows, columns}));
  const auto c = backend.from_data(TensorData::from<T>(std::span<const T>(column), {rows, 1}));
  const auto compute = [](op::BinaryKind kind, T a, T b) {
    switch (kind) {
      case op::BinaryKind::add:
        return a + b;
      case op::BinaryKind::sub:
        return a - b;
      case op::BinaryKind::mul:
        return a * b;
      default:
        return a / b;
    }
  };
  for (auto kind : {op::BinaryKind::add, op::BinaryKind::sub, op::BinaryKind::mul, op::BinaryKind::div}) {
    const auto right = backend.into_data(bridge::binary(kind, m, c)).get().template to_vector<T>();
    const auto left = backend.into_data(bridge::binary(kind, c, m)).get().template to_vector<T>();
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      const T y = column[i / columns], x = matrix[i], r = compute(kind, x, y), l = compute(kind, y, x);
      EXPECT_TRUE(right[i] == r || (std::isnan(r) && std::isnan(right[i]))) << op::name_of(kind) << " " << i;
      EXPECT_TRUE(left[i] == l || (std::isnan(l) && std::isnan(left[i]))) << op::name_of(kind) << " " << i;
    }
  }
}
TEST_P(FlexFunctions, AColumnBesideAMatrix) {
  check_columns<float>(backend());
  check_columns<double>(backend());
}

TEST_P(FlexFunctions, HalvesConvertExactly) {
  std::vector<Exact> all;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    Float16 h;
    h.bits = static_cast<std::uint16_t>(bits);
    all.push_back(static_cast<float>(h));
  }
  const Array halves{DType::f16, {65536}, all};
  expect_equal(bridge::cast(upload(backend(), halves), DType::f32), {DType::f32, {65536}, all});
  expect_equal(bridge::cast(upload(backend(), {DType::f32, {65536}, all}), DType::f16), halves);
  // Between two halves: ties go to the even one, everything else to the nearer.
  for (auto dtype : {DType::f16, DType::bf16}) {
    Array between{DType::f32, {}, {}}, expected{dtype, {}, {}};
    for (std::uint32_t u = 0x33000000u; u < 0x47900000u; u += 0x0000333fu) {
      between.values.push_back(std::bit_cast<float>(u));
      expected.values.push_back(rounded(dtype, between.values.back()));
    }
    between.shape = expected.shape = {static_cast<std::int64_t>(between.values.size())};
    expect_equal(bridge::cast(upload(backend(), between), dtype), expected);
  }
}

}  // namespace
}  // namespace strata::conformance
