/// Losses. Their results are reduced as the first template argument says: the mean over all elements (or
/// rows) unless told otherwise. All are differentiable by their Float operands.
#pragma once

#include "strata/functional.hpp"

namespace strata::inline v0 {

enum class Reduction : std::uint8_t { mean, sum, none };

namespace detail {
template <Reduction R, int D>
Tensor<R == Reduction::none ? D : 0> reduced(const Tensor<D>& x) {
  if constexpr (R == Reduction::none) {
    return x;
  } else {
    return R == Reduction::mean ? x.mean() : x.sum();
  }
}
}  // namespace detail

// ---- of numbers

template <Reduction R = Reduction::mean, int D>
auto mse_loss(const Tensor<D>& x, const Tensor<D>& target) {
  return detail::reduced<R>((x - target).square());
}
template <Reduction R = Reduction::mean, int D>
auto l1_loss(const Tensor<D>& x, const Tensor<D>& target) {
  return detail::reduced<R>((x - target).abs());
}
/// Quadratic within delta, linear beyond, with slope delta.
template <Reduction R = Reduction::mean, int D>
auto huber_loss(const Tensor<D>& x, const Tensor<D>& target, double delta = 1) {
  const auto e = (x - target).abs(), small = e.min_with(delta);
  return detail::reduced<R>(small * (e - small * 0.5));
}
/// Quadratic within beta, linear beyond, with slope 1; beta > 0.
template <Reduction R = Reduction::mean, int D>
auto smooth_l1_loss(const Tensor<D>& x, const Tensor<D>& target, double beta = 1) {
  return huber_loss<R>(x, target, beta) / beta;
}
/// Of the logarithm of a Poisson rate and counts, without the term that depends on the counts alone.
template <Reduction R = Reduction::mean, int D>
auto poisson_nll_loss(const Tensor<D>& log_rate, const Tensor<D>& count) {
  return detail::reduced<R>(log_rate.exp() - count * log_rate);
}
/// Of the mean and variance (at least eps) of a normal distribution, without the constant.
template <Reduction R = Reduction::mean, int D>
auto gaussian_nll_loss(const Tensor<D>& mean, const Tensor<D>& target, const Tensor<D>& variance,
                       double eps = 1e-6) {
  const auto v = variance.max_with(eps);
  return detail::reduced<R>((v.log() + (mean - target).square() / v) * 0.5);
}

// ---- of probabilities and scores

struct CrossEntropyOptions {
  double label_smoothing = 0;        ///< part of a target that is shared among all classes
  std::int64_t ignore_index = -100;  ///< a target that counts for nothing
  int axis = 1;                      ///< of the classes; a vector has but one
};
/// Of class scores [n, classes, ...] and class numbers [n, ...]. A mean is weighted: divided by the sum of
/// the weights of the targets that count (NaN where none does). IndexError for a target that is no class.
template <Reduction R = Reduction::mean, int D>
requires(D >= 1) auto cross_entropy(const Tensor<D>& logits, const Tensor<D - 1, Int>& target,
                                    const CrossEntropyOptions& o = {}) {
  return Tensor < R == Reduction::none
             ? D - 1
             : 0 > (detail::cross_entropy(logits.value(), target.value(), {}, D == 1 ? 0 : o.axis,
                                          o.label_smoothing, o.ignore_index, R == Reduction::none,
                                          R == Reduction::mean));
}
/// With a weight for each class.
template <Reduction R = Reduction::mean, int D>
requires(D >= 1) auto cross_entropy(const Tensor<D>& logits, const Tensor<D - 1, Int>& target,
                                    const Tensor<1>& weights, const CrossEntropyOptions& o = {}) {
  return Tensor < R == Reduction::none
             ? D - 1
             : 0 > (detail::cross_entropy(logits.value(), target.value(), weights.value(),
                                          D == 1 ? 0 : o.axis, o.label_smoothing, o.ignore_index,
                                          R == Reduction::none, R == Reduction::mean));
}
/// Of class scores and class probabilities, both [n, classes, ...]; a mean is over all but the classes.
template <Reduction R = Reduction::mean, int D>
requires(D >= 1) auto cross_entropy(const Tensor<D>& logits, const Tensor<D>& target,
                                    const CrossEntropyOptions& o = {}) {
  const int axis = D == 1 ? 0 : o.axis;
  const auto share = o.label_smoothing / static_cast<double>(logits.dim(axis));
  const auto smooth = target * (1 - o.label_smoothing) + share;
  return detail::reduced<R>(-(smooth * logits.log_softmax(axis)).sum(axis));
}
/// Cross entropy of logarithms of probabilities [n, classes, ...] and class numbers [n, ...].
template <Reduction R = Reduction::mean, int D>
requires(D >= 1) auto nll_loss(const Tensor<D>& log_probs, const Tensor<D - 1, Int>& target,
                               std::int64_t ignore_index = -100) {
  return Tensor < R == Reduction::none
             ? D - 1
             : 0 > (detail::nll_loss(log_probs.value(), target.value(), {}, D == 1 ? 0 : 1, ignore_index,
                                     R == Reduction::none, R == Reduction::mean));
}
template <Reduction R = Reduction::mean, int D>
requires(D >= 1) auto nll_loss(const Tensor<D>& log_probs, const Tensor<D - 1, Int>& target,
                               const Tensor<1>& weights, std::int64_t ignore_index = -100) {
  return Tensor < R == Reduction::none
             ? D - 1
             : 0 > (detail::nll_loss(log_probs.value(), target.value(), weights.value(), D == 1 ? 0 : 1,
                                     ignore_index, R == Reduction::none, R == Reduction::mean));
}
/// target (log target - log_probs), 0 where the target is 0. The divergence of distributions is a sum.
template <Reduction R = Reduction::mean, int D>
auto kl_div(const Tensor<D>& log_probs, const Tensor<D>& target) {
  const auto positive = target.mask_fill(target.equal(0), 1);
  return detail::reduced<R>(target * (positive.log() - log_probs));
}
/// With the target's logarithms.
template <Reduction R = Reduction::mean, int D>
auto kl_div_of_logs(const Tensor<D>& log_probs, const Tensor<D>& log_target) {
  return detail::reduced<R>(log_target.exp() * (log_target - log_probs));
}
/// Of probabilities and targets in [0, 1]; logarithms below -100 count as -100.
template <Reduction R = Reduction::mean, int D>
auto binary_cross_entropy(const Tensor<D>& p, const Tensor<D>& target) {
  const auto yes = p.log().max_with(-100), no = (-p).log1p().max_with(-100);
  return detail::reduced<R>(-(target * yes + (1 - target) * no));
}
/// Of scores and targets in [0, 1]: max(x, 0) - x t + log(1 + exp(-|x|)), stable for any score.
template <Reduction R = Reduction::mean, int D>
auto binary_cross_entropy_with_logits(const Tensor<D>& x, const Tensor<D>& target) {
  return detail::reduced<R>(x.max_with(0) - x * target + (-x.abs()).exp().log1p());
}
/// With a factor for what positive targets count; it broadcasts to x.
template <Reduction R = Reduction::mean, int D, int E>
requires(E <= D) auto binary_cross_entropy_with_logits(const Tensor<D>& x, const Tensor<D>& target,
                                                       const Tensor<E>& positive_weight) {
  const auto factor = (positive_weight - 1) * target + 1;
  const auto log_no = (-x.abs()).exp().log1p() + (-x).max_with(0);  // log(1 + exp(-x))
  return detail::reduced<R>((1 - target) * x + factor * log_no);
}

// ---- of distances and margins; labels are 1 or -1

/// log(1 + exp(-label x)).
template <Reduction R = Reduction::mean, int D>
auto soft_margin_loss(const Tensor<D>& x, const Tensor<D>& label) {
  return detail::reduced<R>((-label * x).softplus());
}
/// x where the label is 1, max(0, margin - x) where it is -1.
template <Reduction R = Reduction::mean, int D>
auto hinge_embedding_loss(const Tensor<D>& x, const Tensor<D>& label, double margin = 1) {
  return detail::reduced<R>(label.greater(0).where(x, (margin - x).max_with(0)));
}
/// max(0, margin - label (a - b)).
template <Reduction R = Reduction::mean, int D>
auto margin_ranking_loss(const Tensor<D>& a, const Tensor<D>& b, const Tensor<D>& label, double margin = 0) {
  return detail::reduced<R>((margin - label * (a - b)).max_with(0));
}
/// Of vectors [n, k] and labels [n]: 1 - cosine where the label is 1, max(0, cosine - margin) where it is -1.
template <Reduction R = Reduction::mean>
auto cosine_embedding_loss(const Tensor<2>& a, const Tensor<2>& b, const Tensor<1>& label,
                           double margin = 0) {
  const Tensor<1> cosine = cosine_similarity(a, b, 1);
  return detail::reduced<R>(label.greater(0).where(1 - cosine, (cosine - margin).max_with(0)));
}
/// Of vectors [n, k]: max(0, |anchor - positive| - |anchor - negative| + margin) in the p-norm.
template <Reduction R = Reduction::mean>
auto triplet_margin_loss(const Tensor<2>& anchor, const Tensor<2>& positive, const Tensor<2>& negative,
                         double margin = 1, double p = 2) {
  const Tensor<1> near = (anchor - positive).norm(p, 1), far = (anchor - negative).norm(p, 1);
  return detail::reduced<R>((near - far + margin).max_with(0));
}

// ---- of sequences

struct CtcOptions {
  std::int64_t blank = 0;
  bool zero_infinity =
      false;  ///< 0 where no path gives the targets, also the gradient; else infinity and NaN
};
/// Connectionist temporal classification (Graves et al., 2006): log_probs [time, batch, classes], targets
/// [batch, longest], of which sample i uses the first target_lengths[i] in the first input_lengths[i] steps.
/// A mean is of losses divided by their target's length (at least 1). IndexError for lengths and targets out
/// of range.
template <Reduction R = Reduction::mean>
auto ctc_loss(const Tensor<3>& log_probs, const Tensor<2, Int>& targets, const Tensor<1, Int>& input_lengths,
              const Tensor<1, Int>& target_lengths, const CtcOptions& o = {}) {
  const Tensor<1> losses(detail::ctc_loss(log_probs.value(), targets.value(), input_lengths.value(),
                                          target_lengths.value(), o.blank, o.zero_infinity,
                                          R == Reduction::mean));
  return detail::reduced<R>(losses);
}

}  // namespace strata::inline v0
