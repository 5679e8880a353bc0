/// Runs each test of a suite on every device of this build.
#pragma once

#include <gtest/gtest.h>

#include "strata/strata.hpp"

namespace strata::test {

/// Skipped, saying why, on a device that this machine lacks.
class OnEveryDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (const auto& known : Device::list()) {
      if (!known.available && std::string_view(GetParam()).starts_with(known.name))
        GTEST_SKIP() << known.name << " is " << known.description;
    }
  }
  Device device() const { return Device::named(GetParam()); }
};

inline std::string device_test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name;
  for (const char* c = info.param; *c; ++c) {
    if (std::isalnum(static_cast<unsigned char>(*c))) name += *c;
  }
  return name;
}

#define STRATA_ON_DEVICES(suite, ...) \
  INSTANTIATE_TEST_SUITE_P(Devices, suite, testing::Values(__VA_ARGS__), ::strata::test::device_test_name)
#define STRATA_ON_EVERY_DEVICE(suite) \
  STRATA_ON_DEVICES(suite, "flex", "flex.autodiff()", "cpu", "cpu.autodiff()", "cuda:0", "cuda:0.autodiff()")
/// For suites that put autodiff on top themselves.
#define STRATA_ON_EVERY_BARE_DEVICE(suite) STRATA_ON_DEVICES(suite, "flex", "cpu", "cuda:0")

}  // namespace strata::test
