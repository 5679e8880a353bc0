#include "conformance/matmul_cases.hpp"
#include "flex/flex.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Flex, MatmulConformance,
                         testing::Values(Place{"flex", []() -> Backend& { return flex::instance(); }}),
                         place_name);

}  // namespace strata::conformance
