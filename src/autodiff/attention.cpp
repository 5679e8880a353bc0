#include <limits>

#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using bridge::add;
using bridge::matmul;
using bridge::mul;
using bridge::neg;
using bridge::reduce;
using bridge::sub;
using op::BinaryKind;
using op::CompareKind;
using op::ReduceKind;
using op::UnaryKind;

ValueRef t(const ValueRef& x) { return bridge::transpose(x); }
ValueRef column(const ValueRef& rows) {
  Shape shape = rows->shape;
  shape.push_back(1);
  return bridge::reshape(rows, shape);
}
ValueRef row_sums(const ValueRef& x) { return reduce(ReduceKind::sum, x, {x->shape.rank() - 1}, false); }

/// [batch, groups, n, e], each group once for every head that uses it.
ValueRef per_head(const ValueRef& x, std::int64_t heads) {
  const auto b = x->shape[0], groups = x->shape[1], n = x->shape[2], e = x->shape[3];
  if (groups == heads) return x;
  const auto split = bridge::reshape(x, {b, groups, 1, n, e});
  return bridge::reshape(bridge::expand(split, {b, groups, heads / groups, n, e}), {b, heads, n, e});
}
/// The gradient of `per_head`.
ValueRef per_group(const ValueRef& x, std::int64_t groups) {
  const auto b = x->shape[0], heads = x->shape[1], n = x->shape[2], e = x->shape[3];
  if (groups == heads) return x;
  const auto split = bridge::reshape(x, {b, groups, heads / groups, n, e});
  return reduce(ReduceKind::sum, split, {2}, false);
}

/// The gradient of attention spelt out, for what is asked for rarely: second derivatives, and the gradient of
/// a mask. Everything is as wide as the sums and there once for every head.
struct Spelt {
  std::int64_t groups;
  ValueRef q;  ///< times scale
  ValueRef k, v, g, weights, difference, slopes;

  /// `inputs`: those of AttentionGradient; `mask` may be null.
  Spelt(bool causal, double scale, const ValueRef& q_in, const ValueRef& k_in, const ValueRef& v_in,
        const ValueRef& mask, const ValueRef& log_sum, const ValueRef& gradient, const ValueRef& delta)
      : groups(k_in->shape[1]) {
    const auto type = bridge::wide(q_in->dtype);
    const auto heads = q_in->shape[1], m = q_in->shape[2], n = k_in->shape[2];
    q = mul(bridge::cast(q_in, type), scale);
    k = per_head(bridge::cast(k_in, type), heads);
    v = per_head(bridge::cast(v_in, type), heads);
    g = bridge::cast(gradient, type);
    const auto nothing = bridge::scalar_like(q, -std::numeric_limits<double>::infinity());
    auto scores = matmul(q, t(k));
    if (mask) {
      scores = mask->dtype == DType::boolean ? bridge::where(mask, scores, nothing)
                                             : add(scores, bridge::cast(mask, type));
    }
    if (causal) {
      const auto last = bridge::reshape(bridge::iota(q->backend, m, DType::i64, n - m, 1), {m, 1});
      const auto key = bridge::iota(q->backend, n, DType::i64, 0, 1);
      scores = bridge::where(bridge::compare(CompareKind::less_equal, key, last), scores, nothing);
    }
    // A query that looks nowhere has only scores of -infinity: any finite number makes its weights 0.
    const auto nowhere = bridge::compare(CompareKind::equal, log_sum, nothing);
    const auto whole = bridge::where(nowhere, bridge::scalar_like(log_sum, 0), log_sum);
    weights = bridge::unary(UnaryKind::exp, sub(scores, column(whole)));
    difference = sub(matmul(g, t(v)), column(delta));
    slopes = mul(weights, difference);
  }
};

/// Where the gradients of AttentionGradient's operands go.
struct Wanted {
  Step& step;
  std::size_t operands;  ///< q, k, v and perhaps a mask
  double scale;
  std::int64_t groups;

