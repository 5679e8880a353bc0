#include <gtest/gtest.h>

#include "autodiff/gradient_check.hpp"
#include "fusion/backends.hpp"

namespace strata::testing {
namespace {

using Parameters = std::tuple<GradientCase, Checkpointing>;
class LazyGradient : public ::testing::TestWithParam<Parameters> {};

TEST_P(LazyGradient, FirstDerivativesEqualCentralDifferences) {
  const auto& [c, checkpointing] = GetParam();
  expect_gradients(fusion::test::fused(), c, checkpointing);
}

TEST_P(LazyGradient, SecondDerivativesEqualCentralDifferencesOfTheFirst) {
  const auto& [c, checkpointing] = GetParam();
  expect_second_derivatives(fusion::test::fused(), c, checkpointing);
}

std::string name_of_parameters(const ::testing::TestParamInfo<Parameters>& parameters) {
  const auto& [c, checkpointing] = parameters.param;
  return c.name + (checkpointing == Checkpointing::balanced ? "_balanced" : "_disabled");
}
INSTANTIATE_TEST_SUITE_P(Families, LazyGradient,
                         ::testing::Combine(::testing::ValuesIn(gradient_cases()),
                                            ::testing::Values(Checkpointing::disabled,
                                                              Checkpointing::balanced)),
                         name_of_parameters);

}  // namespace
}  // namespace strata::testing
