/// ArgSort on devices whose units are their parallelism. Elements become integers of the same order (Knuth,
/// The Art of Computer Programming 5.2: sorting by keys), joined with their index, so that no two are equal
/// and any sort is stable. A cube sorts a chunk in its shared memory by Batcher's bitonic network ("Sorting
/// networks and their applications", 1968); longer lines are then merged pass by pass, each cube one tile of
/// the result, cut out by merge path (Green, McColl and Bader, "GPU merge path", ICS 2012).
#pragma once

#include "cube/cube_backend.hpp"

namespace strata::cube {

CubeRef arg_sort(CubeBackend& backend, const op::ArgSort& op, const CubeRef& input,
                 const op::TensorType& type);

}  // namespace strata::cube
