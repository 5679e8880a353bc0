/// Unary kinds erf ... digamma, by Highway's functions (contrib/math) where it has them, else by the C
/// library, whose answers also stand outside the range of a vectorised formula. Largest errors measured
/// against long double on every instruction set, in ULP:
///
///     function               f32    f64
///     erf                    2.5    2.5
///     exp2                   1.1    1.2
///     log2, log10            1.9    1.9
///     tan                    3.2    3.2    |x| <= 10^5
///     asin, acos, atan       2.6    2.3
///     sinh, cosh             3.1    3.2
///     asinh, acosh, atanh    3.3    3.5
///     gelu                   4.2    4.9
///     silu, softplus         2.7    2.8
///     erfinv                 5.0    3.0
///     lgamma                 2.5    4      below a size of 1, in ULP of 1
///     digamma                0.51   16     below a size of 1, in ULP of 1
#include <cmath>
#include <limits>
#include <numbers>

#include "base/special.hpp"
#include "flex/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/special_kernels.cpp"
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
inline constexpr T largest = std::numeric_limits<T>::max();
template <class T>
inline constexpr T tiny = std::numeric_limits<T>::epsilon() / 2;  // below it f(x) = x for the odd functions

/// c0 + c1 x + c2 x^2 ...
template <class D, class V, class Coefficients>
HWY_INLINE V polynomial(D d, V x, const Coefficients& c) {
  using T = hn::TFromD<D>;
  V p = hn::Set(d, static_cast<T>(c.back()));
  for (std::size_t i = c.size() - 1; i-- > 0;) p = hn::MulAdd(p, x, hn::Set(d, static_cast<T>(c[i])));
  return p;
}

/// 2^n p for whole n in the range of normal exponents.
template <class D, class V>
HWY_INLINE V scale(D d, V p, V n) {
  using T = hn::TFromD<D>;
  constexpr int fraction = sizeof(T) == 4 ? 23 : 52, bias = sizeof(T) == 4 ? 127 : 1023;
  const hn::RebindToSigned<D> di;
  const auto exponent = hn::Add(hn::ConvertTo(di, n), hn::Set(di, bias));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<fraction>(exponent)));
}

template <class T>
void Exp2(const T* x, T* out, std::size_t n) {
  const T limit = sizeof(T) == 4 ? T{126} : T{1022};
  map_inside(
      x, out, n, -limit, limit,
      [](auto d, auto v) HWY_ATTR {
        const auto whole = hn::Round(v);
        const auto rest = hn::Mul(hn::Sub(v, whole), hn::Set(d, std::numbers::ln2_v<T>));
        return scale(d, hn::Exp(d, rest), whole);
      },
      [](T v) { return std::exp2(v); });
}

/// k and log(m) of x = 2^k m with m in [sqrt(1/2), sqrt(2)): whole powers of two stay exact.
template <class D, class V>
HWY_INLINE void split_log(D d, V x, V& k, V& log_m) {
  using T = hn::TFromD<D>;
  constexpr int fraction = sizeof(T) == 4 ? 23 : 52;
  const hn::RebindToSigned<D> di;
  using I = hn::TFromD<decltype(di)>;
  constexpr auto root_half =
      static_cast<I>(sizeof(T) == 4 ? std::int64_t{0x3f3504f3} : std::int64_t{0x3fe6a09e667f3bcd});
  const auto bits = hn::BitCast(di, x);
  const auto exponent = hn::ShiftRight<fraction>(hn::Sub(bits, hn::Set(di, root_half)));
  k = hn::ConvertTo(d, exponent);
  log_m = hn::Log(d, hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<fraction>(exponent))));
}
template <class T>
void Log2(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, std::numeric_limits<T>::min(), largest<T>,
      [](auto d, auto v) HWY_ATTR {
        decltype(v) k, log_m;
        split_log(d, v, k, log_m);
        return hn::MulAdd(log_m, hn::Set(d, std::numbers::log2e_v<T>), k);
      },
      [](T v) { return std::log2(v); });
}
template <class T>
void Log10(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, std::numeric_limits<T>::min(), largest<T>,
      [](auto d, auto v) HWY_ATTR {
        decltype(v) k, log_m;
        split_log(d, v, k, log_m);
        // log10(2) in two parts, the first short enough for an exact product with k
        const auto high = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 0x1.344p-2 : 0x1.34413509f78p-2));
        const auto low =
            hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 0x1.3509f79fef312p-18 : 0x1.fef311f12b358p-46));
        return hn::MulAdd(k, high, hn::MulAdd(k, low, hn::Mul(log_m, hn::Set(d, std::numbers::log10e_v<T>))));
      },
      [](T v) { return std::log10(v); });
}

