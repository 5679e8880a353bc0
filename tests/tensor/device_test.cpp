#include <unordered_set>

#include "tensor/devices.hpp"

namespace strata {
namespace {

TEST(Device, NameSpellsTheLayersOfACall) {
  EXPECT_EQ(Device::flex().name(), "dispatch<flex>");
  EXPECT_EQ(Device::flex().autodiff().name(), "dispatch<autodiff<flex>>");
  EXPECT_EQ(Device::cpu().name(), "dispatch<fusion<cube<cpu<llvm>>>>");
  EXPECT_EQ(Device::cpu().autodiff().name(), "dispatch<autodiff<fusion<cube<cpu<llvm>>>>>");
  EXPECT_EQ(Device::flex().autodiff().autodiff().name(), "dispatch<autodiff<autodiff<flex>>>");
}

TEST(Device, PrintsItsStructure) {
  EXPECT_EQ(Device::flex().to_string(), "Device(Flex)");
  EXPECT_EQ(Device::cpu().autodiff(Checkpointing::balanced).to_string(),
            "Device(Autodiff { device: Cpu, checkpointing: balanced })");
}

TEST(Device, EqualityAndHashFollowTheStack) {
  EXPECT_EQ(Device::flex(), Device::flex());
  EXPECT_EQ(Device::cpu().autodiff(), Device::cpu().autodiff());
  EXPECT_NE(Device::cpu(), Device::cpu().autodiff());
  EXPECT_NE(Device::cpu().autodiff(), Device::cpu().autodiff(Checkpointing::balanced));
  EXPECT_EQ(Device::cpu().autodiff().inner(), Device::cpu());
  const std::unordered_set<Device> set{Device::flex(), Device::flex(), Device::cpu()};
  EXPECT_EQ(set.size(), 2u);
}

TEST(Device, UnknownNamesAndMissingLayersAreDeviceErrors) {
  EXPECT_THROW(Device::named("quantum"), DeviceError);
  EXPECT_THROW(Device::named("flex.autodif()"), DeviceError);
  EXPECT_THROW(Device::flex().inner(), DeviceError);
  try {
    Device::named("quantum");
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("flex"), std::string::npos) << e.what();
  }
}

TEST(Device, AGpuIsThereOrSaysWhyNot) {
  for (const char* nonsense : {"cuda:", "cuda:x", "cuda:-1", "cuda:1000", "cuda:0.autodif()"})
    EXPECT_THROW(Device::named(nonsense), DeviceError) << nonsense;
  const auto list = Device::list();
  const auto listed =
      std::find_if(list.begin(), list.end(), [](const auto& d) { return d.name == "cuda:0"; });
  ASSERT_NE(listed, list.end());
  if (listed->available) {
    EXPECT_EQ(Device::cuda(0).name(), "dispatch<fusion<cube<cuda<ptx>>>>");
    EXPECT_EQ(Device::named("cuda"), Device::cuda());
    return;
  }
  EXPECT_EQ(listed->description.find("unavailable: "), 0u);
  try {
    Device::cuda(0);
    FAIL();
  } catch (const DeviceError& e) {
    const auto reason = listed->description.substr(std::string("unavailable: ").size());
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
  }
}

TEST(Device, ListsWhatThisBuildKnows) {
  const auto list = Device::list();
  ASSERT_GE(list.size(), 2u);
  EXPECT_EQ(list[0].name, "flex");
  for (const auto& entry : list) {
    EXPECT_FALSE(entry.description.empty());
    if (entry.available) {
      EXPECT_NO_THROW(Device::named(entry.name));
    }
  }
}

TEST(Device, TensorsMoveBetweenDevices) {
  const auto a = Tensor<2>::from({{1, 2}, {3, 4}}, Device::flex());
  const auto b = a.to_device(Device::cpu());
  EXPECT_EQ(b.device(), Device::cpu());
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  const auto c = b.to_device(Device::flex().autodiff());
  EXPECT_EQ(c.device(), Device::flex().autodiff());
  EXPECT_FALSE(c.is_tracked());
  EXPECT_EQ(c.to_device(Device::flex()).to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Device, MovingATrackedTensorAwayIsRefusedRatherThanCuttingItsGraph) {
  const auto x = Tensor<1>::ones({2}, Device::flex().autodiff()).require_grad();
  EXPECT_THROW((x * 2.0).to_device(Device::cpu()), UserError);
  EXPECT_NO_THROW(x.detach().to_device(Device::cpu()));
}

TEST(Device, MixedDevicesAreAnErrorNamingBothAndQueueNothing) {
  const auto a = Tensor<2>::ones({2, 2}, Device::flex());
  const auto b = Tensor<2>::ones({2, 2}, Device::cpu());
  try {
    a.matmul(b);
    FAIL() << "no error";
  } catch (const DeviceError& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("[matmul]"), std::string::npos) << what;
    EXPECT_NE(what.find("flex"), std::string::npos) << what;
    EXPECT_NE(what.find("cube<cpu<llvm>>"), std::string::npos) << what;
    EXPECT_NE(what.find("f32[2, 2]"), std::string::npos) << what;
  }
}

TEST(Device, TensorsMoveBetweenGpus) {
  for (const char* name : {"cuda:0", "cuda:1"}) {
    try {
      Device::named(name);
    } catch (const DeviceError& e) {
      GTEST_SKIP() << e.what();
    }
  }
  const auto there = Device::cuda(1);
  const auto x = Tensor<2>::random({512, 700}, -1, 1, Device::cuda(0));
  const auto y = x.transpose() * 2, moved = y.to_device(there);
  EXPECT_EQ(moved.device(), there);
  EXPECT_EQ(moved.to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ((moved + 1).to_device(Device::cuda(0)).to_vector<float>(), (y + 1).to_vector<float>());
}

}  // namespace
}  // namespace strata
