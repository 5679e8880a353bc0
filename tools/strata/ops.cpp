// The table of operations: which dtypes each takes, how each device computes it, and whether it has a
// gradient. Nothing in it is written down by hand: operations are run on flex, planned on cpu and for a GPU
// (which need not be there), and recorded by autodiff.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>

#include "autodiff/autodiff.hpp"
#include "commands.hpp"
#include "cube/cube_backend.hpp"
#include "described_gpu.hpp"
#include "flex/flex.hpp"
#include "runtime/cpu/cpu_client.hpp"
#include "samples.hpp"
#include "strata/error.hpp"

namespace strata::tool {
namespace {

using op::Operation;
using op::TensorType;

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

std::string how_on(cube::CubeBackend& device, const Operation& operation, const Types& types) {
  if (device.expands(operation, types)) return "expanded";
  const auto launches = device.plan(operation, types);
  if (launches.empty()) return "view";
  for (const auto& launch : launches) {
    if (!launch.ir) return "host";
  }
  return "kernel";
}

/// Whether autodiff records the operation and its gradient can be computed.
bool has_gradient(autodiff::Autodiff& home, const Operation& operation, const Types& types) {
  std::vector<backend::ValueRef> inputs;
  for (const auto& type : types) {
    auto v = value_of(home, type);
    inputs.push_back(is_float(type.dtype) ? autodiff::track(v) : v);
  }
  const auto result = backend::execute(home, operation, inputs)[0];
  if (!autodiff::is_tracked(result)) return false;
  const std::vector<double> ones(static_cast<std::size_t>(result->shape.product()), 1);
  const auto seed = TensorData::from<double>(ones, result->shape).convert(result->dtype);
  try {
    autodiff::backward(result, flex::instance().from_data(seed));
  } catch (const ArgumentError&) {
    return false;
  }
  return true;
}

/// The ways of all dtypes, each once.
void add_way(std::string& ways, const std::string& how) {
  if (ways.find(how) == std::string::npos) ways += (ways.empty() ? "" : "/") + how;
}

struct Devices {
  cube::CubeBackend &cpu, &cuda;
  autodiff::Autodiff& gradients;
};

struct Row {
  std::string name, cpu, cuda, reason;
  std::string dtypes;
  bool gradient = false;
};

Row row_of(const Sample& sample, const Devices& devices) {
  Row row;
  auto& flex = flex::instance();
  for (auto t : all_dtypes) {
    const auto operation = sample.op(t);
    const auto types = sample.inputs(t);
    row.name = row_name(operation);
    try {
      op::infer(operation, types);
    } catch (const UserError& e) {
      if (row.reason.empty()) row.reason = reason_of(e);
      continue;
    }
    std::vector<backend::ValueRef> inputs;
    for (const auto& type : types) inputs.push_back(value_of(flex, type));
    flex.execute(operation, inputs);  // a missing kernel would throw
    add_way(row.cpu, how_on(devices.cpu, operation, types));
    add_way(row.cuda, how_on(devices.cuda, operation, types));
    row.dtypes += (row.dtypes.empty() ? "" : " ") + std::string(strata::name_of(t));
    if (is_float(t)) row.gradient = row.gradient || has_gradient(devices.gradients, operation, types);
  }
  return row;
}

}  // namespace

int ops(const Global& global) {
  cube::CubeBackend cpu(runtime::cpu::client(), flex::execute_on_host);
  DescribedGpu gpu;
  cube::CubeBackend cuda(gpu, flex::execute_on_host);
  autodiff::Autodiff gradients(flex::instance(), Checkpointing::disabled);
  nlohmann::json out = nlohmann::json::array();
  if (!global.json)
    fmt::print("{:22} {:36} {:6} {:12} {:12} {:8} {}\n", "operation", "dtypes", "flex", "cpu", "cuda",
               "gradient", "other dtypes");
  for (const auto& sample : samples()) {
    const auto row = row_of(sample, {cpu, cuda, gradients});
    if (global.json) {
      out.push_back({{"operation", row.name},
                     {"dtypes", row.dtypes},
                     {"cpu", row.cpu},
                     {"cuda", row.cuda},
                     {"gradient", row.gradient},
                     {"other_dtypes", row.reason}});
    } else {
      fmt::print("{:22} {:36} {:6} {:12} {:12} {:8} {}\n", row.name, row.dtypes, "yes", row.cpu, row.cuda,
                 row.gradient ? "yes" : "none", row.reason);
    }
  }
  if (global.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print(
        "\nPlanned for a few small operands; for cuda on any machine, with a GPU or without.\n"
        "view: no element moves. expanded: into simpler operations, which fuse. host: flex's code computes "
        "it "
        "in the order of the device's launches.\n"
        "a/b: as the dtype is. gradient none: the result is constant between jumps, or no float; kernels of "
        "one's own get theirs from\n"
        "custom_gradient.\n");
  }
  return 0;
}

}  // namespace strata::tool
