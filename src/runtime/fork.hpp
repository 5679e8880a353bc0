/// Device threads do not exist in a child made by fork(); this tells such a child from its parent.
#pragma once

#include <atomic>
#include <cstdint>

namespace strata::runtime {

namespace detail {
extern std::atomic<std::uint32_t> fork_generation;
}

/// How many forks lie between the process that loaded the library and this one. Counts from the first call of
/// `watch_forks` on.
inline std::uint32_t fork_generation() noexcept {
  return detail::fork_generation.load(std::memory_order_relaxed);
}

/// Begins to count, once per process.
void watch_forks() noexcept;

}  // namespace strata::runtime
