#include <bit>
#include <cmath>
#include <limits>

#include "flex/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/binary_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using op::BinaryKind;
using op::CompareKind;

template <class T, class F>
HWY_INLINE void loop(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* HWY_RESTRICT out, std::size_t n,
                     F f) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

/// `vector` on whole vectors, `scalar` on the rest: for operations where both round alike.
template <class T, class Vector, class Scalar>
HWY_INLINE void zip(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* HWY_RESTRICT out, std::size_t n,
                    Vector vector, Scalar scalar) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(vector(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  for (; i < n; ++i) out[i] = scalar(a[i], b[i]);
}

template <class T, class F>
HWY_INLINE void zip_scalar(const T* HWY_RESTRICT a, T b, T* HWY_RESTRICT out, std::size_t n, F f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), hn::Set(d, b)), d, out + i);
  for (; i < n; ++i) hn::StoreU(f(hn::LoadU(one, a + i), hn::Set(one, b)), one, out + i);
}

// Integers compute in unsigned so that they wrap; narrow ones are promoted by the language and cut again.
template <class T, bool floating = std::is_floating_point_v<T>>
struct WrapType {
  using type = T;
};
template <class T>
struct WrapType<T, false> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using Wrap = typename WrapType<T>::type;

template <class T>
void Add(const T* a, const T* b, T* out, std::size_t n) {
  zip(
      a, b, out, n, [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); },
      [](T x, T y) { return static_cast<T>(static_cast<Wrap<T>>(x) + static_cast<Wrap<T>>(y)); });
}
template <class T>
void Sub(const T* a, const T* b, T* out, std::size_t n) {
  zip(
      a, b, out, n, [](auto x, auto y) HWY_ATTR { return hn::Sub(x, y); },
      [](T x, T y) { return static_cast<T>(static_cast<Wrap<T>>(x) - static_cast<Wrap<T>>(y)); });
}
template <class T>
void Mul(const T* a, const T* b, T* out, std::size_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    zip(
        a, b, out, n, [](auto x, auto y) HWY_ATTR { return hn::Mul(x, y); }, [](T x, T y) { return x * y; });
  } else {
    loop(a, b, out, n, [](T x, T y) { return static_cast<T>(Wrap<T>(x) * Wrap<T>(y)); });
  }
}
template <class T>
void Div(const T* a, const T* b, T* out, std::size_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    zip(
        a, b, out, n, [](auto x, auto y) HWY_ATTR { return hn::Div(x, y); }, [](T x, T y) { return x / y; });
  } else {
    loop(a, b, out, n, [](T x, T y) -> T {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return static_cast<T>(Wrap<T>{0} - static_cast<Wrap<T>>(x));  // the smallest value wraps
        const T q = x / y;
        return q - (x % y != 0 && (x < 0) != (y < 0));
      } else {
        return x / y;
      }
    });
  }
}
template <class T>
void Rem(const T* a, const T* b, T* out, std::size_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    loop(a, b, out, n, [](T x, T y) {
      const T r = std::fmod(x, y);
      return r != 0 && (r < 0) != (y < 0) ? r + y : r;
    });
  } else {
    loop(a, b, out, n, [](T x, T y) -> T {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return 0;
        const T r = x % y;
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;
      } else {
        return x % y;
      }
    });
  }
}
/// The truncated remainder.
template <class T>
void Fmod(const T* a, const T* b, T* out, std::size_t n) {
  loop(a, b, out, n, [](T x, T y) -> T {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(x, y);
    } else {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return 0;  // the machine traps on the smallest value
      }
      return static_cast<T>(x % y);
    }
  });
}
template <class T>
T power(T base, T exponent) {
  if (std::is_signed_v<T> && exponent < 0) {
    if (base == 1) return 1;
    if (base == static_cast<T>(-1)) return exponent % 2 ? base : T{1};
    return 0;
  }
  Wrap<T> result = 1, square = static_cast<Wrap<T>>(base);
  for (auto e = static_cast<Wrap<T>>(exponent); e != 0; e = static_cast<Wrap<T>>(e >> 1)) {
    if (e & 1) result = static_cast<Wrap<T>>(result * square);
    square = static_cast<Wrap<T>>(square * square);
  }
  return static_cast<T>(result);
}
/// x^y by exp(y log |x|) in double: the product loses log2(104) of its 53 bits at most, far from the 24 of
/// the result. Zeros, infinities and NaN are left to the library.
HWY_INLINE bool pow_of_vector(const float* x, const float* y, float* out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto base = hn::PromoteTo(d, hn::LoadU(narrow, x)), exponent = hn::PromoteTo(d, hn::LoadU(narrow, y));
  const auto size = hn::Abs(base), infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto usual = hn::And(hn::And(hn::Gt(size, hn::Zero(d)), hn::Lt(size, infinity)),
                             hn::Lt(hn::Abs(exponent), infinity));
  if (!hn::AllTrue(d, usual)) return false;
  constexpr double beyond = 160;  // e^160 and e^-160 are out of f32's range
  const auto power = hn::Mul(exponent, hn::Log(d, size));
  auto result = hn::Exp(d, hn::Min(hn::Max(power, hn::Set(d, -beyond)), hn::Set(d, beyond)));
  const auto negative = hn::Lt(base, hn::Zero(d));
  if (!hn::AllFalse(d, negative)) {
    const auto half = hn::Mul(exponent, hn::Set(d, 0.5));
    const auto whole = hn::Eq(hn::Round(exponent), exponent), even = hn::Eq(hn::Round(half), half);
    const auto with_sign = hn::IfThenElse(hn::AndNot(even, negative), hn::Neg(result), result);
    const auto not_a_number = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
    result = hn::IfThenElse(hn::AndNot(whole, negative), not_a_number, with_sign);
  }
  hn::StoreU(hn::DemoteTo(narrow, result), narrow, out);
  return true;
}
template <class T>
void Pow(const T* a, const T* b, T* out, std::size_t n) {
  const auto each = [](T x, T y) -> T {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(x, y);
    } else {
      return power(x, y);
    }
  };
  std::size_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    const std::size_t lanes = hn::Lanes(hn::ScalableTag<double>());
    for (; i + lanes <= n; i += lanes) {
      if (!pow_of_vector(a + i, b + i, out + i)) loop(a + i, b + i, out + i, lanes, each);
    }
  }
  loop(a + i, b + i, out + i, n - i, each);
}
template <class T>
void Max(const T* a, const T* b, T* out, std::size_t n) {
  loop(a, b, out, n, [](T x, T y) { return x > y || x != x ? x : y; });
}
template <class T>
void Min(const T* a, const T* b, T* out, std::size_t n) {
  loop(a, b, out, n, [](T x, T y) { return x < y || x != x ? x : y; });
}
template <class T>
void Atan2(const T* a, const T* b, T* out, std::size_t n) {
  loop(a, b, out, n, [](T y, T x) { return std::atan2(y, x); });
}
template <class T>
void Hypot(const T* a, const T* b, T* out, std::size_t n) {
  loop(a, b, out, n, [](T x, T y) { return std::hypot(x, y); });
}
template <class T>
void BitAnd(const T* a, const T* b, T* out, std::size_t n) {
  loop(a, b, out, n, [](T x, T y) { return static_cast<T>(x & y); });
}
template <class T>
void BitOr(const T* a, const T* b, T* out, std::size_t n) {
  loop(a, b, out, n, [](T x, T y) { return static_cast<T>(x | y); });
}
template <class T>
void BitXor(const T* a, const T* b, T* out, std::size_t n) {
  loop(a, b, out, n, [](T x, T y) { return static_cast<T>(x ^ y); });
}
template <class T>
void ShiftLeft(const T* a, const T* b, T* out, std::size_t n) {
  constexpr auto bits = static_cast<Wrap<T>>(sizeof(T) * 8);
  loop(a, b, out, n, [](T x, T y) {
    const auto count = static_cast<Wrap<T>>(y);
    return count < bits ? static_cast<T>(static_cast<Wrap<T>>(x) << count) : T{0};
  });
}
template <class T>
void ShiftRight(const T* a, const T* b, T* out, std::size_t n) {
  constexpr auto bits = static_cast<Wrap<T>>(sizeof(T) * 8);
  loop(a, b, out, n, [](T x, T y) {
    const auto count = static_cast<Wrap<T>>(y);
    return static_cast<T>(count < bits ? x >> count : (x < 0 ? -1 : 0));
  });
}

