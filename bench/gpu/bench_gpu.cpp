// What strata needs on cuda:0 for the rows of compare.py: "name<TAB>microseconds" a line, medians. Large work
// is timed as calls queued one behind the other up to a sync; what a call costs the caller, without the wait.
// `bench_gpu start` is one process up to its first result, and what the device did for it.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "strata/strata.hpp"

namespace {

using namespace strata;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

class Bench {
 public:
  Bench(Device device, std::string_view filter) : device_(std::move(device)), filter_(filter) {}

  /// Microseconds of device work a call; results stay alive until the device is done.
  template <class Call>
  void work(const std::string& name, Call&& call) const {
    if (name.find(filter_) == std::string::npos) return;
    using Result = decltype(call());
    for (int i = 0; i < 3; ++i) {
      [[maybe_unused]] const Result warm = call();
      device_.sync();
    }
    const auto once = [&](int n) {
      std::vector<Result> results;
      results.reserve(static_cast<std::size_t>(n));
      const auto start = Clock::now();
      for (int i = 0; i < n; ++i) results.push_back(call());
      device_.sync();
      return seconds_since(start) / n;
    };
    const double estimate = once(2);
    const int n = std::clamp(static_cast<int>(0.02 / estimate), 3, 200);
    std::vector<double> rounds;
    once(n);
    for (int i = 0; i < 7; ++i) rounds.push_back(once(n));
    print(name, median(rounds));
  }
  /// Microseconds until a call returns, in bursts with the device idle before each.
  template <class Call>
  void call(const std::string& name, Call&& call, int burst = 16) const {
    if (name.find(filter_) == std::string::npos) return;
    using Result = decltype(call());
    std::vector<double> rounds;
    for (int i = 0; i < 201; ++i) {
      std::vector<Result> results;
      results.reserve(static_cast<std::size_t>(burst));
      device_.sync();
      const auto start = Clock::now();
      for (int k = 0; k < burst; ++k) results.push_back(call());
      rounds.push_back(seconds_since(start) / burst);
    }
    print(name, median(rounds));
  }
  /// Microseconds of a call that waits for its result.
  void latency(const std::string& name, const std::function<void()>& call) const {
    if (name.find(filter_) == std::string::npos) return;
    std::vector<double> rounds;
    for (int i = 0; i < 20; ++i) call();
    for (int i = 0; i < 201; ++i) {
      const auto start = Clock::now();
      call();
      rounds.push_back(seconds_since(start));
    }
    print(name, median(rounds));
  }
  /// Of the whole process, while nothing is asked of the device.
  void idle(const std::string& name) const {
    if (name.find(filter_) == std::string::npos) return;
    device_.sync();
    std::this_thread::sleep_for(
        std::chrono::milliseconds(200));  // threads stay awake for a moment after work
    const auto before = std::clock();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    print(name, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  }

 private:
  static void print(const std::string& name, double seconds) {
    fmt::print("{}\t{:.3f}\n", name, seconds * 1e6);
    std::fflush(stdout);
  }

  const Device device_;
  const std::string filter_;
};

void bandwidth(const Bench& bench, const Device& device) {
  {
    const auto x = Tensor<1>::random({std::int64_t{64} << 20}, -1, 1, device);
    bench.work("chain of 8, 64M f32",
               [&] { return (((x * 1.5 + 0.5).tanh() * x - 0.25).abs() + 1.0).sqrt() * 0.5; });
  }
  const auto x = Tensor<2>::random({16384, 8192}, -1, 1, device);
  bench.work("sum over last", [&] { return x.sum(1); });
  bench.work("sum over first", [&] { return x.sum(0); });
  bench.work("sum of all", [&] { return x.sum(); });
  bench.work("argmax over last", [&] { return x.argmax(1); });
  bench.work("softmax", [&] { return x.softmax(1); });
  const auto weight = Tensor<1>::random({8192}, -1, 1, device),
             bias = Tensor<1>::random({8192}, -1, 1, device);
  bench.work("layer norm", [&] { return layer_norm(x, weight, bias); });
  bench.work("transposed copy", [&] { return x.transpose().reshape({x.size()}); });
}

void products(const Bench& bench, const Device& device) {
  for (const auto& [dtype, name] :
       {std::pair{DType::f32, "f32"}, {DType::bf16, "bf16"}, {DType::f16, "f16"}}) {
    const auto product = [&](const Shape& a, const Shape& b, const std::string& label) {
      const auto x = Tensor<2>::random(a, -1, 1, device, dtype),
                 y = Tensor<2>::random(b, -1, 1, device, dtype);
      bench.work(fmt::format("matmul {} {}", name, label), [&] { return x.matmul(y); });
    };
    for (std::int64_t n : {256, 512, 1024, 2048, 4096, 8192}) product({n, n}, {n, n}, fmt::format("{}", n));
    if (dtype == DType::f16) continue;
    for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{1, 4096, 4096},
                                                                          {4096, 4096, 1},
                                                                          {8, 4096, 4096},
                                                                          {16, 4096, 4096},
                                                                          {64, 4096, 14336},
                                                                          {8192, 1024, 64},
                                                                          {64, 8192, 64},
                                                                          {333, 777, 555}}) {
      product({m, k}, {k, n}, fmt::format("{}x{}x{}", m, k, n));
    }
    const auto x = Tensor<2>::random({1, 4096}, -1, 1, device, dtype),
               weight = Tensor<2>::random({4096, 4096}, -1, 1, device, dtype).transpose();
    bench.work(fmt::format("matmul {} 1x4096x4096 nt", name), [&] { return x.matmul(weight); });
  }
}

