#include "cube/matmul/matmul.hpp"

#include "cube/matmul/engine.hpp"
#include "trace/span.hpp"

namespace strata::cube::matmul {

namespace {

std::vector<op::View> views_of(backend::Inputs inputs) {
  std::vector<op::View> views;
  views.reserve(inputs.size());
  for (const auto& v : inputs) views.push_back(static_cast<const CubeValue&>(*v).view());
  return views;
}

Problem describe_for(const Engine& engine, const Block& block, std::span<const op::View> views) {
  auto problem = describe(block, views);
  // Nothing there is faster for being less exact: one plan serves every precision.
  if (engine.machine().vectors) problem.precision = Precision::exact;
  return problem;
}

}  // namespace

std::vector<backend::ValueRef> execute(CubeBackend& backend, const Block& block, backend::Inputs inputs) {
  auto& engine = Engine::of(backend);
  const auto problem = describe_for(engine, block, views_of(inputs));
  Operands operands;
  operands.buffers.reserve(inputs.size() + block.outputs.size() + 1);
  const auto bind = [&](int value) {
    const auto& buffer = static_cast<const CubeValue&>(*inputs[static_cast<std::size_t>(value)]).buffer;
    operands.real = operands.real && buffer;
    operands.buffers.push_back(buffer);
  };
  bind(problem.a_value);
  bind(problem.b_value);
  for (const auto& e : problem.extras) bind(e.value);
  std::vector<backend::ValueRef> results;
  results.reserve(block.outputs.size());
  for (const auto v : block.outputs) {
    const auto out = backend.allocate(block.type(v));
    operands.buffers.push_back(out->buffer);
    results.push_back(out);
  }
  engine.run(problem, operands);
  return results;
}

Explanation explain(CubeBackend& backend, std::int64_t m, std::int64_t n, std::int64_t k, DType dtype,
                    bool transpose_a, bool transpose_b, Precision precision) {
  Block block;
  block.inputs = {{dtype, {m, k}}, {dtype, {k, n}}};
  block.nodes.push_back({op::Matmul{precision}, {0, 1}, {dtype, {m, n}}});
  block.outputs = {2};
  const auto view = [](std::int64_t rows, std::int64_t cols, bool transposed) {
    return op::View{{rows, cols}, transposed ? Strides{1, rows} : Strides{cols, 1}, 0};
  };
  const op::View views[] = {view(m, k, transpose_a), view(k, n, transpose_b)};
  auto& engine = Engine::of(backend);
  const auto problem = describe_for(engine, block, views);
  Operands operands;
  for (const auto& [rows, cols] : {std::pair{m, k}, std::pair{k, n}}) {
    // A small whole number everywhere: real work, and no rounding to argue about.
    const op::Fill fill{{rows, cols}, dtype, op::Number(1)};
    const auto value = backend.execute(fill, {})[0];
    operands.buffers.push_back(static_cast<const CubeValue&>(*value).buffer);
  }
  if (problem.a_value != 0) std::swap(operands.buffers[0], operands.buffers[1]);
  operands.buffers.push_back(backend.allocate({dtype, {m, n}})->buffer);
  auto [plan, record] = engine.settle(problem, operands);
  Explanation e;
  e.problem = to_string(problem);
  e.record = std::move(record);
  e.schedule = plan.schedule;
  e.kernel = plan.program.ir;
  e.cubes = {plan.cubes_x, plan.cubes_y, 1};
  e.workspace_bytes = plan.workspace * static_cast<std::int64_t>(kernel::size_of(accumulator(dtype)));
  return e;
}

}  // namespace strata::cube::matmul
