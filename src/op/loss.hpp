/// Losses that stay whole: one pass over each row of scores, or a recursion that simpler families would spell
/// out step by step.
#pragma once

#include "op/common.hpp"

namespace strata::op {

/// inputs: logits [.., classes], target [..] (i64 or i32: a class of each row), then the weight of each class
/// [classes] (may be absent: 1). With l = log(sum of exp(logits)), t = target and s = label_smoothing:
/// results: (1 - s) w[t] (l - logits[t]) + s / classes * sum of w[c] (l - logits[c]), and l (of halves in
/// f32); both [..]. Where the target is `ignore_index` the first is 0. Any other target outside [0, classes)
/// is an IndexError. Floats; halves are computed in f32 and round once.
struct CrossEntropy {
  double label_smoothing = 0;
  std::int64_t ignore_index = -100;
  bool operator==(const CrossEntropy&) const = default;
};

/// inputs: logits, target, the second result of CrossEntropy (log_sum), the gradient of the first (dtype of
/// logits), then weights (may be absent). result: the gradient of the logits.
struct CrossEntropyGradient {
  double label_smoothing = 0;
  std::int64_t ignore_index = -100;
  bool operator==(const CrossEntropyGradient&) const = default;
};

/// Connectionist temporal classification: Graves et al., 2006. inputs: log_probs [time, batch, classes]
/// (floats), targets [batch, longest], input_lengths [batch], target_lengths [batch] (i64 or i32).
/// result [batch]: minus the logarithm of the probability of all paths of classes through the first
/// input_length steps that give the first target_length targets when repetitions and then `blank`s are taken
/// out. Infinite where no path does; `zero_infinity`: 0 there, also the gradient. A length or target out of
/// range is an IndexError. Computed in f64.
struct Ctc {
  std::int64_t blank = 0;
  bool zero_infinity = false;
  bool operator==(const Ctc&) const = default;
};

/// inputs: as for Ctc. result: the gradient of each loss by log_probs, [time, batch, classes]: minus the
/// probability that the path is in that class at that time, given the targets; NaN where the loss is
/// infinite.
struct CtcGradient {
  std::int64_t blank = 0;
  bool zero_infinity = false;
  bool operator==(const CtcGradient&) const = default;
};

TensorTypes infer(const CrossEntropy&, const Site&);
TensorTypes infer(const CrossEntropyGradient&, const Site&);
TensorTypes infer(const Ctc&, const Site&);
TensorTypes infer(const CtcGradient&, const Site&);

}  // namespace strata::op
