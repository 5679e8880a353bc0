/// Polynomials come from fit_math.py. Constants of clamps stand first in the comparison, `select(limit < x,
/// limit, x)`, which is one min instruction that lets NaN through.
#include "kernel/math_parts.hpp"

#include "base/special.hpp"

#include <limits>

namespace strata::kernel::parts {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

Val polynomial(Val x, std::span<const double> coefficients) {
  auto c = coefficients.rbegin();
  Val p = constant(x.type, *c);
  while (++c != coefficients.rend()) p = fma(p, x, constant(x.type, *c));
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

Val expm1_near_zero(Val r) {
  const Val q =
      wide(r)
          ? polynomial(r, {0.5000000000000013, 0.166666666666667, 0.04166666666651496, 0.008333333333307023,
                           0.0013888888947150974, 0.00019841269917753127, 2.4801489789682508e-05,
                           2.7557215976541627e-06, 2.7631338743616106e-07, 2.5117963500015786e-08})
          : polynomial(r, {0.5, 0.16666576666119928, 0.04166655421298415, 0.008363232883682618,
                           0.0013926250831497611});
  return fma(r * r, q, r);
}

Reduced reduce_exp(Val x) {
  const Val n = rint(x * 1.4426950408889634);
  const double ln2_high = wide(x) ? 0x1.62e42fefa38p-1 : 0.693115234375;
  const double ln2_low = wide(x) ? 0x1.ef35793c7673p-45 : 3.1946184945309415e-05;
  const Val r = fma(n, constant(x.type, -ln2_low), fma(n, constant(x.type, -ln2_high), x));
  return {n, expm1_near_zero(r)};
}

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

Val log_cases(Val result, Val argument) {
  const auto number = [&](double v) { return constant(argument.type, v); };
  const Val r = select(argument == 0.0, number(-infinity), result);
  return select(argument > 0.0, select(argument == infinity, number(infinity), r),
                select(argument == 0.0, r, number(std::numeric_limits<double>::quiet_NaN())));
}

/// Cody and Waite: x = q pi/2 + r in three steps. x - q p1 is exact for |x| >= 1: both are multiples of the
/// last place of p1 and their difference is small.
Trigonometric reduce_trigonometric(Val x) {
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
  return {sine, cos_r, convert(q, word_of(x))};
}

Val erf_near_zero(Val x) {
  const Val z = x * x;
  return fma(x, wide(x) ? polynomial(z, base::erf_f64) : polynomial(z, base::erf_f32), x);
}

}  // namespace strata::kernel::parts
