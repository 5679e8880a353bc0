/// ArgReduce on devices whose units are their parallelism. Each unit keeps the best (value, index) pair of
/// the elements it reads; pairs are joined by a total order (value, then index, NaN first), so how the work
/// is cut does not show in the result. Where few lines hide much work, a first kernel writes the pairs of
/// parts of lines, which a second one joins.
#pragma once

#include "cube/cube_backend.hpp"

namespace strata::cube {

CubeRef arg_reduce(CubeBackend& backend, const op::ArgReduce& op, const CubeRef& input,
                   const op::TensorType& type);

}  // namespace strata::cube
