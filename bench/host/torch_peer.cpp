#include "torch_peer.hpp"

#include <torch/torch.h>

namespace strata::bench {

TorchPeer torch_peer() {
  torch::set_num_threads(1);
  const auto a = torch::rand({2, 2}), b = torch::rand({2, 2});
  const auto t = torch::rand({2, 2}, torch::requires_grad());
  TorchPeer peer;
  peer.add = [=](int n) {
    for (int i = 0; i < n; ++i) torch::add(a, b);
  };
  peer.matmul = [=](int n) {
    for (int i = 0; i < n; ++i) torch::matmul(a, b);
  };
  peer.matmul_tracked = [=](int n) {
    for (int i = 0; i < n; ++i) torch::matmul(t, b);
  };
  peer.backward = [=](int n) {
    for (int i = 0; i < n; ++i) torch::autograd::grad({torch::matmul(t, b).sum()}, {t});
  };
  return peer;
}

}  // namespace strata::bench
