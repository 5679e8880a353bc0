#include "fuzz/fuzzer/devices.hpp"

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "flex/flex.hpp"
#include "fusion/backends.hpp"
#include "interpreted/client.hpp"
#include "runtime/cuda/cuda_client.hpp"
#include "strata/error.hpp"

namespace strata::fuzz {

void prepare_process() {
  setenv("STRATA_TUNE", "off", 1);
  if (std::getenv("STRATA_CACHE_DIR")) return;
  static const auto folder =
      std::filesystem::temp_directory_path() / ("strata-fuzz-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  setenv("STRATA_CACHE_DIR", folder.c_str(), 1);
  std::atexit([] {
    std::error_code ignored;  // a folder left behind harms nobody
    std::filesystem::remove_all(folder, ignored);
  });
}

namespace {

void add_stacks(Rig& rig, backend::Backend& fused, backend::Backend& unfused) {
  rig.add("fused", fused);
  rig.add("unfused", unfused);
  rig.add("autodiff over fused", fused, true);
  rig.every(3);
  rig.add("autodiff over unfused", unfused, true);
  rig.every(6);
}

backend::Backend& interpreted_gpu(bool fuse) {
  // Each has one thread, which must be the only one of its client.
  return fusion::test::make(*new interpreted::Client(interpreted::gpu_properties()), fuse);
}

}  // namespace

void add_device(Rig& rig, std::string_view device) {
  if (device == "flex") return rig.add("flex", flex::instance());
  if (device == "cpu") return add_stacks(rig, fusion::test::fused(), fusion::test::unfused());
  if (device == "interpreted") return add_stacks(rig, interpreted_gpu(true), interpreted_gpu(false));
  if (device == "cuda") {
    auto& gpu = runtime::cuda::client(0);
    return add_stacks(rig, fusion::test::make(gpu, true), fusion::test::make(gpu, false));
  }
  throw ArgumentError("[fuzz] there is no device \"" + std::string(device) +
                      "\"; there are \"cpu\", \"cuda\", \"interpreted\" and \"flex\"");
}

}  // namespace strata::fuzz