void inexact_products(const Bench& bench, const Device& device) {
  for (const auto precision : {Precision::tf32, Precision::split}) {
    const auto product = [&](const Shape& a, const Shape& b, const std::string& label) {
      const auto x = Tensor<2>::random(a, -1, 1, device), y = Tensor<2>::random(b, -1, 1, device);
      bench.work(fmt::format("matmul {} {}", name_of(precision), label),
                 [&] { return matmul(x, y, precision); });
    };
    for (std::int64_t n : {512, 1024, 2048, 4096, 8192}) product({n, n}, {n, n}, fmt::format("{}", n));
    product({64, 4096}, {4096, 14336}, "64x4096x14336");
    product({333, 777}, {777, 555}, "333x777x555");
    const auto x = Tensor<2>::random({4096, 4096}, -1, 1, device),
               weight = Tensor<2>::random({4096, 4096}, -1, 1, device).transpose(),
               bias = Tensor<2>::random({1, 4096}, -1, 1, device);
    bench.work(fmt::format("matmul {} 4096 nt", name_of(precision)),
               [&] { return matmul(x, weight, precision); });
    bench.work(fmt::format("matmul {} 4096 + bias, relu", name_of(precision)),
               [&] { return (matmul(x, weight, precision) + bias).relu(); });
  }
}

void host(const Bench& bench, const Device& device) {
  const auto a = Tensor<2>::from({{1, 2}, {3, 4}}, device), b = Tensor<2>::from({{5, 6}, {7, 8}}, device);
  bench.call("call: matmul 2x2", [&] { return a.matmul(b); });
  bench.call("call: add 2x2", [&] { return a + b; });
  bench.latency("matmul 2x2 to host data", [&] { a.matmul(b).into_data(); });
  const auto x = Tensor<1>::random({std::int64_t{4} << 20}, -1, 1, device);
  bench.latency("16 MiB to host data", [&] { x.into_data(); });
  const auto data =
      TensorData::from<float>(std::vector<float>(std::size_t{4} << 20, 1.5F), {std::int64_t{4} << 20});
  bench.latency("16 MiB from host data", [&] {
    const auto there = Tensor<1>::from_data(data, device);
    device.sync();
  });
  bench.idle("processor time of an idle second");
  try {
    const auto other = Device::cuda(1);
    bench.latency("16 MiB to another GPU", [&] {
      const auto there = x.to_device(other);
      other.sync();
    });
  } catch (const DeviceError&) {  // one GPU: no row
  }
}

