#include "conformance/layout_cases.hpp"
#include "flex/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Flex, LayoutConformance, flex_places(), place_name);

}  // namespace strata::conformance