  void give(std::size_t i, const ValueRef& x) const {
    if (step.needs(i)) step.give_broadcast(i, bridge::cast(x, step.input_type(i).dtype));
  }
  void q(const ValueRef& scaled) const { give(0, mul(scaled, scale)); }
  void k(const ValueRef& x) const { give(1, per_group(x, groups)); }
  void v(const ValueRef& x) const { give(2, per_group(x, groups)); }
  void log_sum(const ValueRef& x) const { give(operands, x); }
  void gradient(const ValueRef& x) const { give(operands + 1, x); }
  void delta(const ValueRef& x) const { give(operands + 2, x); }
  bool mask() const { return operands > 3 && step.needs(3); }
};

}  // namespace

void differentiate(const AttentionResult& op, Step& step) {
  std::vector<ValueRef> inputs;
  for (std::size_t i = 0; i < step.inputs(); ++i) inputs.push_back(step.input(i));
  const auto& q = inputs[0];
  const auto type = bridge::wide(q->dtype);
  const bool of_log_sum = op.index == 1;
  const Shape out{q->shape[0], q->shape[1], q->shape[2], inputs[2]->shape[3]};
  const auto g = of_log_sum ? bridge::expand(bridge::scalar_like(q, 0), out) : step.gradient();
  const auto delta = of_log_sum ? neg(step.gradient())
                                : row_sums(mul(bridge::cast(g, type), bridge::cast(step.output(), type)));
  const auto mask = inputs.size() > 3 ? inputs[3] : ValueRef();
  if (step.needs(0) || step.needs(1) || step.needs(2)) {
    auto operands = inputs;
    for (const auto& x : {op.log_sum, g, delta}) operands.push_back(x);
    const auto gradients = backend::execute(op::AttentionGradient{op.op.causal, op.op.scale}, operands);
    for (std::size_t i = 0; i < 3; ++i) {
      if (step.needs(i)) step.give(i, gradients[i]);
    }
  }
  if (!mask || !step.needs(3)) return;
  const Spelt spelt(op.op.causal, op.op.scale, q, inputs[1], inputs[2], mask, op.log_sum, g, delta);
  step.give(3, bridge::cast(bridge::sum_to(spelt.slopes, mask->shape), mask->dtype));
}

void differentiate(const AttentionGradientResult& op, Step& step) {
  const auto operands = step.inputs() - 3;
  const auto mask = operands > 3 ? step.input(3) : ValueRef();
  const Spelt s(op.op.causal, op.op.scale, step.input(0), step.input(1), step.input(2), mask,
                step.input(operands), step.input(operands + 1), step.input(operands + 2));
  const Wanted to{step, operands, op.op.scale, s.groups};
  const auto heads = s.q->shape[1];
  const auto h = bridge::cast(step.gradient(), s.q->dtype);  // of dq, dk or dv
  ValueRef by_weights;
  if (op.index == 2) {  // dv = weights^T g
    const auto each = per_head(h, heads);
    to.gradient(matmul(s.weights, each));
    by_weights = matmul(s.g, t(each));
  } else {
    ValueRef by_slopes;
    if (op.index == 0) {  // dq = scale slopes k
      const auto scaled = mul(h, op.op.scale);
      by_slopes = matmul(scaled, t(s.k));
      to.k(matmul(t(s.slopes), scaled));
    } else {  // dk = slopes^T q
      const auto each = per_head(h, heads);
      by_slopes = matmul(s.q, t(each));
      to.q(matmul(s.slopes, each));
    }
    by_weights = mul(by_slopes, s.difference);
    const auto by_difference = mul(by_slopes, s.weights);
    to.gradient(matmul(by_difference, s.v));
    to.v(matmul(t(by_difference), s.g));
    to.delta(neg(row_sums(by_difference)));
  }
  const auto by_scores = mul(by_weights, s.weights);
  to.q(matmul(by_scores, s.k));
  to.k(matmul(t(by_scores), s.q));
  to.log_sum(neg(row_sums(by_scores)));
  if (to.mask()) to.give(3, by_scores);
}

}  // namespace strata::autodiff
