/// The pieces that expand_math.cpp and functions.cpp are made of. Values are f32 or f64, of any lane count.
#pragma once

#include <initializer_list>
#include <span>

#include "kernel/builder.hpp"

namespace strata::kernel::parts {

inline bool wide(Val x) { return x.scalar() == Scalar::f64; }
inline bool is_half(Val x) { return x.scalar() == Scalar::f16 || x.scalar() == Scalar::bf16; }
/// f of x in a wider type, converted back.
template <class F>
Val through(Scalar s, F f, Val x) {
  return convert(f(convert(x, s)), x.scalar());
}
inline Val number_like(Val x, double v) { return constant(x.type, v); }
/// The signed integer as wide as x.
inline Scalar word_of(Val x) { return wide(x) ? Scalar::i64 : Scalar::i32; }

/// c0 + c1 x + c2 x^2 ...
Val polynomial(Val x, std::span<const double> coefficients);
inline Val polynomial(Val x, std::initializer_list<double> coefficients) {
  return polynomial(x, std::span(coefficients.begin(), coefficients.size()));
}

/// One min or max instruction that lets NaN through.
Val at_most(Val x, double limit);
Val at_least(Val x, double limit);

/// expm1(r) for |r| <= ln(2) / 2.
Val expm1_near_zero(Val r);
/// x = n ln 2 + r with |r| <= ln(2) / 2, and expm1(r).
struct Reduced {
  Val n, expm1;
};
Reduced reduce_exp(Val x);

/// x = 2^k m with m in [sqrt(1/2), sqrt(2)); x > 0, finite; k as a float.
struct Split {
  Val k, m;
};
Split split(Val x);
/// log(1 + f) + correction + k ln 2, f in [sqrt(1/2) - 1, sqrt(2) - 1].
Val log_near_one(Val f, Val k, Val correction);
/// `result`, or what a logarithm gives where its argument is not positive and finite.
Val log_cases(Val result, Val argument);

/// x = q pi/2 + r with |r| <= pi/4: sin(r), cos(r) and q as an integer.
struct Trigonometric {
  Val sine, cosine, quadrant;
};
Trigonometric reduce_trigonometric(Val x);

/// erf(x) for |x| < 1.
Val erf_near_zero(Val x);

}  // namespace strata::kernel::parts
