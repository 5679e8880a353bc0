#include <limits>

#include "autodiff/autodiff.hpp"
#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using bridge::add;
using bridge::mul;
using bridge::neg;
using bridge::reduce;
using bridge::sub;
using bridge::unary;
using op::BinaryKind;
using op::CompareKind;
using op::ReduceKind;
using op::UnaryKind;

// ---- cross entropy

ValueRef column(const ValueRef& rows) {
  Shape shape = rows->shape;
  shape.push_back(1);
  return bridge::reshape(rows, shape);
}
ValueRef row_sums(const ValueRef& x) { return reduce(ReduceKind::sum, x, {x->shape.rank() - 1}, false); }

bool needs_weights(const Step& step, std::size_t i) { return step.inputs() > i && step.needs(i); }

/// exp(logits - log_sum).
ValueRef probabilities(const ValueRef& logits, const ValueRef& log_sum) {
  return unary(UnaryKind::exp, sub(bridge::cast(logits, log_sum->dtype), column(log_sum)));
}

ValueRef row_gradient(const op::CrossEntropyGradient& op, const ValueRef& logits, const ValueRef& target,
                      const ValueRef& log_sum, const ValueRef& g, const ValueRef& weights) {
  std::vector<ValueRef> inputs{logits, target, log_sum, g};
  if (weights) inputs.push_back(weights);
  return backend::execute(op, inputs)[0];
}

ValueRef is_ignored(const ValueRef& target, std::int64_t ignore_index) {
  return bridge::compare(CompareKind::equal, target, bridge::scalar_like(target, ignore_index));
}
/// The targets, class 0 in place of the ignored ones.
ValueRef classes_of(const ValueRef& target, const ValueRef& ignored) {
  return bridge::where(ignored, bridge::scalar_like(target, 0), target);
}

/// Of rows that are linear in the weights: with s = label_smoothing and t the target of each row that is not
/// ignored, the sum over rows of factor ((1 - s) w[t] d[t] + s / classes * sum of w[c] d[c]) has the gradient
/// (1 - s) * sum of factor d[t] over the rows with t = c, plus s / classes * sum of factor d[c] over all
/// rows.
template <class Op>
ValueRef weight_gradient(const Op& op, const ValueRef& d, const ValueRef& factor, const ValueRef& target,
                         DType dtype) {
  const auto zero = bridge::scalar_like(d, 0);
  const auto classes = d->shape.back(), rows = target->shape.product();
  if (classes == 0) return bridge::cast(bridge::expand(zero, {0}), dtype);
  const auto ignored = is_ignored(target, op.ignore_index);
  const auto own = classes_of(target, ignored);
  const auto at_target = bridge::reshape(bridge::gather(d, -1, column(own)), target->shape);
  const auto parts = bridge::where(ignored, zero, mul(mul(factor, at_target), 1 - op.label_smoothing));
  auto gradient = bridge::select_assign(bridge::expand(zero, {classes}), 0, bridge::reshape(own, {rows}),
                                        bridge::reshape(parts, {rows}), op::ScatterMode::add);
  if (op.label_smoothing > 0) {  // without it nothing is multiplied by 0: scores may be infinite
    const auto shared = bridge::where(column(ignored), zero, mul(column(factor), d));
    const auto sums = reduce(ReduceKind::sum, bridge::reshape(shared, {rows, classes}), {0}, false);
    gradient = add(gradient, mul(sums, op.label_smoothing / static_cast<double>(classes)));
  }
  return bridge::cast(gradient, dtype);
}

/// What the probabilities are multiplied by in the gradient of each row.
ValueRef row_factors(const op::CrossEntropyGradient& op, const ValueRef& target, const ValueRef& weights,
                     const ValueRef& like) {
  const auto zero = bridge::scalar_like(like, 0);
  const auto ignored = is_ignored(target, op.ignore_index);
  if (!weights) return bridge::where(ignored, zero, bridge::scalar_like(like, 1));
  const auto wide = bridge::cast(weights, like->dtype);
  const auto classes = bridge::reshape(classes_of(target, ignored), {target->shape.product()});
  const auto flat = bridge::select(wide, 0, classes);
  const auto own = mul(bridge::reshape(flat, target->shape), 1 - op.label_smoothing);
  const auto shared = mul(bridge::reduce_all(ReduceKind::mean, wide), op.label_smoothing);
  return bridge::where(ignored, zero, add(own, shared));
}

// ---- CTC

