/// Element-wise functions of the language that are no opcodes: compositions of its arithmetic and of
/// math_parts.hpp, so that every target gives the same bits.
///
/// Arguments are f32 or f64 of any lane count; halves are computed in f32 and rounded once. Special values
/// are those of C's library; NaN gives NaN. Largest errors measured against long double, in ULP of the
/// result:
///
///     function            f32    f64    range of the statement
///     exp2                ERR
#pragma once

#include "kernel/builder.hpp"

namespace strata::kernel {

Val exp2(Val x);
/// Exact for whole powers of two.
Val log2(Val x);
Val log10(Val x);

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

/// x erfc(-x / sqrt(2)) / 2: exact to the last places in both tails; -0 at -infinity.
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
