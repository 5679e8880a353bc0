/// The calling thread, as traces and logs show it.
#pragma once

#include <cstdint>
#include <string_view>

namespace strata::trace {

/// Names the calling thread: in full (up to 63 bytes) in traces and logs, its first 15 bytes for the system's
/// tools.
void set_thread_name(std::string_view name);

/// The calling thread's name: as set, else "main" for the main thread, else "thread-<id>". Valid on this
/// thread, until it is named anew.
std::string_view thread_name() noexcept;

/// The system's id of the calling thread.
std::uint64_t thread_id() noexcept;

namespace detail {
inline constinit thread_local int suspended = 0;
}

/// While one lives, spans, instants and logs of the calling thread do nothing: code that measures runs the
/// same with tracing on as with tracing off. Warnings still pass: they are rare, and nobody would hear of the
/// fault otherwise.
class Suspend {
 public:
  Suspend() noexcept { ++detail::suspended; }
  ~Suspend() { --detail::suspended; }
  Suspend(const Suspend&) = delete;
  Suspend& operator=(const Suspend&) = delete;
};

}  // namespace strata::trace
