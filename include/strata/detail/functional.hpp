/// The compiled body under functional.hpp. Not part of the public API.
#pragma once

#include <span>

#include "strata/detail/ops.hpp"

namespace strata::detail {

using Extents = std::span<const std::int64_t>;

STRATA_API std::vector<ValueRef> linalg(op::LinalgKind kind, const std::vector<ValueRef>& operands);
STRATA_API ValueRef kron(const ValueRef& a, const ValueRef& b);
STRATA_API ValueRef conv(const ValueRef& x, const ValueRef& weight, Extents stride, Extents padding,
                         Extents dilation, std::int64_t groups, bool transposed, Extents output_padding);
STRATA_API ValueRef pool(op::PoolKind kind, const ValueRef& x, Extents window, Extents stride,
                         Extents padding, Extents dilation, bool ceil_mode, bool count_padding);
STRATA_API ValueRef arg_pool(const ValueRef& x, Extents window, Extents stride, Extents padding,
                             Extents dilation, bool ceil_mode);
STRATA_API ValueRef adaptive_pool(op::PoolKind kind, const ValueRef& x, Extents size);
/// nearest takes floor(i * in / out); cubic has the kernel of Keys (1981) with a = -0.75.
enum class Interpolation : std::uint8_t { nearest, linear, cubic };
STRATA_API ValueRef interpolate(const ValueRef& x, Extents size, Interpolation how, bool align_corners);
STRATA_API ValueRef group_norm(const ValueRef& x, std::int64_t groups, const ValueRef& weight,
                               const ValueRef& bias, double eps);
STRATA_API ValueRef batch_norm(const ValueRef& x, const ValueRef& mean, const ValueRef& variance,
                               const ValueRef& weight, const ValueRef& bias, double eps);
STRATA_API ValueRef embedding(const ValueRef& table, const ValueRef& index);
/// `mask` may be null, bool or float.
STRATA_API ValueRef attention(const ValueRef& q, const ValueRef& k, const ValueRef& v, const ValueRef& mask,
                              bool causal, double scale);
/// `weights` may be null. Losses of the rows, or reduced to rank 0: their mean or their sum.
STRATA_API ValueRef cross_entropy(const ValueRef& logits, const ValueRef& target, const ValueRef& weights,
                                  int axis, double label_smoothing, std::int64_t ignore_index, bool rows,
                                  bool mean);
STRATA_API ValueRef nll_loss(const ValueRef& log_probs, const ValueRef& target, const ValueRef& weights,
                             int axis, std::int64_t ignore_index, bool rows, bool mean);
/// Each divided by the length of its target where `per_label`.
STRATA_API ValueRef ctc_loss(const ValueRef& log_probs, const ValueRef& targets,
                             const ValueRef& input_lengths, const ValueRef& target_lengths,
                             std::int64_t blank, bool zero_infinity, bool per_label);

}  // namespace strata::detail
