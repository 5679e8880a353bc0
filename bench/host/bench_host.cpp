// What a call costs, 2x2 f32 through every layer, and what waiting costs.
#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "runtime/cpu/cpu_client.hpp"
#include "strata/strata.hpp"
#if defined(STRATA_BENCH_TORCH)
#include "torch_peer.hpp"
#endif

namespace {

using namespace strata;
using Clock = std::chrono::steady_clock;
using Calls = std::function<void(int)>;

double seconds(const Calls& calls, int n) {
  const auto start = Clock::now();
  calls(n);
  return std::chrono::duration<double>(Clock::now() - start).count() / n;
}

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

/// Medians of rounds in turn with the peer; `settle` runs between rounds, outside the clock.
void row(
    const char* what, const Calls& ours, const Calls& peer, int n, double budget_us,
    const std::function<void()>& settle = [] {}) {
  std::vector<double> a, b;
  ours(n);
  if (peer) peer(n);
  for (int round = 0; round < 31; ++round) {
    settle();
    a.push_back(seconds(ours, n));
    if (peer) b.push_back(seconds(peer, n));
  }
  const double best = *std::ranges::min_element(a);
  fmt::print("{:52} {:>8.2f} {:>8.2f}", what, median(a) * 1e6, best * 1e6);
  if (peer) {
    fmt::print(" {:>10.2f} {:>7.1f}", median(b) * 1e6, median(b) / median(a));
  } else {
    fmt::print(" {:>10} {:>7}", "-", "-");
  }
  fmt::print(" {:>9}\n", budget_us > 0 ? fmt::format("{:.1f}", budget_us) : "-");
}

}  // namespace

int main() {
  Calls torch_add, torch_matmul, torch_tracked, torch_backward;
#if defined(STRATA_BENCH_TORCH)
  const auto peer = strata::bench::torch_peer();
  torch_add = peer.add;
  torch_matmul = peer.matmul;
  torch_tracked = peer.matmul_tracked;
  torch_backward = peer.backward;
#else
  fmt::print("LibTorch is not installed: no peer (Debian: libtorch-dev)\n");
#endif
  fmt::print("{:52} {:>8} {:>8} {:>10} {:>7} {:>9}\n", "microseconds a call, 2x2 f32", "median", "best",
             "LibTorch", "ratio", "budget");

  const auto repeat = [](auto call) {
    return [call](int n) {
      for (int i = 0; i < n; ++i) call();
    };
  };
  const auto on = [](const Device& d) {
    return std::pair{Tensor<2>::from({{1, 2}, {3, 4}}, d), Tensor<2>::from({{5, 6}, {7, 8}}, d)};
  };
  const auto flex = Device::flex(), cpu = Device::cpu();
  {
    const auto [a, b] = on(flex);
    row("flex: add", repeat([&a = a, &b = b] { a + b; }), torch_add, 2000, 0.5);
    row("flex: matmul", repeat([&a = a, &b = b] { a.matmul(b); }), torch_matmul, 2000, 0.8);
  }
  {
    const auto [a, b] = on(flex.autodiff());
    const auto t = a.require_grad();
    row("flex.autodiff(): matmul, untracked", repeat([&a = a, &b = b] { a.matmul(b); }), nullptr, 2000, 0);
    row("flex.autodiff(): matmul, tracked", repeat([&t, &b = b] { t.matmul(b); }), torch_tracked, 2000, 1.5);
    row("flex.autodiff(): matmul + sum + backward", repeat([&t, &b = b] { t.matmul(b).sum().backward(); }),
        torch_backward, 500, 6);
  }
  {
    const auto [a, b] = on(cpu);
    a.matmul(b).into_data();
    const auto drain = [&] {
      cpu.sync();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    // Results are dropped unread, so the device computes nothing: this is the cost of the call alone. One
    // call meets a parked device thread; a burst wakes it.
    row("cpu: matmul, one call", repeat([&a = a, &b = b] { a.matmul(b); }), torch_matmul, 1, 1.5, drain);
    row("cpu: matmul, a burst of 200", repeat([&a = a, &b = b] { a.matmul(b); }), torch_matmul, 200, 1.5,
        drain);
    row("cpu: add, a burst of 200", repeat([&a = a, &b = b] { a + b; }), torch_add, 200, 1.5, drain);
    row("cpu: matmul and read, device parked", repeat([&a = a, &b = b] { a.matmul(b).into_data(); }), nullptr,
        1, 0, drain);
    row("cpu: matmul and read, device awake", repeat([&a = a, &b = b] { a.matmul(b).into_data(); }), nullptr,
        500, 0);
  }
  {
    const auto [a, b] = on(cpu.autodiff());
    const auto t = a.require_grad();
    const auto drain = [&] { cpu.sync(); };
    row("cpu.autodiff(): matmul, tracked, a burst of 200", repeat([&t, &b = b] { t.matmul(b); }),
        torch_tracked, 200, 2.2, drain);
  }
  // Threads that have nothing to do.
  cpu.sync();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto& client = runtime::cpu::client();
  const double before = client.processor_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  fmt::print("processor time of idle device threads in one second: {:.3f} ms\n",
             (client.processor_seconds() - before) * 1e3);
  return 0;
}
