/// Gather on devices whose units are their parallelism: units lie along the innermost axis of the result,
/// then across its rows. Where one index serves a whole row, the row is copied by vectors.
#pragma once

#include "cube/cube_backend.hpp"
#include "op/index.hpp"

namespace strata::cube {

CubeRef gather(CubeBackend& backend, const op::Gather& op, const CubeRef& x, const CubeRef& index,
               const op::TensorType& type);

}  // namespace strata::cube
