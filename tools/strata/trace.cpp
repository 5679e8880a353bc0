#include "strata/trace.hpp"

#include <optional>

#include <fmt/format.h>

#include "commands.hpp"
#include "output.hpp"
#include "strata/strata.hpp"

namespace strata::tool {

int trace(const Global&, const TraceOptions& options) {
  const auto [m, n, k] = parse_shape(options.shape);
  const auto device = Device::named(options.device);
  const auto a = Tensor<2>::random({m, k}, device), b = Tensor<2>::random({k, n}, device);
  a.matmul(b).into_data();  // the trace shows a matmul, not the start of a device
  {
    const auto sink = options.chrome.empty() ? strata::trace::print_to(stdout)
                                             : strata::trace::write_chrome_json(options.chrome);
    a.matmul(b).into_data();
  }
  if (!options.chrome.empty()) fmt::print("{} written; open it in https://ui.perfetto.dev\n", options.chrome);
  return 0;
}

}  // namespace strata::tool
