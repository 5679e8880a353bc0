/// The lazy stack on a device, with and without fusing; the CPU's for all tests of a process.
#pragma once

#include "flex/flex.hpp"
#include "fusion/fusion.hpp"
#include "runtime/cpu/cpu_client.hpp"

namespace strata::fusion::test {

/// Devices live as long as the process; so do these.
inline Fusion& make(runtime::Client& client, bool fuse) {
  auto* cube = new cube::CubeBackend(client, flex::execute_on_host);
  return *new Fusion(*cube, fuse ? "DSU-fused" : "DSU-unfused", fuse);
}
inline Fusion& fused() {
  static Fusion& f = make(runtime::cpu::client(), true);
  return f;
}
inline Fusion& unfused() {
  static Fusion& f = make(runtime::cpu::client(), false);
  return f;
}

}  // namespace strata::fusion::test
