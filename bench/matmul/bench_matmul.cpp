// Our matmul kernels against dnnl_sgemm, kernel time only, one process.
//
// Both sides take turns and the order alternates; before each, 3 ms of sleep let the other side's workers
// park (a spinning worker takes a core from its rival) and 1.5 ms of warm-up bring ours back. A ratio above 1
// means ours is faster: peer time over our time, as the median of the paired rounds and of the two minima.
//
//   bench_matmul [--rounds N] [--all] [MxKxN[:flags]]...   flags: ta, tb; --all: every candidate, not only
//   the chosen one
#include <dnnl.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cube/matmul/engine.hpp"
#include "runtime/cpu/cpu_client.hpp"

namespace {

using namespace strata;  // NOLINT(google-build-using-namespace)
using Clock = std::chrono::steady_clock;

struct Case {
  std::int64_t m, k, n;
  bool ta = false, tb = false;
};

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}
double least(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }

std::shared_ptr<std::byte[]> random_bytes(std::int64_t elements, unsigned seed) {
  std::shared_ptr<std::byte[]> data(new std::byte[static_cast<std::size_t>(elements) * sizeof(float)]);
  for (std::int64_t i = 0; i < elements; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const float x = static_cast<float>(static_cast<int>(seed >> 9)) * 0x1p-22f - 1;
    std::memcpy(data.get() + static_cast<std::size_t>(i) * sizeof(float), &x, sizeof x);
  }
  return data;
}

class Versus {
 public:
  Versus(cube::CubeBackend& backend, const Case& c) : backend_(backend), client_(backend.client()), case_(c) {
    block_.inputs = {{DType::f32, {c.m, c.k}}, {DType::f32, {c.k, c.n}}};
    block_.nodes.push_back({op::Matmul{}, {0, 1}, {DType::f32, {c.m, c.n}}});
    block_.outputs = {2};
    const auto view = [](std::int64_t rows, std::int64_t cols, bool transposed) {
      return op::View{{rows, cols}, transposed ? Strides{1, rows} : Strides{cols, 1}, 0};
    };
    const op::View views[] = {view(c.m, c.k, c.ta), view(c.k, c.n, c.tb)};
    problem_ = cube::matmul::describe(block_, views);
    a_ = random_bytes(c.m * c.k, 1);
    b_ = random_bytes(c.k * c.n, 2);
    peer_.resize(static_cast<std::size_t>(c.m * c.n));
    const auto upload = [&](const std::shared_ptr<std::byte[]>& data, std::int64_t elements) {
      const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
      auto buffer = client_.allocate(bytes);
      client_.write(buffer, {data, data.get()}, bytes);
      return buffer;
    };
    operands_.buffers = {upload(a_, c.m * c.k), upload(b_, c.k * c.n)};
    if (problem_.a_value != 0) std::swap(operands_.buffers[0], operands_.buffers[1]);
    operands_.buffers.push_back(client_.allocate(static_cast<std::size_t>(c.m * c.n) * sizeof(float)));
  }

  void chosen(int rounds) {
    const auto start = now();
    const auto [plan, record] = cube::matmul::Engine::of(backend_).settle(problem_, operands_);
    const auto seconds = now() - start;
    run(plan.schedule, rounds, fmt::format("{:.0f} ms to choose", seconds * 1e3));
  }
  void every_candidate(int rounds) {
    const auto& machine = cube::matmul::Engine::of(backend_).machine();
    for (const auto& s : cube::matmul::candidates(problem_, machine)) run(s, rounds, "");
  }

 private:
  void peer() {
    const auto& c = case_;
    dnnl_sgemm(c.ta ? 'T' : 'N', c.tb ? 'T' : 'N', c.m, c.n, c.k, 1.f,
               reinterpret_cast<const float*>(a_.get()), c.ta ? c.m : c.k,
               reinterpret_cast<const float*>(b_.get()), c.tb ? c.k : c.n, 0.f, peer_.data(), c.n);
  }