void start() {
  const auto begin = Clock::now();
  const auto device = Device::cuda(0);
  const auto a = Tensor<2>::from({{1, 2}, {3, 4}}, device), b = Tensor<2>::from({{5, 6}, {7, 8}}, device);
  a.matmul(b).into_data();
  const auto s = device.statistics();
  fmt::print("first result after {:.1f} ms: {} launches, {} probes, {} compiles\n",
             seconds_since(begin) * 1e3, s.launches, s.probe_launches, s.compiles);
}

/// 784-512-512-10, batch 256, cross entropy, Adam.
class Perceptron {
 public:
  explicit Perceptron(const Device& device) : device_(device.autodiff()), inner_(device) {
    const std::int64_t sizes[] = {784, 512, 512, 10};
    for (int i = 0; i < 3; ++i) {
      weights_.push_back(leaf(Tensor<2>::random({sizes[i], sizes[i + 1]}, -0.05, 0.05, inner_)));
      biases_.push_back(leaf(Tensor<2>::zeros({1, sizes[i + 1]}, inner_)));
    }
    for (int i = 0; i < 6; ++i) {
      first_.push_back(Tensor<2>::zeros(parameter(i).shape(), inner_));
      second_.push_back(Tensor<2>::zeros(parameter(i).shape(), inner_));
    }
    x_.push_back(Tensor<2>::random({256, 784}, 0, 1, inner_).to_device(device_));
    std::vector<std::int64_t> labels(256);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * 7 % 10);
    target_.push_back(Tensor<1, Int>::from(labels, {256}, device_));
  }
  void step() {
    auto h = x_[0];
    for (std::size_t i = 0; i < 3; ++i) {
      h = h.matmul(weights_[i]) + biases_[i];
      if (i < 2) h = h.relu();
    }
    const auto gradients = cross_entropy(h, target_[0]).backward();
    ++steps_;
    const double b1 = 0.9, b2 = 0.999, c1 = 1 - std::pow(b1, steps_), c2 = 1 - std::pow(b2, steps_);
    for (int i = 0; i < 6; ++i) {
      const auto k = static_cast<std::size_t>(i);
      auto& p = parameter(i);
      const auto g = p.grad(gradients);
      first_[k] = first_[k] * b1 + g * (1 - b1);
      second_[k] = second_[k] * b2 + g * g * (1 - b2);
      p = leaf(p.inner() - first_[k] / c1 / ((second_[k] / c2).sqrt() + 1e-8) * 1e-3);
    }
  }
  Tensor<2> state() const { return weights_[0].inner(); }

 private:
  Tensor<2> leaf(const Tensor<2>& t) const { return t.to_device(device_).require_grad(); }
  Tensor<2>& parameter(int i) {
    return i % 2 == 0 ? weights_[static_cast<std::size_t>(i / 2)] : biases_[static_cast<std::size_t>(i / 2)];
  }

  Device device_, inner_;
  std::vector<Tensor<2>> weights_, biases_, first_, second_, x_;
  std::vector<Tensor<1, Int>> target_;
  int steps_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string_view(argv[1]) == "start") return start(), 0;
    const auto device = Device::cuda(0);
    const Bench bench(device, argc > 1 ? argv[1] : "");
    manual_seed(1);
    host(bench, device);
    bandwidth(bench, device);
    products(bench, device);
    inexact_products(bench, device);
    Perceptron perceptron(device);
    const auto step = [&] {
      perceptron.step();
      return 0;
    };
    bench.work("MLP training step", step);
    bench.call("call: MLP training step", step, 1);
  } catch (const DeviceError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
