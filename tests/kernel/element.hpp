/// The arithmetic of single elements, for the interpreter: bits in, bits out, per opcode.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "kernel/traits.hpp"

namespace strata::kernel::test {

using Bits = std::uint64_t;

template <class T>
T from_bits(Bits b) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(b);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<std::uint32_t>(b));
  else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    T h;
    h.bits = static_cast<std::uint16_t>(b);
    return h;
  } else
    return static_cast<T>(b);
}
template <class T>
Bits to_bits(T v) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<Bits>(v);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(v);
  else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return v.bits;
  else
    return static_cast<Bits>(v);
}

template <class F>
decltype(auto) visit(Scalar s, F&& f) {
  switch (s) {
    case Scalar::u32:
      return f.template operator()<std::uint32_t>();
    case Scalar::u64:
      return f.template operator()<std::uint64_t>();
    default:
      return visit_dtype(static_cast<DType>(s), std::forward<F>(f));
  }
}

/// What an operation on T computes in: f32 for halves, unsigned words for integers (they wrap).
template <class T>
constexpr bool half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool real = std::is_floating_point_v<T> || half<T>;
template <class T>
using Compute = std::conditional_t<half<T>, float, T>;

template <class To, class From>
To convert_element(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (half<From>)
    return convert_element<To>(static_cast<float>(x));
  else if constexpr (half<To>)
    return To(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != From{};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(x)) return To{};
    const From high = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return x >= high ? std::numeric_limits<To>::max() : static_cast<To>(x);
  } else
    return static_cast<To>(x);
}

template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}
template <class T>
T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

[[noreturn]] inline void undefined(Opcode op) {
  throw std::invalid_argument("interpreter: " + std::string(name_of(op)));
}

template <class T>
T float_operation(Opcode op, T a, T b, T c) {
  const auto wide = static_cast<long double>(a);
  switch (op) {
    case Opcode::neg:
      return -a;
    case Opcode::abs:
      return std::abs(a);
    case Opcode::sqrt:
      return std::sqrt(a);
    case Opcode::floor:
      return std::floor(a);
    case Opcode::ceil:
      return std::ceil(a);
    case Opcode::rint:
      return std::nearbyint(a);
    case Opcode::trunc:
      return std::trunc(a);
    case Opcode::exp:
      return static_cast<T>(std::exp(wide));
    case Opcode::log:
      return static_cast<T>(std::log(wide));
    case Opcode::tanh:
      return static_cast<T>(std::tanh(wide));
    case Opcode::sin:
      return static_cast<T>(std::sin(wide));
    case Opcode::cos:
      return static_cast<T>(std::cos(wide));
    case Opcode::log1p:
      return static_cast<T>(std::log1p(wide));
    case Opcode::expm1:
      return static_cast<T>(std::expm1(wide));
    case Opcode::erf:
      return static_cast<T>(std::erf(wide));
    case Opcode::exp2_fast:
      return static_cast<T>(std::exp2(wide));
    case Opcode::recip_fast:
      return static_cast<T>(1 / wide);
    case Opcode::add:
    case Opcode::reduce_add:
      return a + b;
    case Opcode::sub:
      return a - b;
    case Opcode::mul:
    case Opcode::reduce_mul:
      return a * b;
    case Opcode::div:
      return a / b;
    case Opcode::min:
    case Opcode::reduce_min:
      return minimum(a, b);
    case Opcode::max:
    case Opcode::reduce_max:
      return maximum(a, b);
    case Opcode::fma:
      return std::fma(a, b, c);
    default:
      undefined(op);
  }
}

template <class T>
T int_operation(Opcode op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const auto ua = static_cast<Bits>(a), ub = static_cast<Bits>(b);
  const auto wrap = [](Bits v) { return static_cast<T>(static_cast<U>(v)); };
  constexpr auto width = static_cast<Bits>(8 * sizeof(T));
  switch (op) {
    case Opcode::neg:
      return wrap(0 - ua);
    case Opcode::abs:
      return std::is_signed_v<T> && a < T{} ? wrap(0 - ua) : a;
    case Opcode::bit_not:
      return wrap(~ua);
    case Opcode::add:
    case Opcode::reduce_add:
      return wrap(ua + ub);
    case Opcode::sub:
      return wrap(ua - ub);
    case Opcode::mul:
    case Opcode::reduce_mul:
      return wrap(ua * ub);
    case Opcode::div:
    case Opcode::rem:
      if (b == 0) throw std::domain_error("interpreter: integer division by zero");
      if (std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1))
        throw std::domain_error("interpreter: integer division overflows");
      return static_cast<T>(op == Opcode::div ? a / b : a % b);
    case Opcode::min:
    case Opcode::reduce_min:
      return minimum(a, b);
    case Opcode::max:
    case Opcode::reduce_max:
      return maximum(a, b);
    case Opcode::bit_and:
      return a & b;
    case Opcode::bit_or:
      return a | b;
    case Opcode::bit_xor:
      return a ^ b;
    case Opcode::shift_left:
      return ub < width ? wrap(ua << ub) : T{};
    case Opcode::shift_right:
      return ub < width ? static_cast<T>(a >> ub) : T{};
    case Opcode::mul_high: {
      if constexpr (std::is_signed_v<T>)
        return static_cast<T>((static_cast<std::int64_t>(a) * b) >> 32);
      else
        return static_cast<T>((ua * ub) >> 32);
    }
    default:
      undefined(op);
  }
}

/// One lane of an operation whose operands and result are of type T.
template <class T>
T operate(Opcode op, T a, T b, T c) {
  if constexpr (half<T>) {
    return T(float_operation<float>(op, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return float_operation<T>(op, a, b, c);
  } else if constexpr (std::is_same_v<T, bool>) {
    switch (op) {
      case Opcode::bit_and:
        return a && b;
      case Opcode::bit_or:
        return a || b;
      case Opcode::bit_xor:
        return a != b;
      default:
        undefined(op);
    }
  } else {
    return int_operation<T>(op, a, b);
  }
}

template <class T>
bool compare(Opcode op, T x, T y) {
  const auto a = static_cast<Compute<T>>(x), b = static_cast<Compute<T>>(y);
  switch (op) {
    case Opcode::eq:
      return a == b;
    case Opcode::ne:
      return a != b;
    case Opcode::lt:
      return a < b;
    case Opcode::le:
      return a <= b;
    case Opcode::gt:
      return a > b;
    default:
      return a >= b;
  }
}

template <class T>
T scale(T x, std::int64_t n) {
  const auto limited = static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(n, -100000), 100000));
  return std::ldexp(x, limited);
}

}  // namespace strata::kernel::test
