/// Polynomials come from fit_math.py. Constants of clamps stand first in the comparison, `select(limit < x,
/// limit, x)`, which is one min instruction that lets NaN through.
#include "kernel/expand_math.hpp"

#include <initializer_list>
#include <limits>

#include "kernel/math.hpp"

namespace strata::kernel {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool wide(Val x) { return x.scalar() == Scalar::f64; }
Scalar word_of(Val x) { return wide(x) ? Scalar::i64 : Scalar::i32; }

/// c0 + c1 x + c2 x^2 ...
Val polynomial(Val x, std::initializer_list<double> coefficients) {
  const double* c = coefficients.end() - 1;
  Val p = constant(x.type, *c);
  while (c != coefficients.begin()) p = fma(p, x, constant(x.type, *--c));
  return p;
}

Val at_most(Val x, double limit) {
  const Val c = constant(x.type, limit);
  return select(c < x, c, x);
}
Val at_least(Val x, double limit) {
  const Val c = constant(x.type, limit);
  return select(c > x, c, x);
}

/// x = n ln 2 + r with |r| <= ln(2) / 2, and expm1(r).
struct Reduced {
  Val n, expm1;
};
Reduced reduce_exp(Val x) {
  const Val n = rint(x * 1.4426950408889634);
  const double ln2_high = wide(x) ? 0x1.62e42fefa38p-1 : 0.693115234375;
  const double ln2_low = wide(x) ? 0x1.ef35793c7673p-45 : 3.1946184945309415e-05;
  const Val r = fma(n, constant(x.type, -ln2_low), fma(n, constant(x.type, -ln2_high), x));
  const Val q =
      wide(x)
          ? polynomial(r, {0.5000000000000013, 0.166666666666667, 0.04166666666651496, 0.008333333333307023,
                           0.0013888888947150974, 0.00019841269917753127, 2.4801489789682508e-05,
                           2.7557215976541627e-06, 2.7631338743616106e-07, 2.5117963500015786e-08})
          : polynomial(r, {0.5, 0.16666576666119928, 0.04166655421298415, 0.008363232883682618,
                           0.0013926250831497611});
  return {n, fma(r * r, q, r)};
}

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

/// x = 2^k m with m in [sqrt(1/2), sqrt(2)); x > 0, finite; k as a float.
struct Split {
  Val k, m;
};
Split split(Val x) {
  const Scalar word = word_of(x);
  const int fraction = wide(x) ? 52 : 23;
  const Val subnormal = x < (wide(x) ? 0x1p-1022 : 0x1p-126);
  const double lift = wide(x) ? 54 : 24;
  const Val bits = bitcast(select(subnormal, x * (wide(x) ? 0x1p54 : 0x1p24), x), word);
  const Val k = (bits - (wide(x) ? 0x3fe6a09e667f3bcdLL : 0x3f3504f3LL)) >> fraction;
  const Val m = bitcast(bits - (k << fraction), x.scalar());
  return {convert(k, x.scalar()) - select(subnormal, constant(x.type, lift), constant(x.type, 0)), m};
}

/// log(1 + f) + correction + k ln 2, f in [sqrt(1/2) - 1, sqrt(2) - 1].
Val log_near_one(Val f, Val k, Val correction) {
  const Val half_square = f * f * 0.5;
  if (wide(f)) {  // with s = f / (2 + f): log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + z P(z)), z = s^2
    const Val s = f / (f + 2.0), z = s * s;
    const Val tail =
        z * polynomial(z, {0.666666666666667, 0.39999999999898184, 0.2857142862651679, 0.22222211053845708,
                           0.1818289459177141, 0.15331551610216107, 0.14618430329498044});
    const Val low = fma(s, half_square + tail, fma(k, constant(f.type, 0x1.ef35793c7673p-45), correction));
    return fma(k, constant(f.type, 0x1.62e42fefa38p-1), f - (half_square - low));
  }
  const Val q =
      polynomial(f, {0.33333316445350647, -0.25000810623168945, 0.2000228762626648, -0.1662454903125763,
                     0.141811802983284, -0.13128788769245148, 0.12881723046302795, -0.07859603315591812});
  const Val low = fma(f * f * f, q, fma(k, constant(f.type, 3.1946184945309415e-05), correction));
  return fma(k, constant(f.type, 0.693115234375), f - (half_square - low));
}

/// What log gives where its argument (1 + x for log1p) is not positive and finite.
Val log_cases(Val result, Val argument) {
  const auto number = [&](double v) { return constant(argument.type, v); };
  const Val r = select(argument == 0.0, number(-infinity), result);
  return select(argument > 0.0, select(argument == infinity, number(infinity), r),
                select(argument == 0.0, r, number(std::numeric_limits<double>::quiet_NaN())));
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

/// Cody and Waite: x = q pi/2 + r in three steps. x - q p1 is exact for |x| >= 1: both are multiples of the
/// last place of p1 and their difference is small.
Val sin_or_cos(Val x, bool cosine) {
  const Val q = rint(x * 0.6366197723675814);
  const auto number = [&](double v) { return constant(x.type, v); };
  Val r = fma(q, number(wide(x) ? -1.5707963267948966 : -1.5707963705062866), x);
  r = fma(q, number(wide(x) ? -6.123233995736766e-17 : 4.371138828673793e-08), r);
  r = fma(q, number(wide(x) ? 1.4973849048591698e-33 : 1.7151245100058819e-15), r);
  r = at_least(at_most(r, 1.0), -1.0);  // beyond the valid range
  const Val z = r * r;
  const Val s = wide(x)
                    ? polynomial(z, {-0.16666666666666632, 0.008333333333322316, -0.00019841269829725587,
                                     2.7557313662096582e-06, -2.505075326002886e-08, 1.5896504215014043e-10})
                    : polynomial(z, {-0.16666655242443085, 0.008332173340022564, -0.00019516682368703187});
  const Val c = wide(x)
                    ? polynomial(z, {0.0416666666666666, -0.0013888888888873992, 2.4801587289396363e-05,
                                     -2.7557314326445215e-07, 2.087571961526607e-09, -1.1359451616803362e-11})
                    : polynomial(z, {0.04166664555668831, -0.001388736185617745, 2.4437729734927416e-05});
  const Val sine = fma(r * z, s, r);
  // 1 - z / 2 with its rounding error given back
  const Val half = z * 0.5, w = 1.0 - half;
  const Val cos_r = w + fma(z * z, c, (1.0 - w) - half);
  const Val quadrant = cosine ? convert(q, word_of(x)) + 1 : convert(q, word_of(x));
  const Val value = select((quadrant & 1) != 0, cos_r, sine);
  const Val result = select((quadrant & 2) != 0, -value, value);
  return cosine ? result : select(x == 0.0, x, result);  // for -0
}

/// |x| < 1: x + x P(x^2). Else 1 - exp(-x^2) Q(u), u = (1 / |x| - centre) / radius; 1 from `top` on.
Val expand_erf(Val x) {
  const double top = wide(x) ? 6 : 4, centre = (1 + 1 / top) / 2, radius = (1 - 1 / top) / 2;
  const Val z = x * x;
  const Val p =
      wide(x)
          ? polynomial(z, {0.1283791670955126, -0.3761263890318375, 0.11283791670954885, -0.02686617064507787,
                           0.005223977624828389, -0.0008548326981423463, 0.00012055331132892126,
                           -1.4925595770909825e-05, 1.6461008460771013e-06, -1.635039606926364e-07,
                           1.466032781931662e-08, -1.137495257919263e-09, 5.960680339728099e-11})
          : polynomial(z,
                       {0.12837916612625122, -0.3761262595653534, 0.11283600330352783, -0.026854444295167923,
                        0.005189535208046436, -0.0008020838722586632, 7.889110565884039e-05});
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
  return select(abs(x) < 1.0, fma(x, p, x), far);  // NaN passes the clamps and so through `far`
}

}  // namespace

Val expand_math(Opcode op, Val x) {
  if (is_half(x.scalar())) return convert(expand_math(op, convert(x, Scalar::f32)), x.scalar());
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
