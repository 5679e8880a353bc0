/// Index arithmetic inside kernels.
#pragma once

#include <span>

#include "kernel/builder.hpp"

namespace strata::cube {

/// Offset of element number `linear` (row-major) in a space whose axes have `strides`; `extents` are those of
/// all axes but the outermost, which is never needed. All i64.
kernel::Val offset_of(kernel::Val linear, std::span<const kernel::Val> extents,
                      std::span<const kernel::Val> strides);

inline kernel::Val index_constant(std::int64_t v) {
  return kernel::constant(kernel::make_type(kernel::Scalar::i64), v);
}

}  // namespace strata::cube
