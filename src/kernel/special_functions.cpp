/// The part of functions.hpp beyond the elementary ones.
#include <limits>
#include <numbers>

#include "base/special.hpp"
#include "kernel/functions.hpp"
#include "kernel/math.hpp"
#include "kernel/math_parts.hpp"

namespace strata::kernel {
namespace {

using namespace parts;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// exp(x^2) erfc(x) for x >= 0.
Val scaled_erfc(Val x) {
  const double centre = wide(x) ? base::erfc_centre<double> : base::erfc_centre<float>;
  const Val u = (x - centre) / (x + centre);
  const Val p = wide(x) ? polynomial(u, base::erfc_f64) : polynomial(u, base::erfc_f32);
  return p / (1.0 + (x + x));
}

/// exp(-a^2 / 2); a^2 keeps its rounding error.
Val bell(Val a) {
  const Val square = a * a, lost = fma(a, a, -square);
  const Val e = exp(square * -0.5);
  return fma(e, lost * -0.5, e);
}

/// Half of Halley's step needs exp(y^2) and erf(y) - a; near 1, where a = 1 - q, erfc(y) - q instead.
Val refine_erfinv(Val start, Val a, Val q) {
  const Val grown = exp(start * start);
  const Val difference =
      select(a < 0.5, (erf_near_zero(start) - a) * grown, fma(q, grown, -scaled_erfc(start)));
  const Val step = difference * (0.5 / std::numbers::inv_sqrtpi);
  return start - step / fma(step, start, number_like(a, 1));
}

/// The argument of an asymptotic series: x, or 1 - x where x is not positive, raised by the recurrence.
struct Raised {
  Val reflected;            ///< true where x <= 0
  Val x;                    ///< at least 8
  Val product, derivative;  ///< of the factors x (x + 1) ... that lie between, and its derivative
};
Raised raise(Val x) {
  const Val reflected = x <= 0.0;
  Raised r{reflected, select(reflected, 1.0 - x, x), number_like(x, 1), number_like(x, 0)};
  for (int i = 0; i < base::asymptotic_from; ++i) {
    const Val low = r.x < static_cast<double>(base::asymptotic_from);
    r.derivative = select(low, fma(r.derivative, r.x, r.product), r.derivative);
    r.product = select(low, r.product * r.x, r.product);
    r.x = select(low, r.x + 1.0, r.x);
  }
  return r;
}
/// pi times the distance of x from the nearest integer.
Val angle_from_pole(Val x) { return (x - rint(x)) * std::numbers::pi; }

Val lgamma_f64(Val x) {
  const auto [reflected, y, product, derivative] = raise(x);
  const Val inverse = 1.0 / y;
  const Val series = inverse * polynomial(inverse * inverse, base::stirling);
  constexpr double half_log_two_pi = 0.9189385332046727;
  const Val raised = fma(y - 0.5, log(y) - 1.0, (half_log_two_pi - 0.5) + series) - log(product);
  constexpr double log_pi = 1.1447298858494002;
  const Val angle = angle_from_pole(x), limit = number_like(x, infinity);
  const Val mirrored = select(angle == 0.0, limit, log_pi - log(abs(sin(angle))) - raised);
  const Val usual = select(abs(x) == infinity, limit, select(reflected, mirrored, raised));
  return select(abs(x) < 0x1p-60, -log(abs(x)), usual);  // where pi x would lose digits of a subnormal
}

Val digamma_f64(Val x) {
  const auto [reflected, y, product, derivative] = raise(x);
  const Val inverse = 1.0 / y, z = inverse * inverse;
  const Val raised = log(y) - fma(inverse, number_like(x, 0.5), z * polynomial(z, base::digamma_series)) -
                     derivative / product;
  const Val angle = angle_from_pole(x);
  const Val mirrored =
      raised - select(angle == 0.0, number_like(x, nan), cos(angle) * std::numbers::pi / sin(angle));
  return select(reflected, mirrored, raised);
}

}  // namespace

Val gelu(Val x) {
  if (is_half(x)) return through(Scalar::f32, gelu, x);
  const double limit = wide(x) ? 39 : 15;  // below it the result is 0
  const Val a = at_most(abs(x), limit);
  // x times the distribution beyond a, in an order that leaves the subnormals to the last product
  const Val tail = (x * (0.5 * scaled_erfc(a * (std::numbers::sqrt2 / 2)))) * bell(a);
  return select(x < -limit, number_like(x, -0.0), select(x > limit, x, select(x > 0.0, x - tail, tail)));
}

Val silu(Val x) {
  if (is_half(x)) return through(Scalar::f32, silu, x);
  const Val e = exp(-abs(x));
  const Val r = select(x < 0.0, x * e, x) / (1.0 + e);
  return select(x == -infinity, number_like(x, -0.0), r);
}

Val softplus(Val x) {
  if (is_half(x)) return through(Scalar::f32, softplus, x);
  return max(x, 0.0) + log1p(exp(-abs(x)));
}

Val erfinv(Val x) {
  if (is_half(x)) return through(Scalar::f32, erfinv, x);
  const Val a = abs(x), q = 1.0 - a, w = -log(q * (1.0 + a));
  const Val centre = polynomial(w - 2.5, base::erfinv_centre);
  const Val s = sqrt(w) - 3.0;
  const Val tail = wide(x) ? polynomial(s, base::erfinv_tail_f64) : polynomial(s, base::erfinv_tail_f32);
  const Val start = a * select(w < 5.0, centre, tail);
  const Val r = wide(x) ? refine_erfinv(start, a, q) : start;
  return copy_sign(select(a == 1.0, number_like(x, infinity), r), x);
}

Val lgamma(Val x) { return wide(x) ? lgamma_f64(x) : through(Scalar::f64, lgamma_f64, x); }
Val digamma(Val x) { return wide(x) ? digamma_f64(x) : through(Scalar::f64, digamma_f64, x); }

}  // namespace strata::kernel
