// Operations of the flex device against LibTorch, f32 (unless named otherwise) at 1 k, 1 M and 16 M elements,
// in turn in one process. A ratio above 1 means ours is faster.
//
//   bench_ops [name...]     only operations whose name contains one of these
#include <cstdio>
#include <cstring>

#include "bridge/bridge.hpp"
#include "flex/flex.hpp"
#include "flex/support.hpp"
#include "torch_peer.hpp"

namespace strata::bench {
namespace {

using backend::ValueRef;
using op::BinaryKind;
using op::ReduceKind;
using op::UnaryKind;

std::map<std::string, std::function<void()>> our_ops(std::int64_t rows, std::int64_t columns) {
  auto& home = flex::instance();
  std::uint64_t seed = 1;
  const auto uniform = [&](const Shape& shape) {
    return bridge::random(home, {shape, DType::f32, op::Distribution::uniform, 0.5, 1.5, seed++});
  };
  const auto integers = [&](const Shape& shape, std::int64_t below) {
    return bridge::random(
        home, {shape, DType::i64, op::Distribution::uniform, 0, static_cast<double>(below), seed++});
  };
  const auto x = uniform({rows, columns}), y = uniform({rows, columns});
  const auto row = uniform({columns}), column = uniform({rows, 1}), weight = uniform({columns}),
             bias = uniform({columns});
  const auto flags = bridge::compare(op::CompareKind::greater, x, 1.0);
  const auto whole = bridge::reshape(bridge::iota(home, rows * columns, DType::i64, 0, 1), {rows, columns});
  const auto index = integers({rows, columns}, columns), picks = integers({rows}, rows);
  const auto half = bridge::cast(x, DType::bf16);
  const auto image = bridge::reshape(x, {1, rows >= 16 ? 16 : 1, rows >= 16 ? rows / 16 : rows, columns});
  const auto channels = image->shape[1];
  const auto filter = uniform({channels, channels, 3, 3});
  const auto unary = [&](UnaryKind kind) { return [=] { bridge::unary(kind, x); }; };
  const auto binary = [&](BinaryKind kind, const ValueRef& b) { return [=] { bridge::binary(kind, x, b); }; };
  const auto reduce = [&](ReduceKind kind, int axis) {
    return [=] { bridge::reduce(kind, x, {axis}, false); };
  };
  const op::Pool pool{op::PoolKind::max, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false, true};
  auto mean_pool = pool;
  mean_pool.kind = op::PoolKind::mean;
  // [1, heads, count, width]
  const auto count = std::min<std::int64_t>(rows, 2048), heads = std::clamp<std::int64_t>(columns / 64, 1, 2),
             width = std::min<std::int64_t>(columns, 64);
  const auto tokens = [&](const ValueRef& all) {
    const auto part = bridge::slice(all, {0, 0}, {count, heads * width}, {1, 1});
    return bridge::permute(bridge::reshape(part, {1, count, heads, width}), {0, 2, 1, 3});
  };
  const auto q = tokens(x), k = tokens(y), v = tokens(uniform({rows, columns})),
             g = tokens(uniform({rows, columns}));
  const auto attend = [=](bool causal) { return bridge::attention({causal, 0.125}, q, k, v, {}); };
  const auto attend_and_back = [=] {
    const auto results = attend(false);
    const auto delta = bridge::reduce(ReduceKind::sum, bridge::mul(results[0], g), {3}, false);
    backend::execute(op::AttentionGradient{false, 0.125},
                     std::vector<ValueRef>{q, k, v, results[1], g, delta});
  };
  const auto classes = integers({rows}, columns), ones = bridge::expand(bridge::scalar_like(x, 1), {rows});
  const auto loss_and_back = [=] {
    const auto log_sum = bridge::cross_entropy({}, x, classes, {})[1];
    backend::execute(op::CrossEntropyGradient{}, std::vector<ValueRef>{x, classes, log_sum, ones});
  };
  const auto chain = [=] {
    auto z = bridge::unary(UnaryKind::exp, bridge::sub(bridge::mul(bridge::add(x, y), x), y));
    bridge::mul(bridge::unary(UnaryKind::tanh, bridge::add(bridge::mul(z, y), x)), y);
  };
  return {
      {"add", binary(BinaryKind::add, y)},
      {"div", binary(BinaryKind::div, y)},
      {"add a row", binary(BinaryKind::add, row)},
      {"add a column", binary(BinaryKind::add, column)},
      {"pow", binary(BinaryKind::pow, y)},
      {"max of two", binary(BinaryKind::max, y)},
      {"neg", unary(UnaryKind::neg)},
      {"sqrt", unary(UnaryKind::sqrt)},
      {"exp", unary(UnaryKind::exp)},
      {"log", unary(UnaryKind::log)},
      {"sin", unary(UnaryKind::sin)},
      {"tanh", unary(UnaryKind::tanh)},
      {"sigmoid", unary(UnaryKind::sigmoid)},
      {"erf", unary(UnaryKind::erf)},
      {"less", [=] { bridge::compare(op::CompareKind::less, x, y); }},
      {"where", [=] { bridge::where(flags, x, y); }},
      {"cast to bf16", [=] { bridge::cast(x, DType::bf16); }},
      {"cast bf16 to f32", [=] { bridge::cast(half, DType::f32); }},
      {"cast to i64", [=] { bridge::cast(x, DType::i64); }},
      {"cast i64 to f32", [=] { bridge::cast(whole, DType::f32); }},
      {"add in bf16", [=] { bridge::add(half, half); }},
      {"copy of transpose", [=] { flex::instance().into_data(bridge::transpose(x)).get(); }},
      {"cat rows",
       [=] {
         bridge::cat({x, y}, 0);
       }},
      {"cat columns",
       [=] {
         bridge::cat({x, y}, 1);
       }},
      {"sum all", [=] { bridge::reduce_all(ReduceKind::sum, x); }},
      {"sum last", reduce(ReduceKind::sum, 1)},
      {"sum first", reduce(ReduceKind::sum, 0)},
      {"prod last", reduce(ReduceKind::prod, 1)},
      {"max last", reduce(ReduceKind::max, 1)},
      {"max first", reduce(ReduceKind::max, 0)},
      {"argmax last", [=] { bridge::arg_reduce(op::ExtremumKind::max, x, 1, false); }},
      {"argmax first", [=] { bridge::arg_reduce(op::ExtremumKind::max, x, 0, false); }},
      {"cumsum last", [=] { bridge::cumulative(op::CumulativeKind::sum, x, 1); }},
      {"cumsum first", [=] { bridge::cumulative(op::CumulativeKind::sum, x, 0); }},
      {"softmax last", [=] { bridge::softmax(x, 1, false); }},
      {"softmax first", [=] { bridge::softmax(x, 0, false); }},
      {"log_softmax last", [=] { bridge::softmax(x, 1, true); }},
      {"layer_norm",
       [=] {
         bridge::norm(op::NormKind::layer, x, {weight, bias}, 1e-5);
       }},
      {"attention", [=] { attend(false); }},
      {"attention, causal", [=] { attend(true); }},
      {"attention and gradient", attend_and_back},
      {"cross entropy", [=] { bridge::cross_entropy({}, x, classes, {}); }},
      {"cross entropy and gradient", loss_and_back},
      {"sort last", [=] { bridge::gather(x, 1, bridge::argsort(x, 1, false)); }},
      {"topk 8 last", [=] { bridge::gather(x, 1, bridge::argsort(x, 1, true, 8)); }},
      {"gather last", [=] { bridge::gather(x, 1, index); }},
      {"select rows", [=] { bridge::select(x, 0, picks); }},
      {"scatter_add last", [=] { bridge::scatter(x, 1, index, y, op::ScatterMode::add); }},
      {"chain of 8", chain},
      {"random uniform",
       [=] {
         bridge::random(flex::instance(), {{rows, columns}, DType::f32, op::Distribution::uniform, 0, 1, 5});
       }},
      {"conv 3x3",
       [=] {
         bridge::conv({{1, 1}, {1, 1}, {1, 1}, 1, false, {}}, image, filter);
       }},
      {"max_pool 2x2", [=] { bridge::pool(pool, image); }},
      {"mean_pool 2x2", [=] { bridge::pool(mean_pool, image); }},
  };
}

void table(int argc, char** argv, std::int64_t rows, std::int64_t columns) {
  const auto ours = our_ops(rows, columns);
  const auto peers = torch_ops(rows, columns);
  std::printf("\n[%lld, %lld]%*s %12s %12s %7s\n", static_cast<long long>(rows),
              static_cast<long long>(columns), 8, "", "flex us", "LibTorch us", "ratio");
  for (const auto& [name, f] : ours) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || name.find(argv[i]) != std::string::npos;
    if (!wanted) continue;
    const auto& peer = peers.at(name);
    f();
    const double once = time_once(f) + time_once(peer);
    const int batch = std::clamp(static_cast<int>(20 / once), 1, 50);  // short calls are timed together
    const auto repeat = [&](const std::function<void()>& g) {
      for (int i = 0; i < batch; ++i) g();
    };
    const int pairs = std::clamp(static_cast<int>(400e3 / once / batch), 5, 401);
    const auto r = compare(
        pairs, [&] { repeat(f); }, [&] { repeat(peer); });
    std::printf("%-24s %12.2f %12.2f %7.2f%s\n", name.c_str(), r.ours / batch, r.peer / batch, r.ratio,
                r.ratio < 1 ? "  slower" : "");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  std::printf("%s\n", strata::flex::description().c_str());
  strata::bench::table(argc, argv, 32, 32);
  strata::bench::table(argc, argv, 1024, 1024);
  strata::bench::table(argc, argv, 4096, 4096);
}
