#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codegen/compiler.hpp"
#include "commands.hpp"
#include "cube/cube_backend.hpp"
#include "cube/matmul/matmul.hpp"
#include "dispatch/entry.hpp"
#include "flex/flex.hpp"
#include "kernel/print.hpp"
#include "output.hpp"
#include "samples.hpp"
#include "strata/strata.hpp"

namespace strata::tool {
namespace {

std::string code_of(const kernel::Kernel& kernel, const std::string& what) {
  if (what == "ir") return kernel::print(kernel);
  codegen::Target target;
  auto format = codegen::Format::llvm_ir;
  if (what == "asm") format = codegen::Format::assembly;
  if (what == "ptx") {
    format = codegen::Format::ptx;
    target.kind = codegen::Target::Kind::ptx;
  }
  return codegen::compile(kernel, target, format).code;
}

const Sample& sample_named(const std::vector<Sample>& all, const std::string& name, DType dtype) {
  for (const auto& sample : all) {
    if (row_name(sample.op(dtype)) == name) return sample;
  }
  throw ArgumentError(fmt::format("there is no operation \"{}\"; `strata ops` lists them", name));
}

Precision parse_precision(std::string_view name) {
  for (const auto p : {Precision::tf32, Precision::split}) {
    if (name == name_of(p)) return p;
  }
  return Precision::exact;
}

/// The client under the device's layers; null on flex.
runtime::Client* client_of(const Device& device) {
  const auto* entry = &device.entry();
  while (entry->inner()) entry = entry->inner();
  return entry->client();
}

/// Any operation, on the operands of its sample: what the device will do.
int explain_sample(const Global& global, const ExplainOptions& options) {
  const auto dtype = parse_dtype(options.dtype);
  const auto all = samples();
  const auto& sample = sample_named(all, options.op, dtype);
  const auto operation = sample.op(dtype);
  const auto types = sample.inputs(dtype);
  op::infer(operation, types);  // the error of a dtype that it does not take
  const auto device = Device::named(options.device);
  std::string operands;
  for (const auto& type : types) operands += (operands.empty() ? "" : ", ") + type.to_string();
  std::vector<cube::PlannedLaunch> steps;
  bool expanded = false;
  auto* const client = client_of(device);
  if (client) {
    cube::CubeBackend backend(*client, flex::execute_on_host);
    expanded = backend.expands(operation, types);
    steps = backend.plan(operation, types);
  }
  if (global.json) {
    nlohmann::json out{
        {"operation", op::to_string(operation)}, {"operands", operands}, {"device", device.name()}};
    for (const auto& step : steps) {
      out["steps"].push_back({{"name", step.kernel_name}, {"on_host", !step.ir}, {"cubes", step.cubes}});
      if (step.ir && !options.show.empty()) out["steps"].back()["code"] = code_of(*step.ir, options.show);
    }
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  fmt::print("{} of {} on {}\n", op::to_string(operation), operands, device.name());
  if (!client) {
    fmt::print("  flex computes it on the calling thread, which returns with the result\n");
    return 0;
  }
  if (expanded) fmt::print("  expanded into simpler operations, which also fuse with their neighbours\n");
  if (steps.empty()) fmt::print("  a view: no element moves\n");
  for (const auto& step : steps) {
    if (step.ir) {
      fmt::print("  launch     {}, {} x {} x {} cubes\n", step.kernel_name, step.cubes[0], step.cubes[1],
                 step.cubes[2]);
    } else {
      fmt::print("  host call  {}: flex's code, in order with the launches, on the device's memory\n",
                 op::name_of(operation));
    }
  }
  for (const auto& step : steps) {
    if (step.ir && !options.show.empty()) fmt::print("\n{}\n", code_of(*step.ir, options.show));
  }
  return 0;
}

}  // namespace

int explain(const Global& global, const ExplainOptions& options) {
  if (options.shape.empty()) return explain_sample(global, options);
  if (options.op != "matmul") {
    throw ArgumentError(
        fmt::format("a shape can be given for matmul, not for \"{}\": leave it out to explain "
                    "the operation on small operands",
                    options.op));
  }
  const auto [m, n, k] = parse_shape(options.shape);
  const auto dtype = parse_dtype(options.dtype);
  const auto device = Device::named(options.device);
  auto* const client = client_of(device);
  if (!client) {
    fmt::print("{} hands matmul to oneDNN on the calling thread; there is no choice of kernel to explain\n",
               device.name());
    return 0;
  }
  cube::CubeBackend backend(*client);
  cube::matmul::Explanation e;
  {
    const Progress progress("tuning");
    e = cube::matmul::explain(backend, m, n, k, dtype, false, false, parse_precision(options.precision));
  }
  const auto& r = e.record;
  const std::string code = options.show.empty() ? "" : code_of(*e.kernel, options.show);
  if (global.json) {
    nlohmann::json candidates = nlohmann::json::array();
    for (const auto& c : r.candidates) {
      candidates.push_back({{"name", c.name}, {"seconds", c.seconds}, {"skipped", c.skipped_reason}});
    }
    nlohmann::json out{{"problem", e.problem},
                       {"device", device.name()},
                       {"kernel", e.kernel->name},
                       {"source", tune::name_of(r.source)},
                       {"winner", r.winner},
                       {"bound_seconds", r.bound_seconds},
                       {"candidates", candidates},
                       {"cubes", e.cubes},
                       {"workspace_bytes", e.workspace_bytes},
                       {"launches", r.launches},
                       {"tuning_seconds", r.total_seconds}};
    if (!code.empty()) out["code"] = code;
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  fmt::print("{} on {}\n", e.problem, device.name());
  fmt::print("  kernel     {} ({})\n", e.kernel->name, tune::name_of(r.source));
  fmt::print("  grid       {} x {} x {} cubes, {} bytes of workspace\n", e.cubes[0], e.cubes[1], e.cubes[2],
             e.workspace_bytes);
  if (r.bound_seconds > 0) {
    fmt::print("  bound      {} ({:.0f} GFLOP/s){}\n", format_seconds(r.bound_seconds),
               flops / r.bound_seconds * 1e-9,
               r.stopped_early ? "; tuning stopped early, the winner is close" : "");
  }
  if (r.launches > 0) {
    fmt::print("  tuning     {} launches, {} of device time, {} in all\n", r.launches,
               format_seconds(r.device_seconds), format_seconds(r.total_seconds));
  }
  for (const auto& c : r.candidates) {
    const std::string time = c.seconds > 0 ? fmt::format("{:>10}  {:6.1f} GFLOP/s", format_seconds(c.seconds),
                                                         flops / c.seconds * 1e-9)
                                           : fmt::format("{:>10}  {:14}", "-", "");
    fmt::print("  {} {:52} {}  {}\n", c.name == r.winner ? "*" : " ", c.name, time, c.skipped_reason);
  }
  if (!code.empty()) fmt::print("\n{}\n", code);
  return 0;
}

}  // namespace strata::tool
