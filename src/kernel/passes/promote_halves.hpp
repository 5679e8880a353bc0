/// Arithmetic on f16 and bf16 in f32.
///
/// Every operation that computes on half values becomes: convert the operands to f32, compute, round the
/// result to the half type. Rounding after *every* operation is what makes a fused block give the very bits
/// of its parts run one by one; it also spares the code generators half arithmetic, which few targets have.
/// Afterwards half values are only moved: constant, load, store, gather, scatter, bitcast, select, splat,
/// extract, insert, shuffle and plane shuffles, and converted from and to f32: conversions from or to other
/// types go through f32, the rule of Cast (base/convert.hpp).
///
/// A reduction of a half vector, or over a plane, is done in f32 and rounded once. Run before lower_math.
#pragma once

#include "kernel/ir.hpp"

namespace strata::kernel {

Kernel promote_halves(Kernel kernel);

}  // namespace strata::kernel
