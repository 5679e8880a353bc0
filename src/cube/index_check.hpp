/// Indices that are data, on devices whose launches nobody waits for: kernels report an entry that is out of
/// range and go on with a harmless one; see runtime/check.hpp.
#pragma once

#include "cube/cube_backend.hpp"
#include "cube/index_math.hpp"

namespace strata::cube {

/// For a launch that reads or writes at `index` on `axis` of a tensor of type `x`. The kernel reports the
/// row-major number of an entry of `index`; the error is that of the first.
runtime::CheckRef index_check(const CubeBackend& backend, std::string_view op, int axis,
                              const op::TensorType& x, const CubeRef& index);

inline kernel::Val in_range(kernel::Val index, kernel::Val extent) { return (index >= 0) & (index < extent); }
/// The index, or 0 in place of one that is out of range, whose number goes to `check`.
inline kernel::Val checked_index(const kernel::Buffer& check, kernel::Val index, kernel::Val extent,
                                 kernel::Val number) {
  const kernel::Val good = in_range(index, extent);
  kernel::if_(!good, [&] { check.atomic_min(0, number); });
  return kernel::select(good, index, 0);
}

}  // namespace strata::cube
