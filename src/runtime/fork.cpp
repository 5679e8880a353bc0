#include "runtime/fork.hpp"

#include <pthread.h>

namespace strata::runtime {
namespace detail {
constinit std::atomic<std::uint32_t> fork_generation{0};
}

void watch_forks() noexcept {
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { detail::fork_generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);  // fails only for want of memory
}

}  // namespace strata::runtime
