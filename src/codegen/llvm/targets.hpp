/// The targets of the lowering.
#pragma once

#include "codegen/llvm/lowering.hpp"

namespace strata::codegen {

/// Instructions the host lowering uses by name.
struct HostFeatures {
  bool f16c = false;
  bool avx512 = false;  ///< F, VL and DQ
};

/// `kernel` has one unit a cube. Throws LoweringError.
void lower_for_host(const kernel::Kernel& kernel, llvm::Module& module, const HostFeatures& features);

/// Throws LoweringError.
void lower_for_ptx(const kernel::Kernel& kernel, llvm::Module& module);

}  // namespace strata::codegen
