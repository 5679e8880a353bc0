/// The same calls made through LibTorch, 2x2 f32 on the CPU; each returns after `n` calls.
#pragma once

#include <functional>

namespace strata::bench {

struct TorchPeer {
  std::function<void(int)> add, matmul, matmul_tracked, backward;
};
TorchPeer torch_peer();

}  // namespace strata::bench
