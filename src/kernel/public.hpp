/// What stands behind the public kernel type.
#pragma once

#include "kernel/ir.hpp"
#include "strata/kernel.hpp"

namespace strata::inline v0::lang::detail {

struct KernelImpl {
  strata::kernel::Kernel ir;
};

}  // namespace strata::inline v0::lang::detail
