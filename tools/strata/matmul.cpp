#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "strata/strata.hpp"

namespace strata::tool {
namespace {

/// Rank and kind are known only at run time here, so this works on values, below the typed façade.
detail::ValueRef load(const std::string& path, const Device& device) {
  return detail::from_data(load_npy(path), device);
}

}  // namespace

int matmul(const Global& global, const MatmulOptions& options) {
  const Device device = options.device.empty() ? Device() : Device::named(options.device);
  const auto a = load(options.a, device), b = load(options.b, device);
  const auto start = Clock::now();
  TensorData product;
  {
    const Progress progress("multiplying");
    product = detail::into_data(detail::matmul(a, b));
  }
  const double seconds = seconds_since(start);
  save_npy(options.out, product);
  const auto type = std::string(name_of(product.dtype())) + product.shape().to_string();
  if (global.json) {
    nlohmann::json out{
        {"output", options.out}, {"type", type}, {"device", device.name()}, {"seconds", seconds}};
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}: {} in {} on {}\n", options.out, type, format_seconds(seconds), device.name());
  }
  return 0;
}

}  // namespace strata::tool
