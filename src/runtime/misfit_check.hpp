/// Accesses of a caller's kernel beyond its memories, which the kernel skips and reports.
#pragma once

#include <span>
#include <string_view>

#include "runtime/client.hpp"
#include "strata/kernel.hpp"

namespace strata::runtime {

/// For a launch of `kernel` on `buffers`, one for each tensor argument. The error is an IndexError.
CheckRef misfit_check(const lang::Kernel& kernel, std::span<const BufferRef> buffers,
                      std::string_view device);

}  // namespace strata::runtime
