/// Where the conformance suites run for the cube backend: compiled for this CPU, and in the forms for a GPU,
/// interpreted.
#pragma once

#include "conformance/reference.hpp"
#include "cube/harness.hpp"

namespace strata::conformance {

inline auto cube_places() {
  return testing::Values(Place{"cube_cpu", []() -> Backend& { return cube::test::cpu_cube(); }},
                         Place{"cube_gpu", []() -> Backend& { return cube::test::gpu_cube(); }});
}

}  // namespace strata::conformance
