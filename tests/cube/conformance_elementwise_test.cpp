#include "conformance/elementwise_cases.hpp"
#include "cube/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Cube, ElementwiseConformance, cube_places(), place_name);

}  // namespace strata::conformance
