#include "conformance/reduce_cases.hpp"
#include "cube/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Cube, ReduceConformance, cube_places(), place_name);

}  // namespace strata::conformance
