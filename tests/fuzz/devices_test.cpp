// Random programs on every stack of every device: a short run of what strata_fuzz does for long.
#include <gtest/gtest.h>

#include "flex/flex.hpp"
#include "fuzz/fuzzer/devices.hpp"
#include "fuzz/fuzzer/session.hpp"

namespace strata::fuzz {
namespace {

TEST(Fuzz, TheCpuDeviceAgreesWithFlexOnRandomPrograms) {
  prepare_process();
  Rig rig(flex::instance());
  add_device(rig, "cpu");
  SessionSettings settings;
  settings.seed = 1'000'000;
  settings.programs = 400;
  const auto report = fuzz(rig, settings);
  EXPECT_TRUE(report.good()) << report.to_string();
}

TEST(Fuzz, UnknownDevicesAreRefused) {
  Rig rig(flex::instance());
  EXPECT_THROW(add_device(rig, "abacus"), ArgumentError);
}

}  // namespace
}  // namespace strata::fuzz
