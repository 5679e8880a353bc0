#include "conformance/creation_cases.hpp"
#include "cube/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Cube, CreationConformance, cube_places(), place_name);

}  // namespace strata::conformance
