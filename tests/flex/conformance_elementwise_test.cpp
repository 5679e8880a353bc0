#include "conformance/elementwise_cases.hpp"
#include "flex/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Flex, ElementwiseConformance, every_target(), place_name);

}  // namespace strata::conformance
