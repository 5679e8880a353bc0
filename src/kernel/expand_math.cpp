#include "kernel/expand_math.hpp"

#include <limits>

#include "kernel/math.hpp"
#include "kernel/math_parts.hpp"

namespace strata::kernel {
namespace {

using namespace parts;

Val expand_exp(Val x) {
  const double limit = wide(x) ? 1100 : 130;  // beyond it the result is infinite or zero
  const auto [n, p] = reduce_exp(at_least(at_most(x, limit), -limit));
  return scale_exponent(p + 1.0, convert(n, word_of(x)));
}

/// 2^n p + (2^n - 1), computed at half size so that 2^n does not overflow first.
Val expand_expm1(Val x) {
  const Val clamped = at_least(at_most(x, wide(x) ? 709.9 : 89.0), wide(x) ? -50.0 : -25.0);
  const auto [n, p] = reduce_exp(clamped);
  const Val scale = scale_exponent(constant(x.type, 0.5), convert(n, word_of(x)));
  const Val r = 2.0 * fma(scale, p, scale - 0.5);
  return copy_sign(select(n == 0.0, p, r), x);  // for -0
}

/// expm1(2 |x|) / (expm1(2 |x|) + 2), with the sign of x; 1 beyond the clamp.
Val expand_tanh(Val x) {
  const Val a = at_most(abs(x), wide(x) ? 22.0 : 9.1);
  const auto [n, p] = reduce_exp(a + a);
  const Val scale = scale_exponent(constant(x.type, 1), convert(n, word_of(x)));
  const Val e = fma(scale, p, scale - 1.0);
  return copy_sign(e / (e + 2.0), x);
}

// --- with approximate units: f32

/// 2^t for t = x log2(e) rounded, times 1 + what t lost.
Val fast_exp(Val x) {
  constexpr double log2e_high = 0x1.715476p+0, log2e_low = 0x1.4ae0c0p-26, ln2 = 0.6931471805599453;
  const auto number = [&](double v) { return constant(x.type, v); };
  const Val low = at_least(x, -104.0);  // the result is 0 below
  const Val t = low * log2e_high;
  const Val lost = fma(low, number(log2e_low), fma(low, number(log2e_high), -t));
  const Val e = exp2_fast(t);
  return select(e == number(std::numeric_limits<double>::infinity()), e, fma(e, lost * ln2, e));
}

/// As expand_tanh, with the exponent's arithmetic on the bits of a sum: 1.5 * 2^23 + n holds n in its last
/// bits.
Val fast_tanh(Val x) {
  constexpr double shifter = 12582912;
  const auto number = [&](double v) { return constant(x.type, v); };
  const Val a = at_most(abs(x), 9.1), twice = a + a;
  const Val sum = fma(twice, number(1.4426950408889634), number(shifter)), n = sum - shifter;
  const Val r = fma(n, number(-3.1946184945309415e-05), fma(n, number(-0.693115234375), twice));
  const Val scale = bitcast((bitcast(sum, Scalar::i32) << 23) + 0x3f800000, Scalar::f32);
  const Val e = fma(scale, expm1_near_zero(r), scale - 1.0);
  return copy_sign(e * recip_fast(e + 2.0), x);
}

Val expand_log(Val x) {
  const auto [k, m] = split(x);
  return log_cases(log_near_one(m - 1.0, k, constant(x.type, 0)), x);
}

/// log(u) + (x - (u - 1)) / u for the rounded u = 1 + x.
Val expand_log1p(Val x) {
  const Val u = x + 1.0;
  const Val lost = (x - (u - 1.0)) / u;
  const auto [k, m] = split(u);
  const Val r = log_cases(log_near_one(m - 1.0, k, lost), u);
  return select(abs(x) < (wide(x) ? 0x1p-54 : 0x1p-25), x, r);
}

/// -0 of the sine is kept.
Val sin_or_cos(Val x, bool cosine) {
  const auto [sine, cosine_r, q] = reduce_trigonometric(x);
  const Val quadrant = cosine ? q + 1 : q;
  const Val value = select((quadrant & 1) != 0, cosine_r, sine);
  const Val result = select((quadrant & 2) != 0, -value, value);
  return cosine ? result : select(x == 0.0, x, result);
}

/// |x| < 1: x + x P(x^2). Else 1 - exp(-x^2) Q(u), u = (1 / |x| - centre) / radius; 1 from `top` on.
Val expand_erf(Val x) {
  const double top = wide(x) ? 6 : 4, centre = (1 + 1 / top) / 2, radius = (1 - 1 / top) / 2;
  const Val a = at_least(at_most(abs(x), top), 1.0);
  const Val u = (1.0 / a - centre) * (1 / radius);
  const Val q = wide(x)
                    ? polynomial(u, {0.28972211632346423, 0.16536269001261447, -0.030831050508437357,
                                     0.002821131897910045, 0.0010344322266554378, -0.000738386744421582,
                                     0.0002656054635161461, -5.528647102639466e-05, -4.0466127193311785e-06,
                                     1.088247491401646e-05, -6.497871534948768e-06, 2.583520199579295e-06,
                                     -6.648323027947953e-07, 1.975909934537756e-09, 1.2942870020745807e-07,
                                     -9.891040976827273e-08, 4.640951845926617e-08, -1.3440312297506529e-08,
                                     1.813568959111043e-09})
                    : polynomial(u, {0.3059529960155487, 0.14335644245147705, -0.024243168532848358,
                                     0.002307703485712409, 0.0004636560333892703, -0.00034972591674886644,
                                     0.00011449610610725358, -1.8822425772668794e-05});
  const Val far = copy_sign(1.0 - expand_exp(-(a * a)) * q, x);
  return select(abs(x) < 1.0, erf_near_zero(x), far);  // NaN passes the clamps and so through `far`
}

}  // namespace

Val expand_math(Opcode op, Val x, MathUnits units) {
  if (is_half(x.scalar())) return convert(expand_math(op, convert(x, Scalar::f32), units), x.scalar());
  if (units == MathUnits::approximate && x.scalar() == Scalar::f32) {
    if (op == Opcode::exp) return fast_exp(x);
    if (op == Opcode::tanh) return fast_tanh(x);
  }
  switch (op) {
    case Opcode::exp:
      return expand_exp(x);
    case Opcode::log:
      return expand_log(x);
    case Opcode::tanh:
      return expand_tanh(x);
    case Opcode::sin:
      return sin_or_cos(x, false);
    case Opcode::cos:
      return sin_or_cos(x, true);
    case Opcode::log1p:
      return expand_log1p(x);
    case Opcode::expm1:
      return expand_expm1(x);
    default:
      return expand_erf(x);
  }
}

}  // namespace strata::kernel