template <class T>
BinaryKernel<T> pick(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add:
      return Add<T>;
    case BinaryKind::sub:
      return Sub<T>;
    case BinaryKind::mul:
      return Mul<T>;
    case BinaryKind::div:
      return Div<T>;
    case BinaryKind::rem:
      return Rem<T>;
    case BinaryKind::fmod:
      return Fmod<T>;
    case BinaryKind::pow:
      return Pow<T>;
    case BinaryKind::max:
      return Max<T>;
    case BinaryKind::min:
      return Min<T>;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (kind == BinaryKind::atan2) return Atan2<T>;
    if (kind == BinaryKind::hypot) return Hypot<T>;
  } else {
    switch (kind) {
      case BinaryKind::bit_and:
        return BitAnd<T>;
      case BinaryKind::bit_or:
        return BitOr<T>;
      case BinaryKind::bit_xor:
        return BitXor<T>;
      case BinaryKind::shift_left:
        return ShiftLeft<T>;
      case BinaryKind::shift_right:
        return ShiftRight<T>;
      default:
        break;
    }
  }
  return nullptr;
}

template <class T>
ScalarKernel<T> pick_scalar(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add:
      return [](const T* a, T b, T* out, std::size_t n) {
        zip_scalar(a, b, out, n, [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); });
      };
    case BinaryKind::sub:
      return [](const T* a, T b, T* out, std::size_t n) {
        zip_scalar(a, b, out, n, [](auto x, auto y) HWY_ATTR { return hn::Sub(x, y); });
      };
    case BinaryKind::mul:
      return [](const T* a, T b, T* out, std::size_t n) {
        zip_scalar(a, b, out, n, [](auto x, auto y) HWY_ATTR { return hn::Mul(x, y); });
      };
    case BinaryKind::div:
      return [](const T* a, T b, T* out, std::size_t n) {
        zip_scalar(a, b, out, n, [](auto x, auto y) HWY_ATTR { return hn::Div(x, y); });
      };
    default:
      return nullptr;
  }
}

