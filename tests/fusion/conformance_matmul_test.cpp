#include "conformance/matmul_cases.hpp"
#include "fusion/places.hpp"

namespace strata::conformance {

INSTANTIATE_TEST_SUITE_P(Fusion, MatmulConformance, fusion_places(), place_name);

}  // namespace strata::conformance
