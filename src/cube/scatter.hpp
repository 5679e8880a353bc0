/// Scatter on devices whose units are their parallelism, with one result whatever order units run in.
/// Integers are added and compared by atomics. Else the entries of each line are put in the order of their
/// indices, stably: then one unit finds all entries of a target side by side, in the order in which they take
/// effect.
#pragma once

#include "cube/cube_backend.hpp"
#include "op/index.hpp"

namespace strata::cube {

CubeRef scatter(CubeBackend& backend, const op::Scatter& op, const CubeRef& x, const CubeRef& index,
                const CubeRef& source, const op::TensorType& type);

}  // namespace strata::cube
