#include "live_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
constinit std::atomic<std::int64_t> live{0};
}

void* operator new(std::size_t size) {
  void* p = std::malloc(size ? size : 1);
  if (!p) throw std::bad_alloc();
  live.fetch_add(1, std::memory_order_relaxed);
  return p;
}
void operator delete(void* p) noexcept {
  if (!p) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

namespace strata::testing {

std::int64_t live_allocations() { return live.load(std::memory_order_relaxed); }

}  // namespace strata::testing