template <class T, CompareKind kind>
void Compare(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::uint8_t* HWY_RESTRICT out,
             std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (kind == CompareKind::equal) out[i] = a[i] == b[i];
    if constexpr (kind == CompareKind::not_equal) out[i] = a[i] != b[i];
    if constexpr (kind == CompareKind::less) out[i] = a[i] < b[i];
    if constexpr (kind == CompareKind::less_equal) out[i] = a[i] <= b[i];
    if constexpr (kind == CompareKind::greater) out[i] = a[i] > b[i];
    if constexpr (kind == CompareKind::greater_equal) out[i] = a[i] >= b[i];
  }
}

template <class T>
CompareKernel<T> pick(CompareKind kind) {
  switch (kind) {
    case CompareKind::equal:
      return Compare<T, CompareKind::equal>;
    case CompareKind::not_equal:
      return Compare<T, CompareKind::not_equal>;
    case CompareKind::less:
      return Compare<T, CompareKind::less>;
    case CompareKind::less_equal:
      return Compare<T, CompareKind::less_equal>;
    case CompareKind::greater:
      return Compare<T, CompareKind::greater>;
    case CompareKind::greater_equal:
      return Compare<T, CompareKind::greater_equal>;
  }
  return nullptr;
}

BinaryKernel<float> BinaryF32(BinaryKind kind) { return pick<float>(kind); }
BinaryKernel<double> BinaryF64(BinaryKind kind) { return pick<double>(kind); }
BinaryKernel<std::int64_t> BinaryI64(BinaryKind kind) { return pick<std::int64_t>(kind); }
BinaryKernel<std::int32_t> BinaryI32(BinaryKind kind) { return pick<std::int32_t>(kind); }
BinaryKernel<std::uint8_t> BinaryU8(BinaryKind kind) { return pick<std::uint8_t>(kind); }
ScalarKernel<float> ScalarF32(BinaryKind kind) { return pick_scalar<float>(kind); }
ScalarKernel<double> ScalarF64(BinaryKind kind) { return pick_scalar<double>(kind); }
CompareKernel<float> CompareF32(CompareKind kind) { return pick<float>(kind); }
CompareKernel<double> CompareF64(CompareKind kind) { return pick<double>(kind); }
CompareKernel<std::int64_t> CompareI64(CompareKind kind) { return pick<std::int64_t>(kind); }
CompareKernel<std::int32_t> CompareI32(CompareKind kind) { return pick<std::int32_t>(kind); }
CompareKernel<std::uint8_t> CompareU8(CompareKind kind) { return pick<std::uint8_t>(kind); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(BinaryF32);
HWY_EXPORT(BinaryF64);
HWY_EXPORT(BinaryI64);
HWY_EXPORT(BinaryI32);
HWY_EXPORT(BinaryU8);
HWY_EXPORT(ScalarF32);
HWY_EXPORT(ScalarF64);
HWY_EXPORT(CompareF32);
HWY_EXPORT(CompareF64);
HWY_EXPORT(CompareI64);
HWY_EXPORT(CompareI32);
HWY_EXPORT(CompareU8);

template <>
BinaryKernel<float> binary_kernel<float>(op::BinaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(BinaryF32)(kind);
}
template <>
BinaryKernel<double> binary_kernel<double>(op::BinaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(BinaryF64)(kind);
}
template <>
BinaryKernel<std::int64_t> binary_kernel<std::int64_t>(op::BinaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(BinaryI64)(kind);
}
template <>
BinaryKernel<std::int32_t> binary_kernel<std::int32_t>(op::BinaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(BinaryI32)(kind);
}
template <>
BinaryKernel<std::uint8_t> binary_kernel<std::uint8_t>(op::BinaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(BinaryU8)(kind);
}
template <>
ScalarKernel<float> scalar_kernel<float>(op::BinaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(ScalarF32)(kind);
}
template <>
ScalarKernel<double> scalar_kernel<double>(op::BinaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(ScalarF64)(kind);
}
template <>
CompareKernel<float> compare_kernel<float>(op::CompareKind kind) {
  return HWY_DYNAMIC_DISPATCH(CompareF32)(kind);
}
template <>
CompareKernel<double> compare_kernel<double>(op::CompareKind kind) {
  return HWY_DYNAMIC_DISPATCH(CompareF64)(kind);
}
template <>
CompareKernel<std::int64_t> compare_kernel<std::int64_t>(op::CompareKind kind) {
  return HWY_DYNAMIC_DISPATCH(CompareI64)(kind);
}
template <>
CompareKernel<std::int32_t> compare_kernel<std::int32_t>(op::CompareKind kind) {
  return HWY_DYNAMIC_DISPATCH(CompareI32)(kind);
}
template <>
CompareKernel<std::uint8_t> compare_kernel<std::uint8_t>(op::CompareKind kind) {
  return HWY_DYNAMIC_DISPATCH(CompareU8)(kind);
}

}  // namespace strata::flex
#endif
