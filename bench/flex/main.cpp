/// What a call on flex costs, its products against oneDNN called directly, and the speed of its memory-bound
/// loops.
///   bench_flex [calls] [matmul] [memory]     (all three without arguments)
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "bridge/bridge.hpp"
#include "flex/flex.hpp"
#include "onednn_peer.hpp"
#include "support.hpp"

namespace strata::bench {
namespace {

backend::ValueRef uniform(const Shape& shape, DType dtype, std::uint64_t seed) {
  return bridge::random(flex::instance(), {shape, dtype, op::Distribution::uniform, -1, 1, seed});
}

void calls() {
  const auto a = uniform({2, 2}, DType::f32, 1), b = uniform({2, 2}, DType::f32, 2);
  const auto row = [](const char* name, auto&& f) { std::printf("%-24s %6.0f ns\n", name, call_cost(f)); };
  std::printf("call cost, f32 2x2, result dropped\n");
  row("add", [&] { static_cast<void>(bridge::add(a, b)); });
  row("matmul", [&] { static_cast<void>(bridge::matmul(a, b)); });
  row("exp", [&] { static_cast<void>(bridge::unary(op::UnaryKind::exp, a)); });
  row("transpose", [&] { static_cast<void>(bridge::transpose(a)); });
  row("sum", [&] { static_cast<void>(bridge::reduce_all(op::ReduceKind::sum, a)); });
  row("into_data", [&] { static_cast<void>(flex::instance().into_data(a).get()); });
}

void matmul() {
  std::printf(
      "\nn^3 product, 2 operands of one dtype: flex against oneDNN called directly (ratio > 1: flex is "
      "faster)\n");
  std::printf("%-5s %5s %12s %12s %8s %8s %10s\n", "dtype", "n", "flex us", "oneDNN us", "median", "best",
              "GFLOP/s");
  for (auto dtype : {DType::f32, DType::bf16}) {
    for (std::int64_t n : {16, 64, 128, 256, 512, 1024, 2048}) {
      const auto a = uniform({n, n}, dtype, 1), b = uniform({n, n}, dtype, 2);
      const auto x = flex::instance().into_data(a).get(), y = flex::instance().into_data(b).get();
      const auto c = TensorData::allocate(x.byte_size());
      std::memset(c.get(), 0, x.byte_size());
      const auto type = dtype == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
      OneDnnProduct peer(n, type, x.bytes(), y.bytes(), c.get());
      const int pairs = n <= 128 ? 2001 : n <= 512 ? 201 : n <= 1024 ? 61 : 21;
      const auto r = compare(
          pairs, [&] { static_cast<void>(bridge::matmul(a, b)); }, [&] { peer.run(); });
      const auto flops = 2.0 * std::pow(static_cast<double>(n), 3);
      std::printf("%-5s %5lld %12.2f %12.2f %8.3f %8.3f %10.0f\n", std::string(name_of(dtype)).c_str(),
                  static_cast<long long>(n), r.ours, r.peer, r.ratio, r.best_ratio, flops / r.ours / 1e3);
    }
  }
}

void memory() {
  constexpr std::int64_t n = 4096;
  const auto a = uniform({n, n}, DType::f32, 1), b = uniform({n, n}, DType::f32, 2),
             row = uniform({n}, DType::f32, 3);
  const auto source = flex::instance().into_data(a).get();
  const auto target = TensorData::allocate(source.byte_size());
  std::memset(target.get(), 0, source.byte_size());
  std::printf(
      "\nf32 4096x4096 on warm buffers; ratio to memcpy of the tensor in the same run (below 1: faster)\n");
  const auto report = [&](const char* name, auto&& f) {
    const auto r = compare(11, f, [&] { std::memcpy(target.get(), source.bytes(), source.byte_size()); });
    std::printf("%-24s %8.2f ms %8.2f\n", name, r.ours / 1e3, 1 / r.ratio);
  };
  using op::ReduceKind;
  using op::UnaryKind;
  report("add", [&] { static_cast<void>(bridge::add(a, b)); });
  report("add a row", [&] { static_cast<void>(bridge::add(a, row)); });
  report("add a column", [&] { static_cast<void>(bridge::add(a, bridge::reshape(row, {n, 1}))); });
  report("add a transpose", [&] { static_cast<void>(bridge::add(a, bridge::transpose(b))); });
  report("exp", [&] { static_cast<void>(bridge::unary(UnaryKind::exp, a)); });
  report("tanh", [&] { static_cast<void>(bridge::unary(UnaryKind::tanh, a)); });
  report("sum over last", [&] { static_cast<void>(bridge::reduce(ReduceKind::sum, a, {1}, false)); });
  report("sum over first", [&] { static_cast<void>(bridge::reduce(ReduceKind::sum, a, {0}, false)); });
  report("sum over all", [&] { static_cast<void>(bridge::reduce_all(ReduceKind::sum, a)); });
  report("transpose to contiguous",
         [&] { static_cast<void>(flex::instance().into_data(bridge::transpose(a)).get()); });
  report("cast to bf16", [&] { static_cast<void>(bridge::cast(a, DType::bf16)); });
  const auto half = bridge::cast(a, DType::bf16);
  report("add in bf16", [&] { static_cast<void>(bridge::add(half, half)); });
  report("random uniform", [&] { static_cast<void>(uniform({n, n}, DType::f32, 4)); });
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  const auto wanted = [&](std::string_view name) {
    for (int i = 1; i < argc; ++i) {
      if (argv[i] == name) return true;
    }
    return argc == 1;
  };
  std::printf("%s\n", strata::flex::description().c_str());
  if (wanted("calls")) strata::bench::calls();
  if (wanted("matmul")) strata::bench::matmul();
  if (wanted("memory")) strata::bench::memory();
}
