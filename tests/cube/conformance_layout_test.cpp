#include "conformance/layout_cases.hpp"
#include "cube/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Cube, LayoutConformance, cube_places(), place_name);

}  // namespace strata::conformance
