/// Where the conformance suites run for flex: once as the processor likes it, and once forced to each
/// instruction set that the kernels were compiled for and this processor has.
#pragma once

#include <hwy/targets.h>

#include "conformance/reference.hpp"
#include "flex/flex.hpp"

namespace strata::conformance {

inline Place flex_place(std::string name, std::int64_t targets) {
  return {std::move(name), [targets]() -> Backend& {
            hwy::SetSupportedTargetsForTest(targets);  // 0: what the processor has
            hwy::GetChosenTarget().Update(hwy::SupportedTargets());
            return flex::instance();
          }};
}

inline auto flex_places() { return testing::Values(flex_place("flex", 0)); }

inline auto every_target() {
  hwy::SetSupportedTargetsForTest(0);
  std::vector<Place> places{flex_place("flex", 0), flex_place("flex_scalar", HWY_SCALAR)};
  if (hwy::SupportedTargets() & HWY_AVX2) places.push_back(flex_place("flex_avx2", HWY_AVX2));
  return testing::ValuesIn(places);
}

}  // namespace strata::conformance
