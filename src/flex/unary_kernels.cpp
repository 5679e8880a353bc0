#include <cmath>
#include <limits>

#include "flex/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/unary_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "flex/map_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using op::UnaryKind;

template <class T>
void Neg(const T* x, T* out, std::size_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    map(x, out, n, [](auto, auto v) HWY_ATTR { return hn::Neg(v); });
  } else {
    using U = std::make_unsigned_t<T>;
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(U{0} - static_cast<U>(x[i]));
  }
}
template <class T>
void Abs(const T* x, T* out, std::size_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    map(x, out, n, [](auto, auto v) HWY_ATTR { return hn::Abs(v); });
  } else {
    using U = std::make_unsigned_t<T>;
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = std::is_signed_v<T> && x[i] < 0 ? static_cast<T>(U{0} - static_cast<U>(x[i])) : x[i];
    }
  }
}
template <class T>
void Sign(const T* x, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const T v = x[i];
    T sign = static_cast<T>(v > T{0}) - static_cast<T>(v < T{0});
    if constexpr (std::is_floating_point_v<T>) sign = v == v ? sign : v;
    out[i] = sign;
  }
}
// The scalar target drops the sign of a zero result.
template <class T>
void Floor(const T* x, T* out, std::size_t n) {
  map(x, out, n, [](auto, auto v) HWY_ATTR { return hn::CopySign(hn::Floor(v), v); });
}
template <class T>
void Ceil(const T* x, T* out, std::size_t n) {
  map(x, out, n, [](auto, auto v) HWY_ATTR { return hn::CopySign(hn::Ceil(v), v); });
}
template <class T>
void Round(const T* x, T* out, std::size_t n) {
  map(x, out, n, [](auto, auto v) HWY_ATTR { return hn::CopySign(hn::Round(v), v); });
}
template <class T>
void Trunc(const T* x, T* out, std::size_t n) {
  map(x, out, n, [](auto, auto v) HWY_ATTR { return hn::CopySign(hn::Trunc(v), v); });
}
template <class T>
void Recip(const T* x, T* out, std::size_t n) {
  map(x, out, n, [](auto d, auto v) HWY_ATTR { return hn::Div(hn::Set(d, T{1}), v); });
}
template <class T>
void Sqrt(const T* x, T* out, std::size_t n) {
  map(x, out, n, [](auto, auto v) HWY_ATTR { return hn::Sqrt(v); });
}
template <class T>
void Rsqrt(const T* x, T* out, std::size_t n) {
  map(x, out, n, [](auto d, auto v) HWY_ATTR { return hn::Div(hn::Set(d, T{1}), hn::Sqrt(v)); });
}

template <class T>
void Exp(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, -exp_limit<T>, exp_limit<T>, [](auto d, auto v) HWY_ATTR { return hn::Exp(d, v); },
      [](T v) { return std::exp(v); });
}
template <class T>
void Expm1(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, -exp_limit<T>, exp_limit<T>,
      [](auto d, auto v) HWY_ATTR {  // near 0 the polynomial loses -0 and subnormals
        return hn::IfThenElse(hn::Lt(hn::Abs(v), hn::Set(d, std::numeric_limits<T>::epsilon() / 2)), v,
                              hn::Expm1(d, v));
      },
      [](T v) { return std::expm1(v); });
}
template <class T>
void Log(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
      [](auto d, auto v) HWY_ATTR { return hn::Log(d, v); }, [](T v) { return std::log(v); });
}
template <class T>
void Log1p(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, T{0}, std::numeric_limits<T>::max() / 2,
      [](auto d, auto v) HWY_ATTR { return hn::Log1p(d, v); }, [](T v) { return std::log1p(v); });
}
template <class T>
void Sin(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, T{-39000}, T{39000},
      [](auto d, auto v) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(hn::Abs(v), hn::Set(d, std::numeric_limits<T>::epsilon() / 2)), v,
                              hn::Sin(d, v));
      },
      [](T v) { return std::sin(v); });
}
template <class T>
void Cos(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, T{-39000}, T{39000}, [](auto d, auto v) HWY_ATTR { return hn::Cos(d, v); },
      [](T v) { return std::cos(v); });
}
template <class T>
void Tanh(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, T{-40}, T{40},
      [](auto d, auto v) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(hn::Abs(v), hn::Set(d, std::numeric_limits<T>::epsilon() / 2)), v,
                              hn::Tanh(d, v));
      },
      [](T v) { return std::tanh(v); });
}
template <class T>
void Sigmoid(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, -exp_limit<T>, exp_limit<T>,
      [](auto d, auto v) HWY_ATTR {  // exp of a non-positive number cannot overflow
        const auto one = hn::Set(d, T{1});
        const auto e = hn::Exp(d, hn::Neg(hn::Abs(v)));
        return hn::Div(hn::IfThenElse(hn::Ge(v, hn::Zero(d)), one, e), hn::Add(one, e));
      },
      [](T v) { return v < 0 ? std::exp(v) / (1 + std::exp(v)) : 1 / (1 + std::exp(-v)); });
}
template <class T>
void BitNot(const T* x, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(~x[i]);
}