/// The loss of Ctc from simpler families, step by step; -1e30 stands for log 0, so that nothing is infinite.
class SpeltCtc {
 public:
  SpeltCtc(const op::CtcGradient& op, const ValueRef& log_probs, const ValueRef& targets,
           const ValueRef& input_lengths, const ValueRef& target_lengths)
      : steps_(column(bridge::cast(input_lengths, DType::i64))),
        labels_(column(bridge::cast(target_lengths, DType::i64))),
        low_(bridge::scalar_like(log_probs, -1e30)),
        batch_(log_probs->shape[1]),
        states_(2 * targets->shape[1] + 1) {
    auto& home = log_probs->backend;
    const auto longest = targets->shape[1];
    const auto blank = bridge::fill(home, {}, DType::i64, op.blank);
    const auto place = bridge::iota(home, longest, DType::i64, 0, 1);
    const auto own = bridge::where(bridge::compare(CompareKind::less, place, labels_),
                                   bridge::cast(targets, DType::i64), blank);
    const auto before = bridge::expand(blank, {batch_, longest, 1});
    const auto pairs = bridge::cat({before, bridge::reshape(own, {batch_, longest, 1})}, 2);
    const auto states =
        bridge::cat({bridge::reshape(pairs, {batch_, 2 * longest}), bridge::expand(blank, {batch_, 1})}, 1);
    const auto two_back =
        bridge::slice(bridge::pad(states, {0, 2}, {0, 0}, -1), {0, 0}, {batch_, states_}, {1, 1});
    const auto number = bridge::iota(home, states_, DType::i64, 0, 1);
    skips_ = bridge::binary(BinaryKind::bit_and, bridge::compare(CompareKind::not_equal, states, two_back),
                            bridge::compare(CompareKind::greater, number, 1));
    const auto time = log_probs->shape[0];
    emitted_ = bridge::gather(
        log_probs, 2, bridge::expand(bridge::reshape(states, {1, batch_, states_}), {time, batch_, states_}));
    alpha_ = bridge::where(bridge::compare(CompareKind::less, number, 2), emitted(0), low_);
  }

  /// [batch]; at least 1e29 where no path fits.
  ValueRef loss() {
    for (std::int64_t t = 1; t < emitted_->shape[0]; ++t) {
      const auto next =
          add(log_sum({alpha_, shifted(1), bridge::where(skips_, shifted(2), low_)}), emitted(t));
      alpha_ = bridge::where(bridge::compare(CompareKind::greater, steps_, t), next, alpha_);
    }
    const auto last = bridge::mul(labels_, 2);
    const auto before = bridge::binary(BinaryKind::max, add(last, -1), op::Number(0));
    const auto ends = bridge::gather(alpha_, 1, bridge::cat({last, before}, 1));
    const auto a = bridge::slice(ends, {0, 0}, {batch_, 1}, {1, 1}),
               b = bridge::slice(ends, {0, 1}, {batch_, 2}, {1, 1});
    const auto has_labels = bridge::compare(CompareKind::greater, labels_, op::Number(0));
    return neg(bridge::reshape(log_sum({a, bridge::where(has_labels, b, low_)}), {batch_}));
  }

 private:
  ValueRef emitted(std::int64_t t) const {
    return bridge::reshape(bridge::slice(emitted_, {t, 0, 0}, {t + 1, batch_, states_}, {1, 1, 1}),
                           {batch_, states_});
  }
  /// alpha of the state `by` back.
  ValueRef shifted(std::int64_t by) const {
    return bridge::slice(bridge::pad(alpha_, {0, by}, {0, 0}, -1e30), {0, 0}, {batch_, states_}, {1, 1});
  }
  static ValueRef log_sum(const std::vector<ValueRef>& terms) {
    auto top = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) top = bridge::binary(BinaryKind::max, top, terms[i]);
    top = detach(top);  // its derivative is 0
    ValueRef sum;
    for (const auto& term : terms) {
      const auto power = unary(UnaryKind::exp, sub(term, top));
      sum = sum ? add(sum, power) : power;
    }
    return add(top, unary(UnaryKind::log, sum));
  }

  ValueRef steps_, labels_, low_;
  std::int64_t batch_, states_;
  ValueRef skips_, emitted_, alpha_;
};

