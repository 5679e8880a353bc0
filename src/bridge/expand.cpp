#include "bridge/expand.hpp"

#include "bridge/bridge.hpp"

namespace strata::bridge {
namespace {

ValueRef expanded(const op::Softmax& op, backend::Inputs inputs) {
  const auto& input = inputs[0];
  if (input->shape[op.axis] == 0) return input;
  const auto x = cast(input, wide(input->dtype));
  const auto shifted = sub(x, reduce(ReduceKind::max, x, {op.axis}, true));
  const auto powers = unary(UnaryKind::exp, shifted);
  const auto sum = reduce(ReduceKind::sum, powers, {op.axis}, true);
  return cast(op.log ? sub(shifted, unary(UnaryKind::log, sum)) : div(powers, sum), input->dtype);
}

ValueRef expanded(const op::Norm& op, backend::Inputs inputs) {
  const auto& input = inputs[0];
  const auto type = wide(input->dtype);
  const Axes last{input->shape.rank() - 1};
  auto x = cast(input, type);
  if (op.kind == op::NormKind::layer) x = sub(x, reduce(ReduceKind::mean, x, last, true));
  const auto square = reduce(ReduceKind::mean, mul(x, x), last, true);
  auto y = mul(x, unary(UnaryKind::rsqrt, add(square, op.eps)));
  if (inputs.size() > 1) y = mul(y, cast(inputs[1], type));
  if (inputs.size() > 2) y = add(y, cast(inputs[2], type));
  return cast(y, input->dtype);
}

}  // namespace

bool expands(const op::Operation& op) {
  return std::holds_alternative<op::Softmax>(op) || std::holds_alternative<op::Norm>(op);
}

ValueRef expand(const op::Operation& op, backend::Inputs inputs) {
  if (const auto* softmax = std::get_if<op::Softmax>(&op)) return expanded(*softmax, inputs);
  return expanded(std::get<op::Norm>(op), inputs);
}

}  // namespace strata::bridge
