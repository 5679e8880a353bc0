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

std::string name_of_parameters(const ::testing::TestParamInfo<Parameters>& info) {
  const auto& [home, c, checkpointing] = info.param;
  return home.name + "_" + c.name + (checkpointing == Checkpointing::balanced ? "_balanced" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Families, GradientCheck,
    ::testing::Combine(::testing::Values(Home{"reference", reference}, Home{"flex", flex_backend}),
                       ::testing::ValuesIn(gradient_cases()),
                       ::testing::Values(Checkpointing::disabled, Checkpointing::balanced)),
    name_of_parameters);

}  // namespace
}  // namespace strata::testing