template <class T>
void Tan(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, T{-39000}, T{39000},
      [](auto d, auto v) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(hn::Abs(v), hn::Set(d, tiny<T>)), v,
                              hn::Div(hn::Sin(d, v), hn::Cos(d, v)));
      },
      [](T v) { return std::tan(v); });
}
template <class T>
void Asin(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, T{-1}, T{1}, [](auto d, auto v) HWY_ATTR { return hn::Asin(d, v); },
      [](T v) { return std::asin(v); });
}
template <class T>
void Acos(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, T{-1}, T{1}, [](auto d, auto v) HWY_ATTR { return hn::Acos(d, v); },
      [](T v) { return std::acos(v); });
}
template <class T>
void Atan(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, -largest<T>, largest<T>, [](auto d, auto v) HWY_ATTR { return hn::Atan(d, v); },
      [](T v) { return std::atan(v); });
}

template <class T>
void Sinh(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, -exp_limit<T>, exp_limit<T>,
      [](auto d, auto v) HWY_ATTR {
        const auto size = hn::Abs(v);
        const auto e = hn::Expm1(d, size);
        const auto sum = hn::Add(e, hn::Div(e, hn::Add(e, hn::Set(d, T{1}))));
        return hn::IfThenElse(hn::Lt(size, hn::Set(d, tiny<T>)), v,
                              hn::CopySign(hn::Mul(sum, hn::Set(d, T{0.5})), v));
      },
      [](T v) { return std::sinh(v); });
}
template <class T>
void Cosh(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, -exp_limit<T>, exp_limit<T>,
      [](auto d, auto v) HWY_ATTR {
        const auto half = hn::Set(d, T{0.5});
        const auto e = hn::Exp(d, hn::Abs(v));
        return hn::MulAdd(e, half, hn::Div(half, e));
      },
      [](T v) { return std::cosh(v); });
}
/// log1p(|x| + x^2 / (1 + sqrt(1 + x^2))).
template <class T>
void Asinh(const T* x, T* out, std::size_t n) {
  const T limit = std::sqrt(largest<T>) / 2;
  map_inside(
      x, out, n, -limit, limit,
      [](auto d, auto v) HWY_ATTR {
        const auto one = hn::Set(d, T{1});
        const auto a = hn::Abs(v), square = hn::Mul(v, v);
        const auto rest = hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(one, square))));
        return hn::CopySign(hn::Log1p(d, hn::Add(a, rest)), v);
      },
      [](T v) { return std::asinh(v); });
}
/// log1p(t + sqrt(t (t + 2))), t = x - 1.
template <class T>
void Acosh(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, T{1}, std::sqrt(largest<T>) / 2,
      [](auto d, auto v) HWY_ATTR {
        const auto t = hn::Sub(v, hn::Set(d, T{1}));
        return hn::Log1p(d, hn::Add(t, hn::Sqrt(hn::Mul(t, hn::Add(t, hn::Set(d, T{2}))))));
      },
      [](T v) { return std::acosh(v); });
}
/// log1p(2 |x| / (1 - |x|)) / 2.
template <class T>
void Atanh(const T* x, T* out, std::size_t n) {
  const T below_one = T{1} - std::numeric_limits<T>::epsilon();
  map_inside(
      x, out, n, -below_one, below_one,
      [](auto d, auto v) HWY_ATTR {
        const auto a = hn::Abs(v);
        const auto ratio = hn::Div(hn::Add(a, a), hn::Sub(hn::Set(d, T{1}), a));
        return hn::CopySign(hn::Mul(hn::Log1p(d, ratio), hn::Set(d, T{0.5})), v);
      },
      [](T v) { return std::atanh(v); });
}

template <class Coefficients>
double polynomial(double x, const Coefficients& c) {
  double p = c.back();
  for (std::size_t i = c.size() - 1; i-- > 0;) p = p * x + c[i];
  return p;
}

/// The rounding error of `square` = a a.
template <class D, class V>
HWY_INLINE V lost_in_square(D d, V a, V square) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulSub(a, a, square);
#else  // by halves of a, whose products are exact
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  const auto upper = hn::Set(du, static_cast<U>(~U{0} << (sizeof(T) == 4 ? 12 : 27)));
  const auto high = hn::BitCast(d, hn::And(hn::BitCast(du, a), upper)), low = hn::Sub(a, high);
  const auto cross = hn::Mul(hn::Add(high, high), low);
  return hn::Add(hn::Add(hn::Sub(hn::Mul(high, high), square), cross), hn::Mul(low, low));
#endif
}

