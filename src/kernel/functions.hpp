/// Element-wise functions of the language that are no opcodes: compositions of its arithmetic and of
/// math_parts.hpp, so that every target gives the same bits.
///
/// Arguments are f32 or f64 of any lane count; halves are computed in f32 and rounded once. Special values
/// are those of C's library; NaN gives NaN. Largest errors measured against long double, in ULP of the
/// result:
///
///     function               f32    f64    range of the statement
///     exp2                   1.1    1.2    all
///     exp_below_zero         1.1    1.1    [-87, 0], [-708, 0]
///     log2, log10            2.0    1.8    all
///     tan                    2.9    2.8    |x| <= 2^20 (f32), 2^30 (f64); beyond: not accurate
///     asin, acos             2.4    2.2    all
///     atan, atan2            2.0    2.3    all
///     hypot                  2.0    2.0    all
///     sinh, cosh             2.1    2.5    all
///     asinh, acosh, atanh    2.5    2.6    all
///     gelu                   4.2    4.9    all
///     silu                   3.2    2.8    |x| <= 80 (f32), 700 (f64); beyond: |x| smallest subnormals
///     softplus               1.6    1.5    all
///     erfinv                 5.0    3.9    all
///     lgamma                 0.51   30     all; below a size of 1, in ULP of 1
///     digamma                0.51   16     all; below a size of 1, in ULP of 1
#pragma once

#include "kernel/builder.hpp"

namespace strata::kernel {

Val exp2(Val x);
/// Exact for whole powers of two.
Val log2(Val x);
Val log10(Val x);

/// e^x for x <= 0 (or so little above as rounding leaves), f32 and f64, in a third of the instructions of
/// exp: 0 where the result would be below e^-87 (f32) or e^-708 (f64).
Val exp_below_zero(Val x);

Val tan(Val x);
Val asin(Val x);
Val acos(Val x);
Val atan(Val x);
/// The angle of the point (x, y).
Val atan2(Val y, Val x);
/// sqrt(a^2 + b^2); infinite when either is, even beside NaN.
Val hypot(Val a, Val b);

Val sinh(Val x);
Val cosh(Val x);
Val asinh(Val x);
Val acosh(Val x);
Val atanh(Val x);

/// x erfc(-x / sqrt(2)) / 2: relative accuracy also in the lower tail; -0 at -infinity.
Val gelu(Val x);
/// x sigmoid(x); -0 at -infinity.
Val silu(Val x);
/// log(1 + e^x).
Val softplus(Val x);

/// f32: polynomials (see base/special.hpp); f64: one step of Halley's method from them.
Val erfinv(Val x);
/// log |gamma(x)|: recurrence to x >= 8, Stirling's series, reflection for x <= 0; f32 through f64.
Val lgamma(Val x);
/// The derivative of lgamma in the same way; NaN at the poles.
Val digamma(Val x);

}  // namespace strata::kernel
