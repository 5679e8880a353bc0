#include "flex/moving_kernels.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/moving_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class U>
void Select(const std::uint8_t* HWY_RESTRICT mask, const U* HWY_RESTRICT a, const U* HWY_RESTRICT b,
            U* HWY_RESTRICT out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const U x = a[i], y = b[i];  // both loaded: no branch
    out[i] = mask[i] ? x : y;
  }
}

/// base::convert without branches. Every conversion is of a number that fits, so none is undefined.
template <class From, class To>
HWY_INLINE To converted(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From above = static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    const From number = x == x ? x : From{0};
    const From least = number > low ? number : low;
    const bool fits = least < above;
    const To inside = static_cast<To>(fits ? least : From{0});
    return fits ? inside : std::numeric_limits<To>::max();
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void Convert(const From* HWY_RESTRICT x, To* HWY_RESTRICT out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = converted<From, To>(x[i]);
}

template <class U>
HWY_INLINE void Spread(U value, U* HWY_RESTRICT out, std::size_t n) {
  const hn::ScalableTag<U> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto v = hn::Set(d, value);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(v, d, out + i);
  for (; i < n; ++i) out[i] = value;
}
void Spread8(std::uint8_t value, std::uint8_t* out, std::size_t n) { Spread(value, out, n); }
void Spread16(std::uint16_t value, std::uint16_t* out, std::size_t n) { Spread(value, out, n); }
void Spread32(std::uint32_t value, std::uint32_t* out, std::size_t n) { Spread(value, out, n); }
void Spread64(std::uint64_t value, std::uint64_t* out, std::size_t n) { Spread(value, out, n); }

bool AllBelow(const std::int64_t* at, std::size_t n, std::int64_t extent) {
  const hn::ScalableTag<std::int64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  auto least = hn::Zero(d), most = hn::Set(d, std::int64_t{-1});
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, at + i);
    least = hn::Min(least, v);
    most = hn::Max(most, v);
  }
  bool good = hn::AllTrue(d, hn::And(hn::Eq(least, hn::Zero(d)), hn::Lt(most, hn::Set(d, extent))));
  for (; i < n; ++i) good &= at[i] >= 0 && at[i] < extent;
  return good;
}

HWY_INLINE std::uint32_t high_half(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}

