#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using bridge::add;
using bridge::mul;
using bridge::reduce;
using bridge::sub;
using bridge::unary;
using op::ReduceKind;
using op::UnaryKind;

}  // namespace

Saves saves(const op::Softmax&, InputSet) { return {0, true}; }
Saves saves(const op::Norm&, InputSet tracked) {
  return {tracked & 1u ? 3u : 1u, false};  // the weight matters to x only
}

void differentiate(const op::Softmax& op, Step& step) {
  const auto y = step.output();
  const auto type = bridge::wide(y->dtype);
  const auto g = bridge::cast(step.gradient(), type), wide_y = bridge::cast(y, type);
  const Axes axes{op.axis};
  const auto result = op.log
                          ? sub(g, mul(unary(UnaryKind::exp, wide_y), reduce(ReduceKind::sum, g, axes, true)))
                          : mul(wide_y, sub(g, reduce(ReduceKind::sum, mul(g, wide_y), axes, true)));
  step.give(0, bridge::cast(result, y->dtype));
}

void differentiate(const op::Norm& op, Step& step) {
  const auto input = step.input(0);
  const auto type = bridge::wide(input->dtype);
  const auto g = bridge::cast(step.gradient(), type);
  const Axes last{input->shape.rank() - 1};
  const auto mean = [&](const ValueRef& v) { return reduce(ReduceKind::mean, v, last, true); };
  auto x = bridge::cast(input, type);
  if (op.kind == op::NormKind::layer) x = sub(x, mean(x));
  const auto scale = unary(UnaryKind::rsqrt, add(mean(mul(x, x)), op.eps));
  const auto y = mul(x, scale);  // before weight and bias
  const auto give_parameter = [&](std::size_t i, const ValueRef& gradient) {
    step.give(i, bridge::cast(bridge::sum_to(gradient, step.input_type(i).shape), input->dtype));
  };
  if (step.inputs() > 1 && step.needs(1)) give_parameter(1, mul(g, y));
  if (step.inputs() > 2 && step.needs(2)) give_parameter(2, g);
  if (!step.needs(0)) return;
  const auto inner = step.inputs() > 1 ? mul(g, bridge::cast(step.input(1), type)) : g;
  auto centred = sub(inner, mul(y, mean(mul(inner, y))));
  if (op.kind == op::NormKind::layer) centred = sub(centred, mean(inner));
  step.give(0, bridge::cast(mul(scale, centred), input->dtype));
}

}  // namespace strata::autodiff
