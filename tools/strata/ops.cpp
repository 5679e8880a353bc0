// The table of operations: which dtypes each takes, how each device computes it, and whether it has a
// gradient. Nothing in it is written down by hand: operations are run on flex, planned on cpu and recorded by
// autodiff.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>

#include "autodiff/autodiff.hpp"
#include "bridge/expand.hpp"
#include "commands.hpp"
#include "cube/cube_backend.hpp"
#include "flex/flex.hpp"
#include "runtime/cpu/cpu_client.hpp"
#include "strata/error.hpp"

namespace strata::tool {
namespace {

using op::Operation;
using op::TensorType;
using Types = std::vector<TensorType>;

constexpr DType all_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                                DType::i64, DType::i32, DType::u8,  DType::boolean};

/// One operation with operands it takes, for a dtype.
struct Sample {
  std::function<Operation(DType)> op;
  std::function<Types(DType)> inputs;
};

std::function<Types(DType)> operands(std::vector<Shape> shapes) {
  return [shapes = std::move(shapes)](DType t) {
    Types types;
    for (const auto& shape : shapes) types.push_back({t, shape});
    return types;
  };
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  const auto add = [&](const Operation& operation, std::function<Types(DType)> inputs) {
    list.push_back({[operation](DType) { return operation; }, std::move(inputs)});
  };
  const auto indexed = [](bool with_source) {
    return [with_source](DType t) {
      Types types{{t, {3, 4}}, {DType::i64, {3, 2}}};
      if (with_source) types.push_back({t, {3, 2}});
      return types;
    };
  };
  const Dims one{1, 1}, two{2, 2}, none{0, 0};
  list.push_back({[](DType t) { return op::Fill{{2, 3}, t, 1}; }, operands({})});
  list.push_back({[](DType t) { return op::Iota{6, t, 0, 1}; }, operands({})});
  for (auto d : {op::Distribution::uniform, op::Distribution::normal, op::Distribution::bernoulli}) {
    list.push_back({[d](DType t) { return op::Random{{2, 3}, t, d, 0, 1, 1}; }, operands({})});
  }
  for (int k = 0; k < op::unary_count; ++k) add(op::Unary{static_cast<op::UnaryKind>(k)}, operands({{2, 3}}));
  for (int k = 0; k < op::binary_count; ++k)
    add(op::Binary{static_cast<op::BinaryKind>(k)}, operands({{2, 3}, {3}}));
  for (int k = 0; k < op::compare_count; ++k)
    add(op::Compare{static_cast<op::CompareKind>(k)}, operands({{2, 3}, {3}}));
  add(op::Where{}, [](DType t) { return Types{{DType::boolean, {2, 3}}, {t, {2, 3}}, {t, {3}}}; });
  for (auto to : all_dtypes) add(op::Cast{to}, operands({{2, 3}}));
  add(op::Matmul{}, operands({{2, 3}, {3, 4}}));
  for (int k = 0; k < op::reduce_count; ++k)
    add(op::Reduce{static_cast<op::ReduceKind>(k), {1}, false}, operands({{2, 3}}));
  for (auto k : {op::ExtremumKind::max, op::ExtremumKind::min})
    add(op::ArgReduce{k, 1, false}, operands({{2, 3}}));
  add(op::ArgSort{1, false, -1}, operands({{2, 3}}));
  for (int k = 0; k < 4; ++k) add(op::Cumulative{static_cast<op::CumulativeKind>(k), 1}, operands({{2, 3}}));
  add(op::Softmax{1, false}, operands({{2, 3}}));
  add(op::Softmax{1, true}, operands({{2, 3}}));
  add(op::Norm{op::NormKind::layer, 1e-5}, operands({{2, 3}, {3}, {3}}));
  add(op::Norm{op::NormKind::rms, 1e-5}, operands({{2, 3}, {3}}));
  add(op::Gather{1}, indexed(false));
  add(op::Scatter{1, op::ScatterMode::assign}, indexed(true));
  add(op::Scatter{1, op::ScatterMode::add}, indexed(true));
  add(op::SliceAssign{none, {2, 2}, one}, operands({{3, 4}, {2, 2}}));
  add(op::Conv{one, one, one, 1, false, {}}, operands({{1, 2, 4, 4}, {3, 2, 3, 3}}));
  add(op::Conv{one, one, one, 1, true, {}}, operands({{1, 2, 4, 4}, {2, 3, 3, 3}}));
  add(op::Pool{op::PoolKind::max, two, two, none, one, false, true}, operands({{1, 2, 4, 4}}));
  add(op::Pool{op::PoolKind::mean, two, two, none, one, false, true}, operands({{1, 2, 4, 4}}));
  add(op::ArgPool{two, two, none, one, false}, operands({{1, 2, 4, 4}}));
  for (int k = 0; k < 7; ++k) {
    const auto kind = static_cast<op::LinalgKind>(k);
    add(op::Linalg{kind}, kind == op::LinalgKind::solve ? operands({{3, 3}, {3, 2}}) : operands({{3, 3}}));
  }
  const Shape heads{1, 1, 2, 3}, rows{1, 1, 2};
  add(op::Attention{}, operands({heads, heads, heads}));
  add(op::AttentionGradient{}, [=](DType t) {
    const TensorType whole{t, heads}, sums{op::wide(t), rows};
    return Types{whole, whole, whole, sums, whole, sums};
  });
  add(op::CrossEntropy{}, [](DType t) { return Types{{t, {2, 3}}, {DType::i64, {2}}}; });
  add(op::CrossEntropyGradient{}, [](DType t) {
    return Types{{t, {2, 3}}, {DType::i64, {2}}, {op::wide(t), {2}}, {t, {2}}};
  });
  const auto sequences = [](DType t) {
    return Types{{t, {4, 2, 3}}, {DType::i64, {2, 1}}, {DType::i64, {2}}, {DType::i64, {2}}};
  };
  add(op::Ctc{}, sequences);
  add(op::CtcGradient{}, sequences);
  add(op::Reshape{{3, 2}}, operands({{2, 3}}));
  add(op::Permute{{1, 0}}, operands({{2, 3}}));
  add(op::Expand{{4, 2, 3}}, operands({{2, 3}}));
  add(op::Slice{none, {1, 2}, one}, operands({{2, 3}}));
  add(op::Flip{{1}}, operands({{2, 3}}));
  add(op::Unfold{1, 2, 1}, operands({{2, 3}}));
  add(op::Cat{0}, operands({{2, 3}, {2, 3}}));
  return list;
}

/// Operands that every operation can use: an identity matrix is invertible and positive definite, indices are
/// 0.
backend::ValueRef value_of(backend::Backend& home, const TensorType& type) {
  const bool square = type.shape.rank() == 2 && type.shape[0] == type.shape[1];
  std::vector<double> values(static_cast<std::size_t>(type.shape.product()),
                             square || type.dtype == DType::i64 ? 0 : 1);
  for (std::int64_t i = 0; square && i < type.shape[0]; ++i)
    values[static_cast<std::size_t>(i * type.shape[0] + i)] = 1;
  return home.from_data(TensorData::from<double>(values, type.shape).convert(type.dtype));
}

/// "takes floats" out of "[exp] takes floats (inputs: ...)".
std::string reason_of(const Error& e) {
  const std::string what = e.what();
  const auto begin = what.find("] "), end = what.find(" (inputs:");
  return begin == std::string::npos
             ? what
             : what.substr(begin + 2, end == std::string::npos ? end : end - begin - 2);
}

std::string how_on_cpu(cube::CubeBackend& cpu, const Operation& operation, const Types& types) {
  if (bridge::expands(operation)) return "expanded";
  const auto launches = cpu.plan(operation, types);
  if (launches.empty()) return "view";
  for (const auto& launch : launches) {
    if (!launch.ir) return "host";
  }
  return "kernel";
}

bool is_recorded(autodiff::Autodiff& home, const Operation& operation, const Types& types) {
  std::vector<backend::ValueRef> inputs;
  for (const auto& type : types) {
    auto v = value_of(home, type);
    inputs.push_back(is_float(type.dtype) ? autodiff::track(v) : v);
  }
  return autodiff::is_tracked(home.execute(operation, inputs)[0]);
}

struct Row {
  std::string name, cpu, reason;
  std::string dtypes;
  bool gradient = false;
};

Row row_of(const Sample& sample, cube::CubeBackend& cpu, autodiff::Autodiff& gradients) {
  Row row;
  auto& flex = flex::instance();
  for (auto t : all_dtypes) {
    const auto operation = sample.op(t);
    const auto types = sample.inputs(t);
    row.name = op::name_of(operation);
    if (const auto* cast = std::get_if<op::Cast>(&operation))
      row.name = fmt::format("cast to {}", strata::name_of(cast->dtype));
    if (const auto* random = std::get_if<op::Random>(&operation))
      row.name = fmt::format("random {}", op::name_of(random->distribution));
    if (const auto* scatter = std::get_if<op::Scatter>(&operation))
      row.name = fmt::format("scatter {}", op::name_of(scatter->mode));
    try {
      op::infer(operation, types);
    } catch (const UserError& e) {
      if (row.reason.empty()) row.reason = reason_of(e);
      continue;
    }
    std::vector<backend::ValueRef> inputs;
    for (const auto& type : types) inputs.push_back(value_of(flex, type));
    flex.execute(operation, inputs);  // a missing kernel would throw
    const auto how = how_on_cpu(cpu, operation, types);
    if (row.cpu.empty()) row.cpu = how;
    if (row.cpu != how) row.cpu += "/" + how;
    row.dtypes += (row.dtypes.empty() ? "" : " ") + std::string(strata::name_of(t));
    if (is_float(t)) row.gradient = row.gradient || is_recorded(gradients, operation, types);
  }
  return row;
}

}  // namespace

