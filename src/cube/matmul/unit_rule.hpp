/// The part of the rule that is for devices of many units (see rule.hpp); k is not 0.
///
/// Few rows go to gemv, unless matrix units have enough to do with them. Else the largest tile is best that
/// still gives every multiprocessor a cube, or where there is none a small one with k split.
#pragma once

#include <vector>

#include "cube/matmul/rule.hpp"

namespace strata::cube::matmul {

Schedule favourite_of_units(const Problem& p, const Machine& machine);
/// Most promising first.
std::vector<Schedule> candidates_of_units(const Problem& p, const Machine& machine);

}  // namespace strata::cube::matmul