  void run(const cube::matmul::Schedule& schedule, int rounds, const std::string& note) {
    const auto shape = cube::matmul::launch_shape(problem_, schedule);
    const auto kernel = std::make_shared<const kernel::Kernel>(cube::matmul::build(problem_, schedule));
    runtime::Launch launch{
        client_.program(kernel), {shape.cubes_x, shape.cubes_y, 1}, operands_.buffers, shape.scalars};
    if (shape.workspace > 0) {
      launch.buffers.push_back(client_.allocate(static_cast<std::size_t>(shape.workspace) * sizeof(float)));
    }
    const auto error = check(launch);
    const double flops =
        2.0 * static_cast<double>(case_.m) * static_cast<double>(case_.n) * static_cast<double>(case_.k);
    const int repetitions = std::clamp(static_cast<int>(0.012 * 150e9 / flops), 1, 20000);
    std::vector<double> ours, theirs, ratios;
    const auto one = [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      for (const auto t = now(); now() - t < 0.0015;) client_.time(launch, std::max(1, repetitions / 8));
      ours.push_back(client_.time(launch, 1, repetitions)[0]);
    };
    const auto other = [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      for (const auto t = now(); now() - t < 0.0015;) peer();
      const auto t = now();
      for (int i = 0; i < repetitions; ++i) peer();
      theirs.push_back((now() - t) / repetitions);
    };
    if (flops > 1e10) rounds = std::max(3, rounds / 3);
    for (int i = 0; i < rounds; ++i) {
      if (i % 2 == 0) {
        one();
        other();
      } else {
        other();
        one();
      }
      ratios.push_back(theirs.back() / ours.back());
    }
    fmt::print(
        "{:>5}x{}x{}{}{} | {:7.1f} / {:7.1f} | {:7.1f} / {:7.1f} | {:5.2f} / {:5.2f} | {} | {:.0e} | {}\n",
        case_.m, case_.k, case_.n, case_.ta ? " ta" : "", case_.tb ? " tb" : "", flops / median(ours) * 1e-9,
        flops / least(ours) * 1e-9, flops / median(theirs) * 1e-9, flops / least(theirs) * 1e-9,
        median(ratios), least(theirs) / least(ours), schedule.name(), error, note);
    std::fflush(stdout);
  }

  /// Largest difference to the peer, relative to the largest element.
  double check(const runtime::Launch& launch) {
    client_.probe(launch);
    const auto bytes = client_.read(operands_.buffers.back()).get();
    peer();
    double error = 0, largest = 1e-30;
    for (std::size_t i = 0; i < peer_.size(); ++i) {
      float x;
      std::memcpy(&x, bytes.get() + i * sizeof(float), sizeof x);
      error = std::max(error, std::abs(static_cast<double>(x) - static_cast<double>(peer_[i])));
      largest = std::max(largest, std::abs(static_cast<double>(peer_[i])));
    }
    return error / largest;
  }

  cube::CubeBackend& backend_;
  runtime::Client& client_;
  const Case case_;
  cube::Block block_;
  cube::matmul::Problem problem_;
  cube::matmul::Operands operands_;
  std::shared_ptr<std::byte[]> a_, b_;
  std::vector<float> peer_;
};

Case parse(const std::string& text) {
  Case c{};
  long long m = 0, k = 0, n = 0;
  if (std::sscanf(text.c_str(), "%lldx%lldx%lld", &m, &k, &n) != 3) throw ArgumentError("not MxKxN: " + text);
  c.m = m;
  c.k = k;
  c.n = n;
  c.ta = text.find("ta") != std::string::npos;
  c.tb = text.find("tb") != std::string::npos;
  return c;
}

}  // namespace

int main(int argc, char** argv) try {
  int rounds = 31;
  bool all = false;
  std::vector<Case> cases;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--all")
      all = true;
    else if (a == "--rounds" && i + 1 < argc)
      rounds = std::stoi(argv[++i]);
    else
      cases.push_back(parse(a));
  }
  if (cases.empty()) {
    for (const std::int64_t n : {8, 16, 32, 64, 128, 256, 512, 1024, 2048}) cases.push_back({n, n, n});
    cases.push_back({1, 4096, 4096});
    cases.push_back({16, 4096, 4096});
    cases.push_back({4096, 4096, 16});
    cases.push_back({4096, 16, 4096});
    cases.push_back({333, 555, 777});
    cases.push_back({1024, 1024, 1024, true, false});
    cases.push_back({1024, 1024, 1024, false, true});
  }
  cube::CubeBackend backend(runtime::cpu::client());
  fmt::print(
      "{}\nMxKxN | ours GFLOP/s median / best | oneDNN median / best | ratio median / best | kernel | error "
      "| note\n",
      runtime::cpu::client().properties().description);
  for (const auto& c : cases) {
    Versus v(backend, c);
    if (all)
      v.every_candidate(rounds);
    else
      v.chosen(rounds);
  }
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "bench_matmul: {}\n", e.what());
  return 1;
}