template <class T>
UnaryKernel<T> pick(UnaryKind kind) {
  if (kind == UnaryKind::neg) return Neg<T>;
  if (kind == UnaryKind::abs) return Abs<T>;
  if (kind == UnaryKind::sign) return Sign<T>;
  if constexpr (std::is_floating_point_v<T>) {
    switch (kind) {
      case UnaryKind::floor:
        return Floor<T>;
      case UnaryKind::ceil:
        return Ceil<T>;
      case UnaryKind::round:
        return Round<T>;
      case UnaryKind::trunc:
        return Trunc<T>;
      case UnaryKind::recip:
        return Recip<T>;
      case UnaryKind::sqrt:
        return Sqrt<T>;
      case UnaryKind::rsqrt:
        return Rsqrt<T>;
      case UnaryKind::exp:
        return Exp<T>;
      case UnaryKind::expm1:
        return Expm1<T>;
      case UnaryKind::log:
        return Log<T>;
      case UnaryKind::log1p:
        return Log1p<T>;
      case UnaryKind::sin:
        return Sin<T>;
      case UnaryKind::cos:
        return Cos<T>;
      case UnaryKind::tanh:
        return Tanh<T>;
      case UnaryKind::sigmoid:
        return Sigmoid<T>;
      default:
        return nullptr;
    }
  } else {
    return kind == UnaryKind::bit_not ? BitNot<T> : nullptr;
  }
}

UnaryKernel<float> UnaryF32(UnaryKind kind) { return pick<float>(kind); }
UnaryKernel<double> UnaryF64(UnaryKind kind) { return pick<double>(kind); }
UnaryKernel<std::int64_t> UnaryI64(UnaryKind kind) { return pick<std::int64_t>(kind); }
UnaryKernel<std::int32_t> UnaryI32(UnaryKind kind) { return pick<std::int32_t>(kind); }
UnaryKernel<std::uint8_t> UnaryU8(UnaryKind kind) { return pick<std::uint8_t>(kind); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(UnaryF32);
HWY_EXPORT(UnaryF64);
HWY_EXPORT(UnaryI64);
HWY_EXPORT(UnaryI32);
HWY_EXPORT(UnaryU8);

template <>
UnaryKernel<float> unary_kernel<float>(op::UnaryKind kind) {
  return is_special(kind) ? special_kernel<float>(kind) : HWY_DYNAMIC_DISPATCH(UnaryF32)(kind);
}
template <>
UnaryKernel<double> unary_kernel<double>(op::UnaryKind kind) {
  return is_special(kind) ? special_kernel<double>(kind) : HWY_DYNAMIC_DISPATCH(UnaryF64)(kind);
}
template <>
UnaryKernel<std::int64_t> unary_kernel<std::int64_t>(op::UnaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(UnaryI64)(kind);
}
template <>
UnaryKernel<std::int32_t> unary_kernel<std::int32_t>(op::UnaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(UnaryI32)(kind);
}
template <>
UnaryKernel<std::uint8_t> unary_kernel<std::uint8_t>(op::UnaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(UnaryU8)(kind);
}

}  // namespace strata::flex
#endif