/// v erfc(|v| / sqrt(2)) / 2 = v P(u) / (2 + 4 x) e^(-v^2 / 2), x = |v| / sqrt(2); see base/special.hpp.
template <class D, class V>
HWY_INLINE V normal_tail(D d, V v) {
  using T = hn::TFromD<D>;
  const auto half = hn::Set(d, T{0.5}), one = hn::Set(d, T{1});
  const auto centre = hn::Set(d, static_cast<T>(base::erfc_centre<T>));
  const auto x = hn::Mul(hn::Abs(v), hn::Set(d, static_cast<T>(std::numbers::sqrt2 / 2)));
  const auto square = hn::Mul(v, v), lost = lost_in_square(d, v, square);
  const auto bell = hn::Exp(d, hn::Neg(hn::Mul(half, square)));
  const auto u = hn::Div(hn::Sub(x, centre), hn::Add(x, centre));
  const auto p = [&]() HWY_ATTR {
    if constexpr (sizeof(T) == 4) {
      return polynomial(d, u, base::erfc_f32);
    } else {
      return polynomial(d, u, base::erfc_f64);
    }
  }();
  const auto scaled = hn::Div(hn::Mul(half, p), hn::Add(one, hn::Add(x, x)));
  return hn::Mul(hn::Mul(v, scaled), hn::NegMulAdd(hn::Mul(half, lost), bell, bell));
}
/// gelu of x < -8, the same in one element.
inline double far_tail(double x) {
  constexpr double centre = base::erfc_centre<double>;
  const double a = -x * (std::numbers::sqrt2 / 2), square = x * x, lost = std::fma(x, x, -square);
  const double bell = std::exp(-square / 2);
  const double scaled = polynomial((a - centre) / (a + centre), base::erfc_f64) / (2 + 4 * a);
  return x * scaled * (bell - bell * (lost / 2));
}
template <class T>
void Gelu(const T* x, T* out, std::size_t n) {
  const T limit = sizeof(T) == 4 ? T{13} : T{37};  // the exponential is normal
  map_inside(
      x, out, n, -limit, limit,
      [](auto d, auto v) HWY_ATTR {
        const auto tail = normal_tail(d, v);
        return hn::IfThenElse(hn::Gt(v, hn::Zero(d)), hn::Sub(v, tail), tail);
      },
      [](T v) -> T {
        if (!(v < 0)) return v;
        return v < -40 ? -T{0} : static_cast<T>(far_tail(static_cast<double>(v)));
      });
}
template <class T>
void Silu(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, -exp_limit<T>, exp_limit<T>,
      [](auto d, auto v) HWY_ATTR {
        const auto one = hn::Set(d, T{1});
        const auto e = hn::Exp(d, hn::Neg(hn::Abs(v)));
        const auto top = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, e), v);
        return hn::Div(top, hn::Add(one, e));
      },
      [](T v) -> T {
        if (std::isinf(v)) return v > 0 ? v : -T{0};
        if (!(v < 0)) return v;
        const T root = std::exp(v / 2);  // exp(v) alone would be subnormal
        return v * root * root;
      });
}
template <class T>
void Softplus(const T* x, T* out, std::size_t n) {
  map_inside(
      x, out, n, -exp_limit<T>, exp_limit<T>,
      [](auto d, auto v) HWY_ATTR {
        return hn::Add(hn::Max(v, hn::Zero(d)), hn::Log1p(d, hn::Exp(d, hn::Neg(hn::Abs(v)))));
      },
      [](T v) { return v < 0 ? std::exp(v) : v; });
}

/// One step of Halley's method from the polynomials; x in (-1, 1).
inline double erfinv(double x) {
  const double a = std::abs(x), q = 1 - a;
  const double w = -std::log(q * (1 + a));
  const double start = a * (w < 5 ? polynomial(w - 2.5, base::erfinv_centre)
                                  : polynomial(std::sqrt(w) - 3, base::erfinv_tail_f64));
  const double difference = a < 0.5 ? std::erf(start) - a : q - std::erfc(start);
  const double step = difference * std::exp(start * start) * (0.5 / std::numbers::inv_sqrtpi);
  return std::copysign(start - step / (1 + step * start), x);
}
template <class T>
T erfinv_exact(T x) {
  if (!(std::abs(x) < 1)) {
    return std::abs(x) == 1 ? std::copysign(std::numeric_limits<T>::infinity(), x)
                            : std::numeric_limits<T>::quiet_NaN();
  }
  return static_cast<T>(erfinv(static_cast<double>(x)));
}
template <class T>
void Erfinv(const T* x, T* out, std::size_t n) {
  if constexpr (sizeof(T) == 8) {
    for (std::size_t i = 0; i < n; ++i) out[i] = erfinv_exact(x[i]);
  } else {
    const T below_one = T{1} - std::numeric_limits<T>::epsilon();
    map_inside(
        x, out, n, -below_one, below_one,
        [](auto d, auto v) HWY_ATTR {
          const auto one = hn::Set(d, T{1});
          const auto w = hn::Neg(hn::Log(d, hn::Mul(hn::Sub(one, v), hn::Add(one, v))));
          const auto centre = polynomial(d, hn::Sub(w, hn::Set(d, T{2.5})), base::erfinv_centre);
          const auto tail =
              polynomial(d, hn::Sub(hn::Sqrt(hn::Max(w, one)), hn::Set(d, T{3})), base::erfinv_tail_f32);
          return hn::Mul(v, hn::IfThenElse(hn::Lt(w, hn::Set(d, T{5})), centre, tail));
        },
        [](T v) { return erfinv_exact(v); });
  }
}

