#include "kernel/functions.hpp"

#include <limits>
#include <numbers>

#include "kernel/math.hpp"
#include "kernel/math_parts.hpp"

namespace strata::kernel {
namespace {

using namespace parts;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// asin(s) with s^2 = z, 0 <= s <= 1/2.
Val asin_near_zero(Val s, Val z) {
  const Val p = wide(s) ? polynomial(z, {0.16666666666665383, 0.07500000000342875, 0.044642856823606705,
                                         0.030381959326613955, 0.022371753625079857, 0.017359769695236137,
                                         0.013884611324032532, 0.012173201442775061, 0.006511164450414896,
                                         0.019573118294149063, -0.016292927476511447, 0.03195823612566115})
                        : polynomial(z, {0.16666753590106964, 0.07495241612195969, 0.045477092266082764,
                                         0.02414761669933796, 0.04221857339143753});
  return fma(s * z, p, s);
}
/// asin |x| for |x| <= 1/2; beyond, asin(sqrt((1 - |x|) / 2)), half the angle from 1.
struct Arc {
  Val far, angle;
};
Arc arc(Val x) {
  const Val a = abs(x), far = a > 0.5;
  const Val z = select(far, (1.0 - a) * 0.5, a * a);
  return {far, asin_near_zero(select(far, sqrt(z), a), z)};
}
/// pi / 2 - x and pi - x, the constant's rounding error given back.
double half_pi_low(Val x) { return wide(x) ? 6.123233995736766e-17 : -4.371138828673793e-08; }
Val half_pi_minus(Val x) { return std::numbers::pi / 2 - (x - half_pi_low(x)); }
Val pi_minus(Val x) { return std::numbers::pi - (x - 2 * half_pi_low(x)); }

/// atan(numerator / denominator) for 0 <= numerator <= denominator: above tan(pi / 8) as the angle from pi
/// / 4.
Val atan_of_ratio(Val numerator, Val denominator) {
  const Val turned = numerator > denominator * 0.41421356;
  const Val r = select(turned, numerator - denominator, numerator) /
                select(turned, numerator + denominator, denominator);
  const Val z = r * r;
  const Val p = wide(r) ? polynomial(z, {-0.333333333333332, 0.1999999999995387, -0.14285714280226172,
                                         0.11111110784974432, -0.09090897801806873, 0.07692061001737797,
                                         -0.06663112960637581, 0.05847953538783724, -0.05039590204014842,
                                         0.03807169510200733, -0.01791487807389576})
                        : polynomial(z, {-0.33333316445350647, 0.1999848634004593, -0.14243793487548828,
                                         0.10595574975013733, -0.06082320213317871});
  const Val angle = fma(r * z, p, r);
  return select(turned, std::numbers::pi / 4 + (angle + half_pi_low(r) / 2), angle);
}

/// e^a / 2 and expm1(a) / 2 for 0 <= a, the latter for moderate a.
struct Halves {
  Val exp, expm1;
};
Halves half_exp(Val a) {
  const auto [n, p] = reduce_exp(at_most(a, wide(a) ? 712.0 : 91.0));
  const Val k = convert(n, word_of(a));
  const Val scale = scale_exponent(number_like(a, 0.5), k);
  return {scale_exponent(p + 1.0, k - 1), fma(scale, p, scale - 0.5)};
}

}  // namespace

Val exp2(Val x) {
  if (is_half(x)) return through(Scalar::f32, exp2, x);
  const double limit = wide(x) ? 1100 : 160;  // beyond it the result is infinite or zero
  const Val clamped = at_least(at_most(x, limit), -limit), n = rint(clamped);
  const Val p = expm1_near_zero((clamped - n) * std::numbers::ln2);
  return scale_exponent(p + 1.0, convert(n, word_of(x)));
}

Val exp_below_zero(Val x) {
  if (is_half(x)) return through(Scalar::f32, exp_below_zero, x);
  const double least = wide(x) ? -708 : -87;
  const int fraction = wide(x) ? 52 : 23;
  const double magic = wide(x) ? 0x1.8p52 : 0x1.8p23;  // to which a small number is added as a whole one
  const double ln2_high = wide(x) ? 0x1.62e42fefa38p-1 : 0.693115234375;
  const double ln2_low = wide(x) ? 0x1.ef35793c7673p-45 : 3.1946184945309415e-05;
  const Val clamped = at_least(x, least);
  const Val shifted = fma(clamped, number_like(x, std::numbers::log2e), number_like(x, magic));
  const Val n = shifted - magic;
  const Val r = fma(n, number_like(x, -ln2_low), fma(n, number_like(x, -ln2_high), clamped));
  const Val one = bitcast(number_like(x, 1), word_of(x));
  const Val power = bitcast((bitcast(shifted, word_of(x)) << fraction) + one, x.scalar());  // 2^n
  return select(x < least, 0, fma(expm1_near_zero(r), power, power));
}

Val log2(Val x) {
  if (is_half(x)) return through(Scalar::f32, log2, x);
  const auto [k, m] = split(x);
  const Val zero = number_like(x, 0);
  const Val l = log_near_one(m - 1.0, zero, zero);
  return log_cases(fma(l, number_like(x, std::numbers::log2e), k), x);
}

Val log10(Val x) {
  if (is_half(x)) return through(Scalar::f32, log10, x);
  const auto [k, m] = split(x);
  const Val zero = number_like(x, 0);
  const Val l = log_near_one(m - 1.0, zero, zero) * std::numbers::log10e;
  // log10(2) in two parts, the first short enough for an exact product with k
  const Val high = number_like(x, wide(x) ? 0x1.34413509f78p-2 : 0x1.344p-2);
  const Val low = number_like(x, wide(x) ? 0x1.fef311f12b358p-46 : 0x1.3509f79fef312p-18);
  return log_cases(fma(k, high, fma(k, low, l)), x);
}

Val tan(Val x) {
  if (is_half(x)) return through(Scalar::f32, tan, x);
  const auto [sine, cosine, quadrant] = reduce_trigonometric(x);
  const Val odd = (quadrant & 1) != 0;
  const Val r = select(odd, -cosine, sine) / select(odd, sine, cosine);
  return select(x == 0.0, x, r);  // for -0
}

Val asin(Val x) {
  if (is_half(x)) return through(Scalar::f32, asin, x);
  const auto [far, angle] = arc(x);
  return copy_sign(select(far, half_pi_minus(angle + angle), angle), x);
}

Val acos(Val x) {
  if (is_half(x)) return through(Scalar::f32, acos, x);
  const auto [far, angle] = arc(x);
  const Val twice = angle + angle;
  return select(far, select(x < 0.0, pi_minus(twice), twice), half_pi_minus(copy_sign(angle, x)));
}

Val atan(Val x) {
  if (is_half(x)) return through(Scalar::f32, atan, x);
  const Val a = abs(x), steep = a > 1.0, one = number_like(x, 1);
  const Val angle = atan_of_ratio(select(steep, one, a), select(steep, a, one));
  return copy_sign(select(steep, half_pi_minus(angle), angle), x);
}

Val atan2(Val y, Val x) {
  if (is_half(x)) return convert(atan2(convert(y, Scalar::f32), convert(x, Scalar::f32)), x.scalar());
  const Val size_y = abs(y), size_x = abs(x), steep = size_y > size_x;
  const Val small = select(steep, size_x, size_y), large = select(steep, size_y, size_x);
  const Val diagonal = (small == infinity) & (large == infinity);
  const Val huge = large > (wide(x) ? 0x1p1020 : 0x1p120);
  const Val one = number_like(x, 1), scale = select(huge, number_like(x, 0.25), one);  // their sum is finite
  const Val numerator = select(diagonal, one, small * scale);
  const Val denominator = select(diagonal | (large == 0.0), one, large * scale);
  const Val angle = atan_of_ratio(numerator, denominator);
  const Val first = select(steep, half_pi_minus(angle), angle);
  const Val left = bitcast(x, word_of(x)) < 0;
  return copy_sign(select(left, pi_minus(first), first), y);
}

Val hypot(Val a, Val b) {
  if (is_half(a)) return convert(hypot(convert(a, Scalar::f32), convert(b, Scalar::f32)), a.scalar());
  const Val x = abs(a), y = abs(b), large = max(x, y), small = min(x, y);
  const Val ratio = small / select(large == 0.0, number_like(a, 1), large);
  const Val r = large * sqrt(fma(ratio, ratio, number_like(a, 1)));
  return select((x == infinity) | (y == infinity), number_like(a, infinity), r);
}

/// (E + E / (E + 1)) / 2, E = expm1(|x|).
Val sinh(Val x) {
  if (is_half(x)) return through(Scalar::f32, sinh, x);
  const Val a = abs(x);
  const auto [exp, half] = half_exp(a);
  const Val moderate = half + half / (half + half + 1.0);
  return copy_sign(select(a < (wide(x) ? 22.0 : 10.0), moderate, exp), x);
}

Val cosh(Val x) {
  if (is_half(x)) return through(Scalar::f32, cosh, x);
  const Val half = half_exp(abs(x)).exp;
  return half + 0.25 / half;
}

/// log1p(a + a^2 / (1 + sqrt(1 + a^2))), a = |x|; log(2 a) where a^2 is large.
Val asinh(Val x) {
  if (is_half(x)) return through(Scalar::f32, asinh, x);
  const Val a = abs(x), large = a > (wide(x) ? 0x1p60 : 0x1p28), z = a * a;
  const Val argument = a + z / (1.0 + sqrt(z + 1.0));
  const Val zero = number_like(x, 0);
  const Val r = log1p(select(large, a, argument)) + select(large, number_like(x, std::numbers::ln2), zero);
  return copy_sign(r, x);
}

/// log1p(t + sqrt(t (t + 2))), t = x - 1; log(2 x) where t^2 is large.
Val acosh(Val x) {
  if (is_half(x)) return through(Scalar::f32, acosh, x);
  const Val large = x > (wide(x) ? 0x1p60 : 0x1p28), t = x - 1.0;
  const Val argument = t + sqrt(t * (t + 2.0));
  const Val zero = number_like(x, 0);
  const Val r = log1p(select(large, x, argument)) + select(large, number_like(x, std::numbers::ln2), zero);
  return select(x >= 1.0, r, number_like(x, nan));
}

/// log1p(2 a / (1 - a)) / 2, a = |x|.
Val atanh(Val x) {
  if (is_half(x)) return through(Scalar::f32, atanh, x);
  const Val a = abs(x);
  return copy_sign(0.5 * log1p((a + a) / (1.0 - a)), x);
}

}  // namespace strata::kernel
