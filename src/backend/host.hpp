/// Running one operation on tensors that lie in host memory: what a device falls back to where it has no
/// kernel.
#pragma once

#include <functional>
#include <span>

#include "op/operation.hpp"

namespace strata::backend {

/// A strided tensor in memory that belongs to somebody else.
struct HostTensor {
  DType dtype{};
  op::View view;
  const std::byte* data = nullptr;  ///< element 0, from which the view's offset counts
  std::size_t bytes = 0;
};
/// Writes the results, row-major, to `outputs`. Throws what the operation throws.
using HostExecute = std::function<void(const op::Operation& op, std::span<const HostTensor> inputs,
                                       std::span<std::byte* const> outputs)>;

}  // namespace strata::backend
