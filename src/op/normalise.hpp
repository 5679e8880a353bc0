/// Families that scale a tensor by statistics of its own: softmax and norms. Each equals its expansion into
/// simpler families up to rounding (bridge/expand.hpp); halves are computed in f32 and round once.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"

namespace strata::op {

/// exp(x - max) / sum of the same along `axis`, or its logarithm. A slice that is all -inf gives NaN. Floats.
struct Softmax {
  int axis = 0;
  bool log = false;
  bool operator==(const Softmax&) const = default;
};

/// inputs: x [.., n], then weight [n], then bias [n] (both may be absent, bias needs weight). Over the last
/// axis, with biased variance: layer: (x - mean) / sqrt(variance + eps); rms: x / sqrt(mean of squares +
/// eps); then times weight, plus bias. Floats.
struct Norm {
  NormKind kind{};
  double eps = 1e-5;
  bool operator==(const Norm&) const = default;
};

TensorTypes infer(const Softmax&, const Site&);
TensorTypes infer(const Norm&, const Site&);

}  // namespace strata::op
