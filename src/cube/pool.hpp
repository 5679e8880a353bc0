/// The kernel of pooling: a unit for each element of the result.
#pragma once

#include "cube/window.hpp"

namespace strata::cube::window {

/// All that decides the code of a pool's kernel.
struct PoolForm {
  op::PoolKind kind = op::PoolKind::max;
  bool where = false;  ///< writes positions (i64) of the largest elements instead
  bool count_padding = true;
  DType dtype{};
  int units = 1;
  WindowForm window;
};
KernelKey pool_key(const PoolForm& form);
/// Buffers of the kernel: output, x (row-major). Arguments: elements of the output, offset of x, those of the
/// window.
kernel::Kernel build_pool(const PoolForm& form);

}  // namespace strata::cube::window
