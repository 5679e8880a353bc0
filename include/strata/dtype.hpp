/// Element types: the `DType` tag, the two 16-bit float types, and the mapping from C++ types.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "strata/config.hpp"

namespace strata::inline v0 {

/// Element type of a tensor. `boolean` is stored as one byte, 0 or 1.
enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean };
inline constexpr int dtype_count = 8;

/// Bytes of one element.
constexpr std::size_t size_of(DType t) {
  switch (t) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::u8:
    case DType::boolean:
      return 1;
  }
  return 0;
}
constexpr bool is_float(DType t) { return t <= DType::bf16; }
constexpr bool is_int(DType t) { return t == DType::i64 || t == DType::i32 || t == DType::u8; }
constexpr std::string_view name_of(DType t) {
  constexpr std::string_view names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool"};
  return names[static_cast<int>(t)];
}

/// The dtype that holds the values of both as well as any does: the wider of two floats or integers, f32 for
/// f16 with bf16, a float before integers, anything before bool. Operations never promote by themselves:
/// cast to this where dtypes differ.
constexpr DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (!is_float(a)) return a < b ? a : b;
  return size_of(a) == size_of(b) ? DType::f32 : a < b ? a : b;
}

/// bfloat16: the upper half of an IEEE binary32. Conversion rounds to nearest even and keeps NaN.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    bits = (u & 0x7fffffffu) > 0x7f800000u
               ? static_cast<std::uint16_t>((u >> 16) | 0x40)
               : static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  bool operator==(const BFloat16& o) const { return static_cast<float>(*this) == static_cast<float>(o); }
};

/// IEEE binary16. Conversion rounds to nearest even; subnormals, infinities and NaN are kept.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      bits = static_cast<std::uint16_t>(sign | 0x7e00u);
    } else if (magnitude >= 0x477ff000u) {  // rounds to 65536 or more
      bits = static_cast<std::uint16_t>(sign | 0x7c00u);
    } else if (magnitude < 0x38800000u) {  // subnormal: let the float adder round at 2^-24
      const float r = std::bit_cast<float>(magnitude) + 0.5f;
      bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(r) - 0x3f000000u));
    } else {
      const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1) - 0x38000000u;
      bits = static_cast<std::uint16_t>(sign | (rounded >> 13));
    }
  }
  explicit operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, e = (bits >> 10) & 0x1f, m = bits & 0x3ffu;
    if (e == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (m << 13));
    if (e == 0) {
      const float v = static_cast<float>(m) * 0x1p-24f;
      return sign ? -v : v;
    }
    return std::bit_cast<float>(sign | ((e + 112) << 23) | (m << 13));
  }
  bool operator==(const Float16& o) const { return static_cast<float>(*this) == static_cast<float>(o); }
};

/// C++ types that can be tensor elements.
template <class T>
concept Element = std::same_as<T, double> || std::same_as<T, float> || std::same_as<T, Float16> ||
    std::same_as<T, BFloat16> || std::same_as<T, std::int64_t> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::uint8_t> || std::same_as<T, bool>;

template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, double>) return DType::f64;
  if constexpr (std::same_as<T, float>) return DType::f32;
  if constexpr (std::same_as<T, Float16>) return DType::f16;
  if constexpr (std::same_as<T, BFloat16>) return DType::bf16;
  if constexpr (std::same_as<T, std::int64_t>) return DType::i64;
  if constexpr (std::same_as<T, std::int32_t>) return DType::i32;
  if constexpr (std::same_as<T, std::uint8_t>) return DType::u8;
  return DType::boolean;
}

/// Calls `f.template operator()<T>()` with the C++ type stored for `t`.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f16:
      return f.template operator()<Float16>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::boolean:
      break;
  }
  return f.template operator()<bool>();
}

}  // namespace strata::inline v0
