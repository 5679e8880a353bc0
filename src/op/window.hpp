/// Families that slide a window over one to three spatial axes: convolution and pooling. Tensors are
/// [batch, channels, spatial...]; per-axis attributes have one entry for each spatial axis.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"

namespace strata::op {

/// inputs: x [n, c, ...], weight [k, c / groups, ...]; the result is [n, k, ...] (cross-correlation, as
/// everywhere in deep learning). `padding` zeros lie on both sides and take part in the arithmetic, so that
/// 0 * inf is NaN there too. Transposed: weight [c, k / groups, ...], the gradient of the convolution from
/// [n, k, ...] to [n, c, ...] with the same attributes, whose result has `extra` more entries at the end of
/// each axis. Floats.
struct Conv {
  Dims stride, padding, dilation;
  std::int64_t groups = 1;
  bool transposed = false;
  Dims extra;  ///< transposed only; empty: none
  bool operator==(const Conv&) const = default;
};

/// Largest element or mean of each window; x [n, c, ...]. Padding never wins a maximum and counts in a mean
/// as zeros only with `count_padding`. With `ceil_mode` a last window may begin inside x or its left padding
/// and reach beyond its right padding; what lies beyond is never counted. NaN wins a maximum.
struct Pool {
  PoolKind kind{};
  Dims window, stride, padding, dilation;
  bool ceil_mode = false;
  bool count_padding = true;
  bool operator==(const Pool&) const = default;
};

/// Where Pool{max} found its elements: i64 positions in the flattened spatial axes of x, the first of equal
/// ones.
struct ArgPool {
  Dims window, stride, padding, dilation;
  bool ceil_mode = false;
  bool operator==(const ArgPool&) const = default;
};

TensorTypes infer(const Conv&, const Site&);
TensorTypes infer(const Pool&, const Site&);
TensorTypes infer(const ArgPool&, const Site&);

/// Entries of the result along one axis of `extent` entries.
std::int64_t pooled_extent(std::int64_t extent, std::int64_t window, std::int64_t stride,
                           std::int64_t padding, std::int64_t dilation, bool ceil_mode);

}  // namespace strata::op