/// CtcGradient from simpler families: the spelt-out loss, recorded and taken back on the backend of the
/// operands.
ValueRef spelt_gradient(const op::CtcGradient& op, const ValueRef& log_probs, const ValueRef& targets,
                        const ValueRef& input_lengths, const ValueRef& target_lengths) {
  Autodiff recorder(log_probs->backend);
  const auto leaf = track(recorder.lift(log_probs));
  const auto lift = [&](const ValueRef& v) { return recorder.lift(v); };
  const auto loss = SpeltCtc(op, leaf, lift(targets), lift(input_lengths), lift(target_lengths)).loss();
  const auto gradient = backward(loss).get(leaf);
  const auto across = [&](const ValueRef& samples) {
    return bridge::reshape(samples, {1, log_probs->shape[1], 1});
  };
  const auto impossible = bridge::compare(CompareKind::greater, inner(loss), 1e29);
  const auto unused = bridge::compare(CompareKind::equal, input_lengths, op::Number(0));
  const auto undefined =
      bridge::scalar_like(gradient, op.zero_infinity ? 0 : std::numeric_limits<double>::quiet_NaN());
  const auto defined = bridge::where(across(impossible), undefined, gradient);
  return bridge::where(across(unused), bridge::scalar_like(gradient, 0), defined);
}

}  // namespace

void differentiate(const CrossEntropyResult& op, Step& step) {
  const auto logits = step.input(0);
  const auto weights = step.inputs() > 2 ? step.input(2) : ValueRef();
  if (op.index == 1) {
    if (needs_weights(step, 2)) step.give(2, bridge::zeros_like(weights));
    if (!step.needs(0)) return;
    const auto gradient = mul(column(step.gradient()), probabilities(logits, op.log_sum));
    return step.give(0, bridge::cast(gradient, logits->dtype));
  }
  if (needs_weights(step, 2)) {
    const auto type = op.log_sum->dtype;
    const auto d = sub(column(op.log_sum), bridge::cast(logits, type));
    step.give(2,
              weight_gradient(op.op, d, bridge::cast(step.gradient(), type), step.input(1), weights->dtype));
  }
  if (!step.needs(0)) return;
  step.give(0, row_gradient({op.op.label_smoothing, op.op.ignore_index}, logits, step.input(1), op.log_sum,
                            step.gradient(), weights));
}

Saves saves(const op::CrossEntropyGradient&, InputSet) { return {0b11111u, false}; }

void differentiate(const op::CrossEntropyGradient& op, Step& step) {
  const auto logits = step.input(0), target = step.input(1), log_sum = step.input(2), g = step.input(3);
  const auto weights = step.inputs() > 4 ? step.input(4) : ValueRef();
  const auto h = bridge::cast(step.gradient(), log_sum->dtype);
  if (step.needs(3)) {
    const auto one = bridge::expand(bridge::scalar_like(g, 1), g->shape);
    const auto unit = bridge::cast(row_gradient(op, logits, target, log_sum, one, weights), log_sum->dtype);
    step.give(3, bridge::cast(row_sums(mul(h, unit)), g->dtype));
  }
  if (needs_weights(step, 4)) {  // d[c] = sum of h p, less h[c]
    const auto d = sub(column(row_sums(mul(h, probabilities(logits, log_sum)))), h);
    step.give(4, weight_gradient(op, d, bridge::cast(g, log_sum->dtype), target, weights->dtype));
  }
  if (!step.needs(0) && !step.needs(2)) return;
  const auto factors = mul(bridge::cast(g, log_sum->dtype), row_factors(op, target, weights, log_sum));
  const auto by_scores = mul(mul(h, column(factors)), probabilities(logits, log_sum));
  if (step.needs(0)) step.give(0, bridge::cast(by_scores, logits->dtype));
  if (step.needs(2)) step.give(2, neg(row_sums(by_scores)));
}

Saves saves(const op::Ctc&, InputSet) { return {0b1111u, false}; }

void differentiate(const op::Ctc& op, Step& step) {
  const std::vector<ValueRef> inputs{step.input(0), step.input(1), step.input(2), step.input(3)};
  const auto gradient = backend::execute(op::CtcGradient{op.blank, op.zero_infinity}, inputs)[0];
  step.give(0, mul(bridge::reshape(step.gradient(), {1, gradient->shape[1], 1}), gradient));
}

Saves saves(const op::CtcGradient&, InputSet) { return {0b1111u, false}; }

void differentiate(const op::CtcGradient& op, Step& step) {
  const auto log_probs = step.input(0);
  if (log_probs->shape.product() == 0) return step.give(0, bridge::zeros_like(log_probs));
  const auto type = bridge::wide(log_probs->dtype);
  Autodiff recorder(log_probs->backend);
  const auto leaf = track(recorder.lift(bridge::cast(log_probs, type)));
  const auto lift = [&](std::size_t i) { return recorder.lift(step.input(i)); };
  const auto gradient = spelt_gradient(op, leaf, lift(1), lift(2), lift(3));
  const auto result = backward(gradient, bridge::cast(step.gradient(), type)).get(leaf);
  step.give(0, bridge::cast(result, log_probs->dtype));
}

}  // namespace strata::autodiff
