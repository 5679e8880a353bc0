#include "fuzz/fuzzer/devices.hpp"

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "flex/flex.hpp"
#include "fusion/backends.hpp"
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

void add_device(Rig& rig, std::string_view device) {
  if (device == "flex") return rig.add("flex", flex::instance());
  if (device != "cpu")
    throw ArgumentError("[fuzz] there is no device \"" + std::string(device) +
                        "\"; there are \"cpu\" and \"flex\"");
  rig.add("fused", fusion::test::fused());
  rig.add("unfused", fusion::test::unfused());
  rig.add("autodiff over fused", fusion::test::fused(), true);
  rig.every(3);
  rig.add("autodiff over unfused", fusion::test::unfused(), true);
  rig.every(6);
}

}  // namespace strata::fuzz
