#include "conformance/matmul_cases.hpp"
#include "flex/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Flex, MatmulConformance, every_target(), place_name);

}  // namespace strata::conformance
