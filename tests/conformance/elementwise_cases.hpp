/// Unary, Binary, Compare, Where and Cast against the model, for every dtype and layout. Include in one
/// source file of a test binary and instantiate `ElementwiseConformance`.
#pragma once

#include "conformance/reference.hpp"
#include "conformance/special_functions.hpp"

namespace strata::conformance {

using op::BinaryKind;
using op::CompareKind;
using op::UnaryKind;

class ElementwiseConformance : public Conformance {};

/// Values at which formulas break, first in every float input.
inline std::vector<Exact> special_floats() {
  return {0,        -0.0L,     1,         -1,  0.5L, -0.5L, 1.5L,  2.5L,  -2.5L,
          infinity, -infinity, nan_value, 100, -100, 1e4L,  1e-3L, -1e-3L};
}
inline std::vector<Exact> special_ints(DType t) {
  switch (t) {
    case DType::i64:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 0, -1, 1};
    case DType::i32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(), 0, -1, 1};
    case DType::u8:
      return {0, 255, 1, 128};
    default:
      return {};
  }
}
inline std::vector<Exact> specials(DType t) { return is_float(t) ? special_floats() : special_ints(t); }

inline Exact reference(UnaryKind kind, DType t, Exact x) {
  const auto integer = [&](Exact v) {
    return is_int(t) ? static_cast<Exact>(wrapped(t, static_cast<std::uint64_t>(static_cast<Int128>(v)))) : v;
  };
  switch (kind) {
    case UnaryKind::neg:
      return integer(-x);
    case UnaryKind::abs:
      return integer(std::abs(x));
    case UnaryKind::sign:
      return std::isnan(x) ? x : static_cast<Exact>((x > 0) - (x < 0));
    case UnaryKind::floor:
      return std::floor(x);
    case UnaryKind::ceil:
      return std::ceil(x);
    case UnaryKind::round:
      return std::nearbyint(x);
    case UnaryKind::trunc:
      return std::trunc(x);
    case UnaryKind::recip:
      return 1 / x;
    case UnaryKind::sqrt:
      return std::sqrt(x);
    case UnaryKind::rsqrt:
      return 1 / std::sqrt(x);
    case UnaryKind::exp:
      return std::exp(x);
    case UnaryKind::expm1:
      return std::expm1(x);
    case UnaryKind::log:
      return std::log(x);
    case UnaryKind::log1p:
      return std::log1p(x);
    case UnaryKind::sin:
      return std::sin(x);
    case UnaryKind::cos:
      return std::cos(x);
    case UnaryKind::tanh:
      return std::tanh(x);
    case UnaryKind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryKind::erf:
      return std::erf(x);
    case UnaryKind::exp2:
      return std::exp2(x);
    case UnaryKind::log2:
      return std::log2(x);
    case UnaryKind::log10:
      return std::log10(x);
    case UnaryKind::tan:
      return std::tan(x);
    case UnaryKind::asin:
      return std::asin(x);
    case UnaryKind::acos:
      return std::acos(x);
    case UnaryKind::atan:
      return std::atan(x);
    case UnaryKind::sinh:
      return std::sinh(x);
    case UnaryKind::cosh:
      return std::cosh(x);
    case UnaryKind::asinh:
      return std::asinh(x);
    case UnaryKind::acosh:
      return std::acosh(x);
    case UnaryKind::atanh:
      return std::atanh(x);
    case UnaryKind::lgamma:
      return std::lgamma(x);
    case UnaryKind::gelu:
      return conformance::gelu(x);
    case UnaryKind::silu:
      return conformance::silu(x);
    case UnaryKind::softplus:
      return conformance::softplus(x);
    case UnaryKind::erfinv:
      return conformance::erfinv(x);
    case UnaryKind::digamma:
      return conformance::digamma(x);
    case UnaryKind::logical_not:
      return x == 0;
    case UnaryKind::bit_not:
      return integer(-x - 1);
  }
  return 0;
}

