/// Attention, whole: neither the result nor its gradients need the [m, n] weights in memory.
#pragma once

#include "op/common.hpp"

namespace strata::op {

/// inputs: q [batch, heads, m, d], k [batch, groups, n, d], v [batch, groups, n, e] where groups divides
/// heads (head h uses group h * groups / heads), then (may be absent) a mask that broadcasts to [batch,
/// heads, m, n]: bool, true where a query may look, or of q's dtype, added to the scores. Floats; halves are
/// computed in f32 and round once. results: softmax(scale q k^T + mask) v, [batch, heads, m, e], and the
/// logarithm of the softmax's denominator, [batch, heads, m], of halves in f32. `causal`: query i looks at
/// keys up to i + n - m. A query that may look nowhere, or whose scores are all -infinity, gives zeros and
/// -infinity. v must be finite where nobody looks: a weight of 0 may or may not hide a NaN.
struct Attention {
  bool causal = false;
  double scale = 1;
  bool operator==(const Attention&) const = default;
};

/// inputs: q, k, v and a mask (may be absent) as above, then the second result of Attention (log_sum), the
/// gradient g [batch, heads, m, e] of the first, and delta [batch, heads, m] (dtype of log_sum): the row sums
/// of g times the first result, less the gradient of the second.
/// results: the gradients of q, k and v.
struct AttentionGradient {
  bool causal = false;
  double scale = 1;
  bool operator==(const AttentionGradient&) const = default;
};

TensorTypes infer(const Attention&, const Site&);
TensorTypes infer(const AttentionGradient&, const Site&);

}  // namespace strata::op
