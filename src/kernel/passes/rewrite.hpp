/// Instruction-by-instruction rewriting, the frame of the expanding passes.
#pragma once

#include <functional>
#include <optional>

#include "kernel/builder.hpp"

namespace strata::kernel {

/// Sees an instruction with its operands renamed; records its replacement with the language's functions and
/// returns the value that stands for the result, or nullopt to keep the instruction.
using RewriteRule = std::function<std::optional<Val>(const Instruction&)>;

/// The kernel with `rule` applied to every instruction outside control flow, bodies included. Constants move
/// to the front and unused ones go.
Kernel rewrite(Kernel kernel, const RewriteRule& rule);

}  // namespace strata::kernel