inline Exact floored_remainder(Exact a, Exact b) {
  const Exact r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

inline std::int64_t int_power(DType t, std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (auto e = static_cast<std::uint64_t>(exponent); e; e >>= 1, square *= square) {
    if (e & 1) result *= square;
  }
  return wrapped(t, result);
}

inline Exact reference_int(BinaryKind kind, DType t, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  const auto bits = static_cast<std::int64_t>(size_of(t) * 8);
  const auto wide = [&](Int128 v) { return wrapped(t, static_cast<std::uint64_t>(v)); };
  const auto quotient = [&] {
    const auto x = static_cast<Int128>(a), y = static_cast<Int128>(b);
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
  };
  switch (kind) {
    case BinaryKind::add:
      return wrapped(t, ua + ub);
    case BinaryKind::sub:
      return wrapped(t, ua - ub);
    case BinaryKind::mul:
      return wrapped(t, ua * ub);
    case BinaryKind::div:
      return b == 0 ? 0 : wide(quotient());
    case BinaryKind::rem:
      return b == 0 ? 0 : wide(static_cast<Int128>(a) - quotient() * b);
    case BinaryKind::fmod:
      return b == 0 ? 0 : wide(static_cast<Int128>(a) % b);
    case BinaryKind::pow:
      return int_power(t, a, b);
    case BinaryKind::max:
      return std::max(a, b);
    case BinaryKind::min:
      return std::min(a, b);
    case BinaryKind::bit_and:
      return a & b;
    case BinaryKind::bit_or:
      return a | b;
    case BinaryKind::bit_xor:
      return a ^ b;
    case BinaryKind::shift_left:
      return b < 0 || b >= bits ? 0 : wrapped(t, ua << b);
    case BinaryKind::shift_right:
      return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b;
    case BinaryKind::atan2:
    case BinaryKind::hypot:
      break;  // floats only
  }
  return 0;
}

inline Exact reference(BinaryKind kind, DType t, Exact a, Exact b) {
  if (!is_float(t)) return reference_int(kind, t, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  switch (kind) {
    case BinaryKind::add:
      return a + b;
    case BinaryKind::sub:
      return a - b;
    case BinaryKind::mul:
      return a * b;
    case BinaryKind::div:
      return a / b;
    case BinaryKind::rem:
      return floored_remainder(a, b);
    case BinaryKind::fmod:
      return std::fmod(a, b);
    case BinaryKind::atan2:
      return std::atan2(a, b);
    case BinaryKind::hypot:
      return std::hypot(a, b);
    case BinaryKind::pow:
      return std::pow(a, b);
    case BinaryKind::max:
      return std::isnan(a) || std::isnan(b) ? nan_value : std::max(a, b);
    default:
      return std::isnan(a) || std::isnan(b) ? nan_value : std::min(a, b);
  }
}

inline bool defined(UnaryKind kind, DType t) {
  if (kind == UnaryKind::logical_not) return t == DType::boolean;
  if (kind == UnaryKind::bit_not) return is_int(t);
  if (kind == UnaryKind::neg) return is_float(t) || (is_int(t) && t != DType::u8);
  if (kind <= UnaryKind::sign) return t != DType::boolean;
  return is_float(t);
}
inline bool defined(BinaryKind kind, DType t) {
  if (kind <= BinaryKind::min) return t != DType::boolean;
  if (kind <= BinaryKind::hypot) return is_float(t);
  return kind <= BinaryKind::bit_xor ? !is_float(t) : is_int(t);
}

/// A few units in the last place. `absolute` counts them at 1, for functions that cross zero away from 0;
/// `subnormals` counts the smallest ones.
struct Slack {
  Exact ulps = 8, absolute = 0, subnormals = 2;
};
inline Slack slack_of(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::sin:
    case UnaryKind::cos:
    case UnaryKind::tan:
    case UnaryKind::log:
      return {8, 4};
    case UnaryKind::lgamma:  // sums of terms near 10 that cancel at its roots; likewise digamma
    case UnaryKind::digamma:
      return {16, 32};
    case UnaryKind::silu:  // x times a sigmoid that may be subnormal: |x| of the last places of that
      return {8, 0, 128};
    default:
      return {};
  }
}
inline Tolerance float_tolerance(DType t, const Array& expected, Slack slack) {
  const auto unit = epsilon(t);
  if (t != DType::f32 && t != DType::f64) slack.ulps = 1;  // computed in f32, rounded once
  return [=, values = &expected.values](std::size_t i) {
    return unit * (slack.ulps * std::abs((*values)[i]) + slack.absolute) +
           slack.subnormals * smallest_subnormal(t);
  };
}

TEST_P(ElementwiseConformance, UnaryOnEveryDtypeAndLayout) {
  for (auto dtype : all_dtypes) {
    for (int k = 0; k < op::unary_count; ++k) {
      const auto kind = static_cast<UnaryKind>(k);
      if (!defined(kind, dtype)) continue;
      for (auto layout : all_layouts) {
        SCOPED_TRACE(std::string(op::name_of(kind)) + " " + std::string(name_of(dtype)) + " " +
                     name_of(layout));
        const auto x = sample(backend(), dtype, {3, 5, 7}, layout, static_cast<unsigned>(k), specials(dtype));
        auto expected = x.array;
        for (auto& v : expected.values) v = rounded(dtype, reference(kind, dtype, v));
        const bool exact =
            kind <= UnaryKind::trunc || kind == UnaryKind::bit_not || kind == UnaryKind::logical_not;
        expect_equal(bridge::unary(kind, x.value), expected,
                     exact ? Tolerance{} : float_tolerance(dtype, expected, slack_of(kind)));
      }
    }
  }
}

inline void check_binary(Backend& backend, BinaryKind kind, DType dtype, const Sample& a, const Sample& b) {
  Array expected{dtype, broadcast_shape(a.array.shape, b.array.shape), {}};
  std::vector<Exact> scale;  // what the error of the inexact kinds is proportional to
  for (std::int64_t i = 0; i < expected.shape.product(); ++i) {
    const auto index = index_of(expected.shape, i);
    const auto x = broadcast_at(a.array, index), y = broadcast_at(b.array, index);
    expected.values.push_back(rounded(dtype, reference(kind, dtype, x, y)));
    const auto value = std::abs(expected.values.back());
    scale.push_back(kind == BinaryKind::pow   ? value * (8 + 4 * std::abs(y * std::log(std::abs(x))))
                    : kind == BinaryKind::rem ? 4 * (std::abs(x) + std::abs(y))
                                              : 8 * value);
  }
  const bool inexact = is_float(dtype) && (kind == BinaryKind::pow || kind == BinaryKind::rem ||
                                           kind == BinaryKind::atan2 || kind == BinaryKind::hypot);
  const auto result = bridge::binary(kind, a.value, b.value);
  EXPECT_EQ(&result->backend, &backend);
  expect_equal(result, expected,
               inexact ? Tolerance([&](std::size_t i) {
                 const auto s = std::isfinite(scale[i]) ? scale[i] : 0;
                 return epsilon(dtype) * s + 2 * smallest_subnormal(dtype);
               })
                       : Tolerance{});
}

TEST_P(ElementwiseConformance, BinaryOnEveryDtypeAndLayout) {
  for (auto dtype : all_dtypes) {
    for (int k = 0; k < op::binary_count; ++k) {
      const auto kind = static_cast<BinaryKind>(k);
      if (!defined(kind, dtype)) continue;
      for (auto layout : all_layouts) {
        SCOPED_TRACE(std::string(op::name_of(kind)) + " " + std::string(name_of(dtype)) + " " +
                     name_of(layout));
        const bool finite = kind == BinaryKind::rem || kind == BinaryKind::pow;
        auto first = specials(dtype), second = first;
        std::rotate(second.begin(), second.begin() + (second.empty() ? 0 : 1), second.end());
        if (finite && is_float(dtype)) first = second = {};
        const auto a = sample(backend(), dtype, {3, 5, 7}, layout, 1, first);
        const auto b = sample(backend(), dtype, {3, 5, 7}, Layout::contiguous, 2, second);
        check_binary(backend(), kind, dtype, a, b);
        check_binary(backend(), kind, dtype, b, a);
      }
    }
  }
}

TEST_P(ElementwiseConformance, BroadcastingAcrossRanksAndZeroExtents) {
  const std::pair<Shape, Shape> shapes[] = {
      {{3, 5, 7}, {7}},    {{3, 1, 7}, {5, 1}},      {{}, {4, 3}},     {{}, {}},
      {{2, 0}, {2, 1}},    {{0, 3}, {1, 3}},         {{1, 0}, {2, 0}}, {{2, 1, 3}, {4, 1}},
      {{65, 33}, {65, 1}}, {{1, 1, 2000}, {3, 1, 1}}};
  for (auto dtype : numbers()) {
    for (const auto& [left, right] : shapes) {
      for (auto layout : all_layouts) {
        SCOPED_TRACE(std::string(name_of(dtype)) + left.to_string() + right.to_string() + name_of(layout));
        const auto a = sample(backend(), dtype, left, layout, 1),
                   b = sample(backend(), dtype, right, layout, 2);
        check_binary(backend(), BinaryKind::sub, dtype, a, b);
      }
    }
  }
}

TEST_P(ElementwiseConformance, IntegerDivisionFloorsAtTheEdges) {
  for (auto dtype : {DType::i64, DType::i32}) {
    const auto lowest = dtype == DType::i64 ? static_cast<Exact>(std::numeric_limits<std::int64_t>::min())
                                            : static_cast<Exact>(std::numeric_limits<std::int32_t>::min());
    const Array a{dtype, {8}, {-7, 7, -7, 7, lowest, lowest, 5, -5}},
        b{dtype, {8}, {2, 2, -2, -2, -1, 0, 0, 5}};
    const auto x = upload(backend(), a), y = upload(backend(), b);
    expect_equal(bridge::binary(BinaryKind::div, x, y), {dtype, {8}, {-4, 3, 3, -4, lowest, 0, 0, -1}});
    expect_equal(bridge::binary(BinaryKind::rem, x, y), {dtype, {8}, {1, 1, -1, -1, 0, 0, 0, 0}});
    expect_equal(bridge::unary(UnaryKind::abs, x), {dtype, {8}, {7, 7, 7, 7, lowest, lowest, 5, 5}});
    expect_equal(bridge::binary(BinaryKind::pow, upload(backend(), {dtype, {6}, {1, -1, -1, 2, 0, 3}}),
                                upload(backend(), {dtype, {6}, {-5, -3, -2, -1, -1, 4}})),
                 {dtype, {6}, {1, -1, 1, 0, 0, 81}});
    expect_equal(bridge::binary(BinaryKind::shift_right, upload(backend(), {dtype, {4}, {-8, 8, -8, -8}}),
                                upload(backend(), {dtype, {4}, {1, 100, 100, -1}})),
                 {dtype, {4}, {-4, 0, -1, -1}});
  }
}

TEST_P(ElementwiseConformance, CompareOnEveryDtypeAndLayout) {
  for (auto dtype : all_dtypes) {
    for (int k = 0; k < op::compare_count; ++k) {
      const auto kind = static_cast<CompareKind>(k);
      if (dtype == DType::boolean && kind > CompareKind::not_equal) continue;
      for (auto layout : all_layouts) {
        SCOPED_TRACE(std::string(op::name_of(kind)) + " " + std::string(name_of(dtype)) + " " +
                     name_of(layout));
        auto other = specials(dtype);
        std::rotate(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(other.size() / 2),
                    other.end());
        const auto a = sample(backend(), dtype, {3, 5, 7}, layout, 1, specials(dtype));
        const auto b = sample(backend(), dtype, {1, 5, 7}, Layout::contiguous, 2, other);
        Array expected{DType::boolean, {3, 5, 7}, {}};
        for (std::int64_t i = 0; i < 105; ++i) {
          const auto index = index_of(expected.shape, i);
          const auto x = broadcast_at(a.array, index), y = broadcast_at(b.array, index);
          const bool results[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
          expected.values.push_back(results[k]);
        }
        expect_equal(bridge::compare(kind, a.value, b.value), expected);
      }
    }
  }
}

TEST_P(ElementwiseConformance, WhereOnEveryDtypeAndLayout) {
  for (auto dtype : all_dtypes) {
    for (auto layout : all_layouts) {
      SCOPED_TRACE(std::string(name_of(dtype)) + " " + name_of(layout));
      const auto c = sample(backend(), DType::boolean, {4, 3, 7}, layout, 1);
      const auto a = sample(backend(), dtype, {4, 3, 7}, layout, 2, specials(dtype));
      const auto b = sample(backend(), dtype, {3, 1}, layout, 3);
      Array expected{dtype, {4, 3, 7}, {}};
      for (std::int64_t i = 0; i < expected.shape.product(); ++i) {
        const auto index = index_of(expected.shape, i);
        expected.values.push_back(broadcast_at(broadcast_at(c.array, index) != 0 ? a.array : b.array, index));
      }
      expect_equal(bridge::where(c.value, a.value, b.value), expected);
    }
  }
}

/// The rule of Cast, written once more.
inline Exact reference_cast(DType from, DType to, Exact x) {
  if (to == DType::boolean) return x != 0;
  if (is_float(to))
    return to == DType::f64 || to == DType::f32 ? rounded(to, x) : rounded(to, rounded(DType::f32, x));
  if (!is_float(from)) return wrapped(to, static_cast<std::uint64_t>(static_cast<std::int64_t>(x)));
  if (std::isnan(x)) return 0;
  const Exact low = to == DType::i64 ? -0x1p63L : to == DType::i32 ? -0x1p31L : 0;
  const Exact high = to == DType::i64 ? 0x1p63L - 1 : to == DType::i32 ? 0x1p31L - 1 : 255;
  return std::trunc(std::min(std::max(x, low), high));
}

TEST_P(ElementwiseConformance, CastBetweenAllDtypes) {
  for (auto from : all_dtypes) {
    for (auto to : all_dtypes) {
      for (auto layout : all_layouts) {
        SCOPED_TRACE(std::string(name_of(from)) + " to " + std::string(name_of(to)) + " " + name_of(layout));
        auto extra = specials(from);
        if (is_float(from))
          extra.insert(extra.end(), {300, -300, 6e4L, 3e9L, -3e9L, 1e19L, -1e19L, 0.999L, -0.999L});
        const auto x = sample(backend(), from, {2, 3, 11}, layout, 5, extra);
        auto expected = x.array;
        expected.dtype = to;
        for (auto& v : expected.values) v = reference_cast(from, to, v);
        const auto result = backend::execute(op::Cast{to}, {&x.value, 1})[0];
        expect_equal(result, expected);
      }
    }
  }
}

}  // namespace strata::conformance
