/// The transcendental opcodes as arithmetic of the language; see passes/lower_math.hpp for the errors.
#pragma once

#include "kernel/builder.hpp"

namespace strata::kernel {

/// What a target computes f32 functions with besides arithmetic.
enum class MathUnits : std::uint8_t {
  none,
  approximate,  ///< exp2_fast, recip_fast
};

/// Records `op(x)` for an opcode of is_math without using any; x of f32 or f64, or of a half type, which is
/// computed in f32 and rounded once.
Val expand_math(Opcode op, Val x, MathUnits units = MathUnits::none);

}  // namespace strata::kernel
