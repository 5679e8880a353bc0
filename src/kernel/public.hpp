/// What stands behind the public kernel type.
#pragma once

#include "kernel/ir.hpp"
#include "strata/kernel.hpp"

namespace strata::inline v0::lang::detail {

struct KernelImpl : Signature {
  /// The memory after those of the arguments is one i64: for the least number of an access that does not fit,
  /// see `place_of`.
  strata::kernel::Kernel ir;
};

/// An access beyond a memory as one number: which memory, and the index, which may have been clamped.
struct Place {
  strata::kernel::MemoryId memory = 0;
  std::int64_t index = 0;
};
inline constexpr int index_bits = 48;
inline constexpr std::int64_t farthest_index = (std::int64_t{1} << (index_bits - 1)) - 1;
inline Place place_of(std::int64_t number) {
  const auto index = number & ((std::int64_t{1} << index_bits) - 1);
  return {static_cast<strata::kernel::MemoryId>(number >> index_bits), index - farthest_index};
}

}  // namespace strata::inline v0::lang::detail