void Philox(std::uint64_t first, std::uint64_t seed, PhiloxWords& out) {
  constexpr std::uint32_t multiplier[2] = {0xD2511F53u, 0xCD9E8D57u}, weyl[2] = {0x9E3779B9u, 0xBB67AE85u};
  constexpr std::size_t lanes = 32;  // counters whose state stays in registers
  for (std::size_t at = 0; at < philox_block; at += lanes) {
    std::uint32_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::uint64_t counter = first + at + i;
      c0[i] = static_cast<std::uint32_t>(counter);
      c1[i] = static_cast<std::uint32_t>(counter >> 32);
      c2[i] = c3[i] = 0;
    }
    auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < lanes; ++i) {
        const std::uint32_t a = c0[i], b = c2[i];
        c0[i] = high_half(multiplier[1], b) ^ c1[i] ^ k0;
        c2[i] = high_half(multiplier[0], a) ^ c3[i] ^ k1;
        c1[i] = multiplier[1] * b;
        c3[i] = multiplier[0] * a;
      }
      k0 += weyl[0];
      k1 += weyl[1];
    }
    for (std::size_t i = 0; i < lanes; ++i) {
      out.word[0][at + i] = c0[i];
      out.word[1][at + i] = c1[i];
      out.word[2][at + i] = c2[i];
      out.word[3][at + i] = c3[i];
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

template <class U>
void Turn(const U* source, std::int64_t from, U* target, std::int64_t to, std::int64_t tiles) {
  for (std::int64_t j = 0; j < tiles * line_of<U>; ++j) {
    for (std::int64_t i = 0; i < line_of<U>; ++i) target[j * to + i] = source[i * from + j];
  }
}

#else

/// A square of elements, one vector of 16 bytes a row, turned by perfect shuffles of its rows.
template <class U>
HWY_INLINE void TurnSquare(const U* source, std::int64_t from, U* target, std::int64_t to) {
  constexpr std::size_t lanes = 16 / sizeof(U);
  const hn::CappedTag<U, lanes> d;
  hn::Vec<decltype(d)> row[lanes], shuffled[lanes];
  for (std::size_t i = 0; i < lanes; ++i) row[i] = hn::LoadU(d, source + static_cast<std::int64_t>(i) * from);
  for (std::size_t round = 1; round < lanes; round *= 2) {
    for (std::size_t i = 0; i < lanes / 2; ++i) {
      shuffled[2 * i] = hn::InterleaveLower(d, row[i], row[i + lanes / 2]);
      shuffled[2 * i + 1] = hn::InterleaveUpper(d, row[i], row[i + lanes / 2]);
    }
    for (std::size_t i = 0; i < lanes; ++i) row[i] = shuffled[i];
  }
  for (std::size_t i = 0; i < lanes; ++i) hn::Store(row[i], d, target + static_cast<std::int64_t>(i) * to);
}

template <class U>
void Turn(const U* source, std::int64_t from, U* target, std::int64_t to, std::int64_t tiles) {
  constexpr std::int64_t lanes = 16 / sizeof(U), line = line_of<U>;
  const hn::CappedTag<U, static_cast<std::size_t>(lanes)> d;
  alignas(64) U turned[line * line];
  for (std::int64_t tile = 0; tile < tiles; ++tile, source += line, target += line * to) {
    for (std::int64_t i = 0; i < line; i += lanes) {
      for (std::int64_t j = 0; j < line; j += lanes) {
        TurnSquare(source + i * from + j, from, turned + j * line + i, line);
      }
    }
    for (std::int64_t j = 0; j < line; ++j) {
      for (std::int64_t i = 0; i < line; i += lanes) {
        hn::Stream(hn::Load(d, turned + j * line + i), d, target + j * to + i);
      }
    }
  }
  hwy::FlushStream();
}

#endif

template <class From>
ConvertKernels<From> conversions() {
  return {Convert<From, float>, Convert<From, double>, Convert<From, std::int64_t>,
          Convert<From, std::int32_t>, Convert<From, std::uint8_t>};
}

SelectKernel<std::uint8_t> Select8() { return Select<std::uint8_t>; }
SelectKernel<std::uint16_t> Select16() { return Select<std::uint16_t>; }
SelectKernel<std::uint32_t> Select32() { return Select<std::uint32_t>; }
SelectKernel<std::uint64_t> Select64() { return Select<std::uint64_t>; }
TurnKernel<std::uint8_t> Turn8() { return Turn<std::uint8_t>; }
TurnKernel<std::uint16_t> Turn16() { return Turn<std::uint16_t>; }
TurnKernel<std::uint32_t> Turn32() { return Turn<std::uint32_t>; }
TurnKernel<std::uint64_t> Turn64() { return Turn<std::uint64_t>; }
ConvertKernels<float> ConvertF32() { return conversions<float>(); }
ConvertKernels<double> ConvertF64() { return conversions<double>(); }
ConvertKernels<std::int64_t> ConvertI64() { return conversions<std::int64_t>(); }
ConvertKernels<std::int32_t> ConvertI32() { return conversions<std::int32_t>(); }
ConvertKernels<std::uint8_t> ConvertU8() { return conversions<std::uint8_t>(); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(Select8);
HWY_EXPORT(Select16);
HWY_EXPORT(Select32);
HWY_EXPORT(Select64);
HWY_EXPORT(Turn8);
HWY_EXPORT(Turn16);
HWY_EXPORT(Turn32);
HWY_EXPORT(Turn64);
HWY_EXPORT(ConvertF32);
HWY_EXPORT(ConvertF64);
HWY_EXPORT(ConvertI64);
HWY_EXPORT(ConvertI32);
HWY_EXPORT(ConvertU8);
HWY_EXPORT(Spread8);
HWY_EXPORT(Spread16);
HWY_EXPORT(Spread32);
HWY_EXPORT(Spread64);
HWY_EXPORT(AllBelow);
HWY_EXPORT(Philox);

template <>
SelectKernel<std::uint8_t> select_kernel() {
  return HWY_DYNAMIC_DISPATCH(Select8)();
}
template <>
SelectKernel<std::uint16_t> select_kernel() {
  return HWY_DYNAMIC_DISPATCH(Select16)();
}
template <>
SelectKernel<std::uint32_t> select_kernel() {
  return HWY_DYNAMIC_DISPATCH(Select32)();
}
template <>
SelectKernel<std::uint64_t> select_kernel() {
  return HWY_DYNAMIC_DISPATCH(Select64)();
}
template <>
TurnKernel<std::uint8_t> turn_kernel() {
  return HWY_DYNAMIC_DISPATCH(Turn8)();
}
template <>
TurnKernel<std::uint16_t> turn_kernel() {
  return HWY_DYNAMIC_DISPATCH(Turn16)();
}
template <>
TurnKernel<std::uint32_t> turn_kernel() {
  return HWY_DYNAMIC_DISPATCH(Turn32)();
}
template <>
TurnKernel<std::uint64_t> turn_kernel() {
  return HWY_DYNAMIC_DISPATCH(Turn64)();
}
template <>
ConvertKernels<float> convert_kernels() {
  return HWY_DYNAMIC_DISPATCH(ConvertF32)();
}
template <>
ConvertKernels<double> convert_kernels() {
  return HWY_DYNAMIC_DISPATCH(ConvertF64)();
}
template <>
ConvertKernels<std::int64_t> convert_kernels() {
  return HWY_DYNAMIC_DISPATCH(ConvertI64)();
}
template <>
ConvertKernels<std::int32_t> convert_kernels() {
  return HWY_DYNAMIC_DISPATCH(ConvertI32)();
}
template <>
ConvertKernels<std::uint8_t> convert_kernels() {
  return HWY_DYNAMIC_DISPATCH(ConvertU8)();
}
template <>
void spread_bits(std::uint8_t value, std::uint8_t* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(Spread8)(value, out, n);
}
template <>
void spread_bits(std::uint16_t value, std::uint16_t* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(Spread16)(value, out, n);
}
template <>
void spread_bits(std::uint32_t value, std::uint32_t* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(Spread32)(value, out, n);
}
template <>
void spread_bits(std::uint64_t value, std::uint64_t* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(Spread64)(value, out, n);
}
bool all_below(const std::int64_t* at, std::size_t n, std::int64_t extent) {
  return HWY_DYNAMIC_DISPATCH(AllBelow)(at, n, extent);
}
void philox(std::uint64_t first, std::uint64_t seed, PhiloxWords& out) {
  HWY_DYNAMIC_DISPATCH(Philox)(first, seed, out);
}

}  // namespace strata::flex
#endif
