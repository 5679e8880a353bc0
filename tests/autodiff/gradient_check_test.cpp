#include "gradient_check.hpp"

#include <gtest/gtest.h>

#include "flex/flex.hpp"
#include "reference_backend.hpp"

namespace strata::testing {
namespace {

struct Home {
  std::string name;
  std::function<backend::Backend&()> backend;
};

backend::Backend& reference() {
  static ReferenceBackend instance;
  return instance;
}

backend::Backend& flex_backend() { return flex::instance(); }

using Parameters = std::tuple<Home, GradientCase, Checkpointing>;

class GradientCheck : public ::testing::TestWithParam<Parameters> {
 protected:
  backend::Backend& home() const { return std::get<0>(GetParam()).backend(); }
  const GradientCase& gradient_case() const { return std::get<1>(GetParam()); }
  Checkpointing checkpointing() const { return std::get<2>(GetParam()); }
};

TEST_P(GradientCheck, FirstDerivativesEqualCentralDifferences) {
  expect_gradients(home(), gradient_case(), checkpointing());
}

TEST_P(GradientCheck, SecondDerivativesEqualCentralDifferencesOfTheFirst) {
  expect_second_derivatives(home(), gradient_case(), checkpointing());
}

using NarrowParameters = std::tuple<Home, GradientCase, DType>;

class NarrowGradientCheck : public ::testing::TestWithParam<NarrowParameters> {};

TEST_P(NarrowGradientCheck, AgreesWithDoubles) {
  const auto& [home, c, dtype] = GetParam();
  expect_gradients_in(home.backend(), c, dtype);
}

std::string name_of_parameters(const ::testing::TestParamInfo<Parameters>& info) {
  const auto& [home, c, checkpointing] = info.param;
  return home.name + "_" + c.name + (checkpointing == Checkpointing::balanced ? "_balanced" : "");
}

std::string name_of_narrow(const ::testing::TestParamInfo<NarrowParameters>& info) {
  const auto& [home, c, dtype] = info.param;
  return home.name + "_" + c.name + "_" + std::string(name_of(dtype));
}

const auto homes = ::testing::Values(Home{"reference", reference}, Home{"flex", flex_backend});

INSTANTIATE_TEST_SUITE_P(Families, GradientCheck,
                         ::testing::Combine(homes, ::testing::ValuesIn(gradient_cases()),
                                            ::testing::Values(Checkpointing::disabled,
                                                              Checkpointing::balanced)),
                         name_of_parameters);
INSTANTIATE_TEST_SUITE_P(Families, NarrowGradientCheck,
                         ::testing::Combine(homes, ::testing::ValuesIn(gradient_cases()),
                                            ::testing::Values(DType::f32, DType::f16, DType::bf16)),
                         name_of_narrow);

}  // namespace
}  // namespace strata::testing
