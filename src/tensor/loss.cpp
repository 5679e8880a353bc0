#include "bridge/bridge.hpp"
#include "strata/detail/functional.hpp"

namespace strata::detail {
namespace {

using bridge::mul;
using op::CompareKind;
using op::ReduceKind;

/// Rows and their classes, with the classes last.
ValueRef classes_last(const ValueRef& x, int axis, std::string_view op) {
  return move_axis(x, bridge::normalise_axis(axis, x->shape.rank(), op), x->shape.rank() - 1);
}

/// The targets that are ignored, and all targets with class 0 in their place.
struct Targets {
  ValueRef ignored, classes;

  Targets(const ValueRef& target, std::int64_t ignore_index)
      : ignored(bridge::compare(CompareKind::equal, target, bridge::scalar_like(target, ignore_index))),
        classes(bridge::where(ignored, bridge::scalar_like(target, 0), target)) {}
  /// How much each row counts.
  ValueRef weights(const ValueRef& of_classes, const ValueRef& like) const {
    const auto zero = bridge::scalar_like(like, 0);
    if (!of_classes) return bridge::where(ignored, zero, bridge::scalar_like(like, 1));
    const auto flat = bridge::reshape(classes, {classes->shape.product()});
    const auto own = bridge::reshape(bridge::select(of_classes, 0, flat), classes->shape);
    return bridge::where(ignored, zero, bridge::cast(own, like->dtype));
  }
};

/// Sums in the precision that halves are summed in, so that a mean rounds once.
ValueRef sum_of(const ValueRef& x) {
  return bridge::reduce_all(ReduceKind::sum, bridge::cast(x, bridge::wide(x->dtype)));
}

ValueRef reduced(const ValueRef& losses, const ValueRef& target, const ValueRef& weights,
                 std::int64_t ignore_index, bool rows, bool mean) {
  if (rows) return losses;
  const auto sum = sum_of(losses);
  if (!mean) return bridge::cast(sum, losses->dtype);
  const auto counts = Targets(target, ignore_index).weights(weights, sum);
  return bridge::cast(bridge::div(sum, sum_of(counts)), losses->dtype);
}

}  // namespace

ValueRef cross_entropy(const ValueRef& logits, const ValueRef& target, const ValueRef& weights, int axis,
                       double label_smoothing, std::int64_t ignore_index, bool rows, bool mean) {
  const auto scores = classes_last(logits, axis, "cross_entropy");
  const auto losses = bridge::cross_entropy({label_smoothing, ignore_index}, scores, target, weights)[0];
  return reduced(losses, target, weights, ignore_index, rows, mean);
}

ValueRef nll_loss(const ValueRef& log_probs, const ValueRef& target, const ValueRef& weights, int axis,
                  std::int64_t ignore_index, bool rows, bool mean) {
  const auto scores = classes_last(log_probs, axis, "nll_loss");
  const Targets targets(target, ignore_index);
  Shape column = target->shape;
  column.push_back(1);
  const auto picked = bridge::gather(scores, -1, bridge::reshape(targets.classes, column));
  const auto own = bridge::reshape(bridge::neg(picked), target->shape);
  const auto zero = bridge::scalar_like(own, 0);
  auto losses = bridge::where(targets.ignored, zero, own);
  if (weights) losses = mul(losses, targets.weights(weights, losses));
  return reduced(losses, target, weights, ignore_index, rows, mean);
}

ValueRef ctc_loss(const ValueRef& log_probs, const ValueRef& targets, const ValueRef& input_lengths,
                  const ValueRef& target_lengths, std::int64_t blank, bool zero_infinity, bool per_label) {
  const auto losses = bridge::ctc({blank, zero_infinity}, log_probs, targets, input_lengths, target_lengths);
  if (!per_label) return losses;
  const auto lengths = bridge::binary(op::BinaryKind::max, target_lengths, op::Number(1));
  return bridge::div(losses, bridge::cast(lengths, losses->dtype));
}

}  // namespace strata::detail
