#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "strata/device.hpp"

namespace strata::tool {

int devices(const Global& global) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& d : Device::list()) {
    const std::string layers = d.available ? std::string(Device::named(d.name).name()) : "unavailable";
    out.push_back(
        {{"name", d.name}, {"available", d.available}, {"layers", layers}, {"description", d.description}});
    if (!global.json) fmt::print("{:8} {:40} {}\n", d.name, layers, d.description);
  }
  if (global.json) fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace strata::tool