int ops(const Global& global) {
  cube::CubeBackend cpu(runtime::cpu::client(), flex::execute_on_host);
  autodiff::Autodiff gradients(flex::instance(), Checkpointing::disabled);
  nlohmann::json out = nlohmann::json::array();
  if (!global.json)
    fmt::print("{:16} {:36} {:6} {:12} {:8} {}\n", "operation", "dtypes", "flex", "cpu", "gradient",
               "other dtypes");
  for (const auto& sample : samples()) {
    const auto row = row_of(sample, cpu, gradients);
    if (global.json) {
      out.push_back({{"operation", row.name},
                     {"dtypes", row.dtypes},
                     {"cpu", row.cpu},
                     {"gradient", row.gradient},
                     {"other_dtypes", row.reason}});
    } else {
      fmt::print("{:16} {:36} {:6} {:12} {:8} {}\n", row.name, row.dtypes, "yes", row.cpu,
                 row.gradient ? "yes" : "none", row.reason);
    }
  }
  if (global.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print(
        "\nview: no element moves. expanded: into simpler operations, which fuse. host: computed by flex's "
        "code in the order of the device's launches, for "
        "want of a\n"
        "kernel. gradient none: the result is constant between jumps, or no float.\n");
  }
  return 0;
}

}  // namespace strata::tool
