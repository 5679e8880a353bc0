/// The lazy CPU stack, with and without fusing.
#pragma once

#include "fusion/fusion.hpp"
#include "runtime/cpu/cpu_client.hpp"

namespace strata::fusion::test {

/// Devices live as long as the process; so do these.
inline Fusion& make(bool fuse) {
  auto* cube = new cube::CubeBackend(runtime::cpu::client());
  return *new Fusion(*cube, fuse ? "DSU-fused" : "DSU-unfused", fuse);
}
inline Fusion& fused() {
  static Fusion& f = make(true);
  return f;
}
inline Fusion& unfused() {
  static Fusion& f = make(false);
  return f;
}

}  // namespace strata::fusion::test
