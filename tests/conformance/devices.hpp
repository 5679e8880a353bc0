/// Where data-driven cases run.
#pragma once

#include "conformance/reference.hpp"
#include "cube/cube_backend.hpp"
#include "flex/flex.hpp"
#include "fusion/backends.hpp"
#include "interpreted/client.hpp"
#include "runtime/cpu/cpu_client.hpp"
#include "runtime/cuda/cuda_client.hpp"

namespace strata::conformance {

/// Why there is no GPU to test on; empty where there is one.
inline const std::string& no_gpu() {
  static const auto gpu = runtime::cuda::availability(0);
  static const std::string reason = gpu.available ? "" : "cuda: " + gpu.description;
  return reason;
}

/// Flex, kernels one by one, the lazy stack with and without fusing, and a GPU's kernels without a GPU.
inline std::vector<Place> all_places() {
  const auto cube_on = []<class Client>(Client& client) -> Backend& {
    return *new cube::CubeBackend(client, flex::execute_on_host);
  };
  return {{"flex", []() -> Backend& { return flex::instance(); }},
          {"cube",
           [=]() -> Backend& {
             static auto& cube = cube_on(runtime::cpu::client());
             return cube;
           }},
          {"unfused", []() -> Backend& { return fusion::test::unfused(); }},
          {"fused", []() -> Backend& { return fusion::test::fused(); }},
          {"interpreted",
           [=]() -> Backend& {
             static auto& cube = cube_on(*new interpreted::Client(interpreted::gpu_properties()));
             return cube;
           },
           {},
           true},
          {"cuda",
           [=]() -> Backend& {
             static auto& cube = cube_on(runtime::cuda::client(0));
             return cube;
           },
           no_gpu()},
          {"cuda_fused",
           []() -> Backend& {
             static auto* cube = new cube::CubeBackend(runtime::cuda::client(0), flex::execute_on_host);
             static auto* fused = new fusion::Fusion(*cube, "DSU-cuda:0");
             return *fused;
           },
           no_gpu()}};
}

}  // namespace strata::conformance
