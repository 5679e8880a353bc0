#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "strata/strata.hpp"

namespace strata::tool {
namespace {

/// Medians of paired runs, ours and the peer's in turn.
struct Pair {
  double ours = 0, peer = 0, ratio = 0;
};

template <class A, class B>
Pair measure(A&& ours, B&& peer, int rounds) {
  std::vector<double> a, b, ratio;
  const auto timed = [](auto&& f) {
    const auto start = Clock::now();
    f();
    return seconds_since(start);
  };
  ours();
  peer();
  for (int i = 0; i < rounds; ++i) {
    a.push_back(timed(ours));
    b.push_back(timed(peer));
    ratio.push_back(b.back() / a.back());
  }
  const auto median = [](std::vector<double>& v) {
    std::ranges::nth_element(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2));
    return v[v.size() / 2];
  };
  return {median(a), median(b), median(ratio)};
}

}  // namespace

int bench(const Global& global, const BenchOptions& options) {
  if (options.op != "matmul") throw ArgumentError(fmt::format("bench knows matmul, not \"{}\"", options.op));
  if (parse_dtype(options.dtype) != DType::f32) {
    throw ArgumentError(
        "bench compares f32 with oneDNN's sgemm; the other dtypes are measured by ./dev bench");
  }
  std::vector<Device> devices;
  for (const auto& d : Device::list()) {
    if (d.available && (options.device.empty() || options.device == d.name))
      devices.push_back(Device::named(d.name));
  }
  if (devices.empty()) devices.push_back(Device::named(options.device));
  nlohmann::json rows = nlohmann::json::array();
  if (!global.json) {
    fmt::print(
        "matmul f32 n x n, whole calls until the product is there; the peer is oneDNN called directly\n"
        "{:34} {:>6} {:>11} {:>11} {:>9} {:>7}\n",
        "device", "n", "strata", "oneDNN", "GFLOP/s", "ratio");
  }
  for (const auto& device : devices) {
    for (const std::int64_t n : {64, 128, 256, 512, 1024, 2048}) {
      const auto a = Tensor<2>::random({n, n}, device), b = Tensor<2>::random({n, n}, device);
      const auto av = a.to_vector<float>(), bv = b.to_vector<float>();
      std::vector<float> cv(av.size());
      Pair p;
      {
        const Progress progress(fmt::format("{} {}", device.name(), n));
        for (int i = 0; i < 4; ++i) {  // tuned, and past the calls that make a shape worth its own kernel
          const auto c = a.matmul(b);
          device.sync();
        }
        p = measure(
            [&] {
              const auto c = a.matmul(b);
              device.sync();
            },
            [&] { dnnl_sgemm('N', 'N', n, n, n, 1.f, av.data(), n, bv.data(), n, 0.f, cv.data(), n); },
            n < 1024 ? 41 : 11);
      }
      const double gflops =
          2e-9 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / p.ours;
      rows.push_back({{"device", device.name()},
                      {"n", n},
                      {"seconds", p.ours},
                      {"peer_seconds", p.peer},
                      {"ratio", p.ratio}});
      if (!global.json) {
        fmt::print("{:34} {:>6} {:>11} {:>11} {:>9.1f} {:>7.2f}\n", device.name(), n, format_seconds(p.ours),
                   format_seconds(p.peer), gflops, p.ratio);
      }
    }
  }
  if (global.json) fmt::print("{}\n", rows.dump(2));
  return 0;
}

}  // namespace strata::tool
