#include "flex/reduce_kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/reduce_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using op::ReduceKind;

template <class T, ReduceKind kind>
constexpr T identity() {
  if constexpr (kind == ReduceKind::sum) return 0;
  if constexpr (kind == ReduceKind::prod) return 1;
  using Limits = std::numeric_limits<T>;
  if constexpr (kind == ReduceKind::max)
    return std::is_floating_point_v<T> ? -Limits::infinity() : Limits::lowest();
  if constexpr (kind == ReduceKind::min)
    return std::is_floating_point_v<T> ? Limits::infinity() : Limits::max();
}

template <ReduceKind kind, class T>
HWY_INLINE T combine(T a, T x) {
  if constexpr (kind == ReduceKind::max) {
    return x > a || x != x ? x : a;
  } else if constexpr (kind == ReduceKind::min) {
    return x < a || x != x ? x : a;
  } else if constexpr (std::is_floating_point_v<T>) {
    return kind == ReduceKind::sum ? a + x : a * x;
  } else {  // unsigned, so that it wraps
    const auto u = static_cast<std::make_unsigned_t<T>>(a), v = static_cast<std::make_unsigned_t<T>>(x);
    return static_cast<T>(kind == ReduceKind::sum ? u + v : u * v);
  }
}

template <ReduceKind kind, class V>
HWY_INLINE V combine_vectors(V a, V x) {
  if constexpr (kind == ReduceKind::sum) return hn::Add(a, x);
  if constexpr (kind == ReduceKind::prod) return hn::Mul(a, x);
  if constexpr (kind == ReduceKind::max) return hn::IfThenElse(hn::Or(hn::Gt(x, a), hn::IsNaN(x)), x, a);
  if constexpr (kind == ReduceKind::min) return hn::IfThenElse(hn::Or(hn::Lt(x, a), hn::IsNaN(x)), x, a);
}

/// The lanes of a vector as one.
template <ReduceKind kind, class D, class V>
HWY_INLINE hn::TFromD<D> combine_lanes(D d, V v) {
  using T = hn::TFromD<D>;
  if constexpr (kind == ReduceKind::max || kind == ReduceKind::min) {
    if (!hn::AllFalse(d, hn::IsNaN(v))) return std::numeric_limits<T>::quiet_NaN();
    return hn::GetLane(kind == ReduceKind::max ? hn::MaxOfLanes(d, v) : hn::MinOfLanes(d, v));
  } else {
    HWY_ALIGN T parts[hn::MaxLanes(d)];
    hn::Store(v, d, parts);
    for (std::size_t width = hn::Lanes(d) / 2; width > 0; width /= 2) {
      for (std::size_t j = 0; j < width; ++j) parts[j] = combine<kind>(parts[j], parts[j + width]);
    }
    return parts[0];
  }
}

template <class T, ReduceKind kind>
T Chunk(const T* HWY_RESTRICT x, std::size_t n) {
  T total = identity<T, kind>();
  std::size_t i = 0;
  if constexpr (std::is_floating_point_v<T>) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    if (n >= lanes) {
      auto a = hn::Set(d, total), b = a, c = a, e = a;  // four chains hide the latency of an addition
      for (; i + 4 * lanes <= n; i += 4 * lanes) {
        a = combine_vectors<kind>(a, hn::LoadU(d, x + i));
        b = combine_vectors<kind>(b, hn::LoadU(d, x + i + lanes));
        c = combine_vectors<kind>(c, hn::LoadU(d, x + i + 2 * lanes));
        e = combine_vectors<kind>(e, hn::LoadU(d, x + i + 3 * lanes));
      }
      for (; i + lanes <= n; i += lanes) a = combine_vectors<kind>(a, hn::LoadU(d, x + i));
      total = combine_lanes<kind>(
          d, combine_vectors<kind>(combine_vectors<kind>(a, b), combine_vectors<kind>(c, e)));
    }
  }
  for (; i < n; ++i) total = combine<kind>(total, x[i]);
  return total;
}

/// Chunks of a bounded number of additions per lane, so that narrow vectors lose no more digits than wide
/// ones.
template <class T, ReduceKind kind>
T Row(const T* x, std::size_t n) {
  const std::size_t chunk = 64 * hn::Lanes(hn::ScalableTag<T>());
  T total = identity<T, kind>();
  for (std::size_t i = 0; i < n; i += chunk)
    total = combine<kind>(total, Chunk<T, kind>(x + i, std::min(chunk, n - i)));
  return total;
}

/// Eight rows pass through the registers before the accumulator is stored.
template <class T, ReduceKind kind>
void Columns(const T* x, std::ptrdiff_t stride, std::size_t rows, T* HWY_RESTRICT accumulator,
             std::size_t n) {
  std::size_t row = 0;
  for (; row + 8 <= rows; row += 8) {
    const T* HWY_RESTRICT first = x + static_cast<std::ptrdiff_t>(row) * stride;
    for (std::size_t i = 0; i < n; ++i) {
      T part = first[i];
      for (int k = 1; k < 8; ++k) part = combine<kind>(part, (first + k * stride)[i]);
      accumulator[i] = combine<kind>(accumulator[i], part);
    }
  }
  for (; row < rows; ++row) {
    const T* HWY_RESTRICT one = x + static_cast<std::ptrdiff_t>(row) * stride;
    for (std::size_t i = 0; i < n; ++i) accumulator[i] = combine<kind>(accumulator[i], one[i]);
  }
}

template <class T>
ReduceKernels<T> pick(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      return {Row<T, ReduceKind::sum>, Columns<T, ReduceKind::sum>};
    case ReduceKind::prod:
      return {Row<T, ReduceKind::prod>, Columns<T, ReduceKind::prod>};
    case ReduceKind::max:
      return {Row<T, ReduceKind::max>, Columns<T, ReduceKind::max>};
    case ReduceKind::min:
      break;
  }
  return {Row<T, ReduceKind::min>, Columns<T, ReduceKind::min>};
}

ReduceKernels<float> ReduceF32(ReduceKind kind) { return pick<float>(kind); }
ReduceKernels<double> ReduceF64(ReduceKind kind) { return pick<double>(kind); }
ReduceKernels<std::int64_t> ReduceI64(ReduceKind kind) { return pick<std::int64_t>(kind); }
ReduceKernels<std::int32_t> ReduceI32(ReduceKind kind) { return pick<std::int32_t>(kind); }
ReduceKernels<std::uint8_t> ReduceU8(ReduceKind kind) { return pick<std::uint8_t>(kind); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(ReduceF32);
HWY_EXPORT(ReduceF64);
HWY_EXPORT(ReduceI64);
HWY_EXPORT(ReduceI32);
HWY_EXPORT(ReduceU8);

template <>
ReduceKernels<float> reduce_kernels(op::ReduceKind kind) {
  return HWY_DYNAMIC_DISPATCH(ReduceF32)(kind);
}
template <>
ReduceKernels<double> reduce_kernels(op::ReduceKind kind) {
  return HWY_DYNAMIC_DISPATCH(ReduceF64)(kind);
}
template <>
ReduceKernels<std::int64_t> reduce_kernels(op::ReduceKind kind) {
  return HWY_DYNAMIC_DISPATCH(ReduceI64)(kind);
}
template <>
ReduceKernels<std::int32_t> reduce_kernels(op::ReduceKind kind) {
  return HWY_DYNAMIC_DISPATCH(ReduceI32)(kind);
}
template <>
ReduceKernels<std::uint8_t> reduce_kernels(op::ReduceKind kind) {
  return HWY_DYNAMIC_DISPATCH(ReduceU8)(kind);
}

}  // namespace strata::flex
#endif
