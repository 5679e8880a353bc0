/// Loops that compute little: choosing, converting, turning, counter-based random words, compiled for several
/// instruction sets.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace strata::flex {

/// out[i] = mask[i] ? a[i] : b[i]; U: unsigned integers of 1, 2, 4 and 8 bytes.
template <class U>
using SelectKernel = void (*)(const std::uint8_t* mask, const U* a, const U* b, U* out, std::size_t n);
template <class U>
SelectKernel<U> select_kernel();

/// The conversions of Cast from one compute type to each.
template <class From>
struct ConvertKernels {
  void (*to_f32)(const From* x, float* out, std::size_t n);
  void (*to_f64)(const From* x, double* out, std::size_t n);
  void (*to_i64)(const From* x, std::int64_t* out, std::size_t n);
  void (*to_i32)(const From* x, std::int32_t* out, std::size_t n);
  void (*to_u8)(const From* x, std::uint8_t* out, std::size_t n);

  void operator()(const From* x, float* out, std::size_t n) const { to_f32(x, out, n); }
  void operator()(const From* x, double* out, std::size_t n) const { to_f64(x, out, n); }
  void operator()(const From* x, std::int64_t* out, std::size_t n) const { to_i64(x, out, n); }
  void operator()(const From* x, std::int32_t* out, std::size_t n) const { to_i32(x, out, n); }
  void operator()(const From* x, std::uint8_t* out, std::size_t n) const { to_u8(x, out, n); }
};
/// From: float, double, std::int64_t, std::int32_t, std::uint8_t.
template <class From>
ConvertKernels<From> convert_kernels();

/// Elements in one cache line.
template <class U>
inline constexpr std::int64_t line_of = 64 / static_cast<std::int64_t>(sizeof(U));

/// Writes the transpose of line_of<U> rows of `tiles` whole lines each, past the caches. Rows are `from`
/// elements apart in the source and `to` in the target, whose rows begin on cache lines. U as above.
template <class U>
using TurnKernel = void (*)(const U* source, std::int64_t from, U* target, std::int64_t to,
                            std::int64_t tiles);
template <class U>
TurnKernel<U> turn_kernel();

/// out[i] = bytes of `value`; U as above.
template <class U>
void spread_bits(U value, U* out, std::size_t n);
/// out[i] = value, for elements of 1, 2, 4 and 8 bytes.
template <class T>
void spread(const T& value, T* out, std::size_t n) {
  using U = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  spread_bits(std::bit_cast<U>(value), reinterpret_cast<U*>(out), n);
}

/// Whether all of 0 <= at[i] < extent.
bool all_below(const std::int64_t* at, std::size_t n, std::int64_t extent);

/// Words of Philox4x32-10 (see op::Random) for the counters first ... first + n - 1; words[k][i] is word k of
/// counter i.
inline constexpr std::size_t philox_block = 256;
struct PhiloxWords {
  alignas(64) std::uint32_t word[4][philox_block];
};
void philox(std::uint64_t first, std::uint64_t seed, PhiloxWords& out);

}  // namespace strata::flex
