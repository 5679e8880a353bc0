#include "conformance/reduce_cases.hpp"
#include "cube/places.hpp"

namespace strata::conformance {

// On the CPU only: interpreting 2^31 elements takes minutes. kernel_forms_test.cpp runs the forms for a GPU.
INSTANTIATE_TEST_SUITE_P(Cube, ReduceConformance,
                         testing::Values(Place{"cube_cpu",
                                               []() -> Backend& { return cube::test::cpu_cube(); }}),
                         place_name);

}  // namespace strata::conformance
