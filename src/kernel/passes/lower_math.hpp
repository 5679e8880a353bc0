/// Transcendental functions as polynomials.
///
/// Replaces exp, log, tanh, sin, cos, log1p, expm1 and erf by arithmetic, because a call to a vector library
/// spills every vector register (2.5-3.5 times slower than the polynomial in the middle of an element-wise
/// chain) and PTX has no library at all: the same arithmetic gives the same bits on every target with fused
/// multiply-add.
///
/// Largest errors measured against long double, in ULP of the result; NaN gives NaN, infinities and zeros
/// (with their signs) what C's library gives, subnormals are kept unless the table says otherwise:
///
///     function   f32    f64    range of the statement
///     exp        1.1    1.1    all
///     expm1      1.6    2.2    all
///     log        1.0    1.0    all
///     log1p      1.0    1.0    all
///     tanh       2.5    2.5    all
///     sin, cos   2.0    1.6    |x| <= 2^20 (f32), 2^30 (f64); beyond: finite, in [-1, 1], not accurate
///     erf        1.2    1.1    all
///
/// With approximate units (GPUs) f32 takes less: exp 3.1 and tanh 4.0 ULP.
///
/// Halves are computed in f32 and rounded once.
#pragma once

#include "kernel/expand_math.hpp"
#include "kernel/ir.hpp"

namespace strata::kernel {

Kernel lower_math(Kernel kernel, MathUnits units = MathUnits::none);

}  // namespace strata::kernel
