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
/// `mask` may be null.
STRATA_API ValueRef attention(const ValueRef& q, const ValueRef& k, const ValueRef& v, const ValueRef& mask,
                              bool causal, double scale);

}  // namespace strata::detail
