/// Content of a kernel as bytes and as a hash: the key of compiled code in caches.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernel/ir.hpp"

namespace strata::kernel {

struct Hash128 {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Hash128&) const = default;
  /// 32 lower-case hexadecimal digits.
  std::string to_string() const;
};

/// Every field in a fixed order and width (little-endian words of 8 bytes): equal kernels give equal bytes in
/// every process, unequal ones different bytes.
std::string serialize(const Kernel& kernel);

/// Hash of `serialize(kernel)`, without making the bytes. Multiply-and-fold over words in two lanes of
/// different constants (after wyhash); not meant to withstand an adversary.
Hash128 hash(const Kernel& kernel);

}  // namespace strata::kernel