template <class T>
void Lgamma(const T* x, T* out, std::size_t n) {
  int sign = 0;  // lgamma itself writes a global
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (sizeof(T) == 4) {
      out[i] = ::lgammaf_r(x[i], &sign);
    } else {
      out[i] = ::lgamma_r(x[i], &sign);
    }
  }
}
/// The asymptotic series, after the recurrence for small arguments and the reflection for negative ones.
inline double digamma(double x) {
  if (std::isnan(x) || x == std::numeric_limits<double>::infinity()) return x;
  double reflected = 0;
  if (x <= 0) {
    const double rest = x - std::nearbyint(x);
    if (!(rest != 0) || std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();
    reflected = std::numbers::pi / std::tan(std::numbers::pi * rest);
    x = 1 - x;
  }
  double sum = 0;
  for (; x < base::asymptotic_from; x += 1) sum += 1 / x;
  const double z = 1 / (x * x);
  return std::log(x) - 0.5 / x - z * polynomial(z, base::digamma_series) - sum - reflected;
}
template <class T>
void Digamma(const T* x, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(digamma(static_cast<double>(x[i])));
}

/// Below 1 a polynomial, above 1 - erfc, which is small there; see base/special.hpp.
template <class T>
void Erf(const T* x, T* out, std::size_t n) {
  map(x, out, n, [](auto d, auto v) HWY_ATTR {
    const auto one = hn::Set(d, T{1});
    const auto a = hn::Min(hn::Abs(v), hn::Set(d, sizeof(T) == 4 ? T{9} : T{26}));  // beyond, erf is 1
    const auto square = hn::Mul(v, v);
    const auto centre = hn::Set(d, static_cast<T>(base::erfc_centre<T>));
    const auto u = hn::Div(hn::Sub(a, centre), hn::Add(a, centre));
    auto near = u, far = u;
    if constexpr (sizeof(T) == 4) {
      near = polynomial(d, square, base::erf_f32);
      far = polynomial(d, u, base::erfc_f32);
    } else {
      near = polynomial(d, square, base::erf_f64);
      far = polynomial(d, u, base::erfc_f64);
    }
    const auto bell = hn::Exp(d, hn::Neg(hn::Mul(a, a)));
    const auto rest = hn::Div(hn::Mul(bell, far), hn::Add(one, hn::Add(a, a)));
    const auto outside = hn::CopySign(hn::Sub(one, rest), v);
    const auto result = hn::IfThenElse(hn::Lt(a, one), hn::MulAdd(v, near, v), outside);
    return hn::IfThenElse(hn::IsNaN(v), v, result);
  });
}

template <class T>
UnaryKernel<T> pick(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::erf:
      return Erf<T>;
    case UnaryKind::exp2:
      return Exp2<T>;
    case UnaryKind::log2:
      return Log2<T>;
    case UnaryKind::log10:
      return Log10<T>;
    case UnaryKind::tan:
      return Tan<T>;
    case UnaryKind::asin:
      return Asin<T>;
    case UnaryKind::acos:
      return Acos<T>;
    case UnaryKind::atan:
      return Atan<T>;
    case UnaryKind::sinh:
      return Sinh<T>;
    case UnaryKind::cosh:
      return Cosh<T>;
    case UnaryKind::asinh:
      return Asinh<T>;
    case UnaryKind::acosh:
      return Acosh<T>;
    case UnaryKind::atanh:
      return Atanh<T>;
    case UnaryKind::gelu:
      return Gelu<T>;
    case UnaryKind::silu:
      return Silu<T>;
    case UnaryKind::softplus:
      return Softplus<T>;
    case UnaryKind::erfinv:
      return Erfinv<T>;
    case UnaryKind::lgamma:
      return Lgamma<T>;
    case UnaryKind::digamma:
      return Digamma<T>;
    default:
      return nullptr;
  }
}

UnaryKernel<float> SpecialF32(UnaryKind kind) { return pick<float>(kind); }
UnaryKernel<double> SpecialF64(UnaryKind kind) { return pick<double>(kind); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(SpecialF32);
HWY_EXPORT(SpecialF64);

template <>
UnaryKernel<float> special_kernel<float>(op::UnaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(SpecialF32)(kind);
}
template <>
UnaryKernel<double> special_kernel<double>(op::UnaryKind kind) {
  return HWY_DYNAMIC_DISPATCH(SpecialF64)(kind);
}

}  // namespace strata::flex
#endif
