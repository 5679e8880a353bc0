/// Where data-driven cases run.
#pragma once

#include "conformance/reference.hpp"
#include "cube/cube_backend.hpp"
#include "flex/flex.hpp"
#include "fusion/backends.hpp"
#include "runtime/cpu/cpu_client.hpp"

namespace strata::conformance {

/// Flex, kernels one by one, and the lazy stack with and without fusing.
inline std::vector<Place> all_places() {
  return {{"flex", []() -> Backend& { return flex::instance(); }},
          {"cube",
           []() -> Backend& {
             static auto* cube = new cube::CubeBackend(runtime::cpu::client(), flex::execute_on_host);
             return *cube;
           }},
          {"unfused", []() -> Backend& { return fusion::test::unfused(); }},
          {"fused", []() -> Backend& { return fusion::test::fused(); }}};
}

}  // namespace strata::conformance
