/// Kernels that callers wrote, run by the client of this machine's CPU while the caller waits.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

backend::Values run(const op::CustomKernel& op, backend::Inputs inputs, const op::TensorTypes& types);

}  // namespace strata::flex
