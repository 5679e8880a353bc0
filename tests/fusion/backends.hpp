/// The lazy CPU stack, with and without fusing.
#pragma once

#include "flex/flex.hpp"
#include "fusion/fusion.hpp"
#include "runtime/cpu/cpu_client.hpp"

namespace strata::fusion::test {

/// Devices live as long as the process; so do these.
inline Fusion& make(bool fuse) {
  auto* cube = new cube::CubeBackend(runtime::cpu::client(), flex::execute_on_host);
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
