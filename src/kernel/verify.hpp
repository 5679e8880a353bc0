/// Checks that a kernel is well formed.
#pragma once

#include "kernel/ir.hpp"

namespace strata::kernel {

/// Throws CompileError, naming the kernel, the instruction and the reason, unless: every opcode has the
/// operands, types, memory and regions that ir.hpp gives it; every value is defined once and used only where
/// its definition dominates; memories and parameters exist (global buffers first); read-only buffers are not
/// written; `barrier` stands only where all units of the cube come by together, as far as that shows in the
/// code (not below a condition or a loop bound that depends on the unit or on memory a unit may have
/// changed). O(instructions).
void verify(const Kernel& kernel);

}  // namespace strata::kernel
