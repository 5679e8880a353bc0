/// Target machines, passes and emission.
#pragma once

#include <string>

#include "codegen/compiler.hpp"

namespace strata::codegen {

/// Process-wide settings of LLVM; before anything else, once.
void initialise_llvm();

/// The kernel as code of `format`. Throws LoweringError.
std::string generate(const kernel::Kernel& kernel, const Target& target, Format format,
                     const Options& options);

}  // namespace strata::codegen
