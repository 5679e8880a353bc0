/// Cumulative on devices whose units are their parallelism.
///
/// columns: a unit walks along a line, its neighbours along the next ones. rows: the units of a cube scan a
/// line tile by tile, each some neighbouring elements, then planes by shuffles, then the cube in shared
/// memory. Where few lines hide much work they are cut into parts: a first kernel writes the parts' totals,
/// and a part of the second starts from those before it (reduce-then-scan: Merrill and Grimshaw, "Parallel
/// scan for stream architectures", 2009). How lines are cut depends on shapes only.
#pragma once

#include "cube/cube_backend.hpp"

namespace strata::cube {

CubeRef cumulative(CubeBackend& backend, const op::Cumulative& op, const CubeRef& input,
                   const op::TensorType& type);

}  // namespace strata::cube
