// Random programs on every stack of every device: a short run of what strata_fuzz does for long.
#include <gtest/gtest.h>

#include "flex/flex.hpp"
#include "fuzz/fuzzer/devices.hpp"
#include "fuzz/fuzzer/session.hpp"
#include "runtime/cuda/driver.hpp"

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

/// What kernels are for a GPU, on any machine.
TEST(Fuzz, AnInterpretedGpuAgreesWithFlexOnRandomPrograms) {
  prepare_process();
  Rig rig(flex::instance());
  add_device(rig, "interpreted");
  SessionSettings settings;
  settings.programs = 60;
  const auto report = fuzz(rig, settings);
  EXPECT_TRUE(report.good()) << report.to_string();
}

TEST(Fuzz, AMissingGpuIsSaidToBeMissing) {
  if (runtime::cuda::availability(0).available) GTEST_SKIP() << "there is one";
  Rig rig(flex::instance());
  try {
    add_device(rig, "cuda");
    FAIL() << "no error";
  } catch (const DeviceError& e) {
    EXPECT_EQ(std::string_view(e.what()).substr(0, 6), "cuda: ") << e.what();
  }
}

TEST(Fuzz, TheGpuAgreesWithFlexOnRandomPrograms) {
  const auto gpu = runtime::cuda::availability(0);
  if (!gpu.available) GTEST_SKIP() << "cuda: " << gpu.description;
  prepare_process();
  Rig rig(flex::instance());
  add_device(rig, "cuda");
  SessionSettings settings;
  settings.programs = 200;
  const auto report = fuzz(rig, settings);
  EXPECT_TRUE(report.good()) << report.to_string();
}

TEST(Fuzz, UnknownDevicesAreRefused) {
  Rig rig(flex::instance());
  EXPECT_THROW(add_device(rig, "abacus"), ArgumentError);
}

}  // namespace
}  // namespace strata::fuzz
