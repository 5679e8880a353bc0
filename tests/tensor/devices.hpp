/// Runs each test of a suite on every device of this build.
#pragma once

#include <gtest/gtest.h>

#include "strata/strata.hpp"

namespace strata::test {

class OnEveryDevice : public testing::TestWithParam<const char*> {
 protected:
  Device device() const { return Device::named(GetParam()); }
};

inline std::string device_test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name;
  for (const char* c = info.param; *c; ++c) {
    if (std::isalnum(static_cast<unsigned char>(*c))) name += *c;
  }
  return name;
}

#define STRATA_ON_EVERY_DEVICE(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(Devices, suite,                                                      \
                           testing::Values("flex", "flex.autodiff()", "cpu", "cpu.autodiff()"), \
                           ::strata::test::device_test_name)

}  // namespace strata::test
