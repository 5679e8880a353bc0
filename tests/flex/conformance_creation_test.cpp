#include "conformance/creation_cases.hpp"
#include "flex/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Flex, CreationConformance, every_target(), place_name);

}  // namespace strata::conformance
