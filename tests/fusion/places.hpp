/// Where the conformance suites run for the fusion layer.
#pragma once

#include "conformance/reference.hpp"
#include "fusion/backends.hpp"

namespace strata::conformance {

inline auto fusion_places() {
  return testing::Values(Place{"fused", []() -> Backend& { return fusion::test::fused(); }},
                         Place{"unfused", []() -> Backend& { return fusion::test::unfused(); }});
}

}  // namespace strata::conformance
