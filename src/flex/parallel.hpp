/// Splitting a range over the threads that oneDNN uses too (libgomp's), for work large enough to pay for it.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <type_traits>

namespace strata::flex {

/// Bytes of traffic below which one thread is faster.
inline constexpr std::int64_t parallel_bytes = 256 << 10;

namespace detail {
using RangeFunction = void (*)(void* context, std::int64_t begin, std::int64_t end);
void run_ranges(std::int64_t count, std::int64_t grain, RangeFunction function, void* context) noexcept;
}  // namespace detail

/// From the first call on, a fork() ends the idle threads of the thread that forks: the child, where they do
/// not exist, would wait for them for ever. Both sides start new ones at their next parallel loop.
void end_threads_before_forks() noexcept;

/// Calls f(begin, end) for ranges that cover [0, count), each a multiple of `grain` long but for the last; on
/// this thread alone when `bytes` (read plus written) is small. `f` must not throw.
template <class F>
void parallel(std::int64_t count, std::int64_t grain, std::int64_t bytes, F&& f) {
  if (bytes < parallel_bytes || count <= grain) {
    if (count > 0) f(std::int64_t{0}, count);
    return;
  }
  auto* context = const_cast<void*>(static_cast<const void*>(&f));
  detail::run_ranges(
      count, grain,
      [](void* p, std::int64_t begin, std::int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(p))(begin, end);
      },
      context);
}

/// The same for an `f` that may throw: the first error reaches the caller when all ranges are done.
template <class F>
void parallel_or_throw(std::int64_t count, std::int64_t grain, std::int64_t bytes, F&& f) {
  std::mutex mutex;
  std::exception_ptr error;
  parallel(count, grain, bytes, [&](std::int64_t begin, std::int64_t end) {
    try {
      f(begin, end);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace strata::flex
