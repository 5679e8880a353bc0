#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

/// [..., m, k] as [product of all but the last axis, k].
ValueRef as_matrix(const ValueRef& x) {
  const auto columns = x->shape.back();
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < x->shape.rank(); ++i) rows *= x->shape[i];
  return bridge::reshape(x, {rows, columns});
}

}  // namespace

Saves saves(const op::Matmul&, InputSet tracked) {
  return {(tracked & 1u ? 2u : 0u) | (tracked & 2u ? 1u : 0u), false};
}

// c = a b: da = dc b^T, db = a^T dc, summed over the batch axes along which an operand was broadcast.
void differentiate(const op::Matmul& op, Step& step) {
  const auto product = [&](const ValueRef& a, const ValueRef& b) {
    return bridge::matmul(a, b, op.precision);
  };
  const auto& dc = step.gradient();
  if (step.needs(0)) step.give_broadcast(0, product(dc, bridge::transpose(step.input(1))));
  if (!step.needs(1)) return;
  const auto a = step.input(0);
  if (step.input_type(1).shape.rank() == 2 && dc->shape.rank() > 2) {
    // One matrix for a whole batch, as in a linear layer: the batch joins the rows and the sum happens in the
    // product.
    step.give(1, product(bridge::transpose(as_matrix(a)), as_matrix(dc)));
  } else {
    step.give_broadcast(1, product(bridge::transpose(a), dc));
  }
}

}  // namespace strata::autodiff
