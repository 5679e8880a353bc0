/// Kernels that callers wrote.
#pragma once

#include "cube/cube_backend.hpp"

namespace strata::cube {

backend::Values custom_kernel(CubeBackend& backend, const op::CustomKernel& op, backend::Inputs inputs,
                              const op::TensorTypes& types);

}  // namespace strata::cube
