#include "trace/thread.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace strata::trace {
namespace {

// A plain array: spans may end while the thread's objects are being destroyed, when a std::string would be
// gone.
struct Name {
  std::array<char, 64> text{};
  std::size_t size = 0;
};
thread_local Name name;

void store(std::string_view text) noexcept {
  name.size = std::min(text.size(), name.text.size() - 1);
  std::memcpy(name.text.data(), text.data(), name.size);
}

bool on_main_thread() noexcept {
#if defined(__linux__)
  return thread_id() == static_cast<std::uint64_t>(getpid());
#else
  return pthread_main_np() != 0;
#endif
}

}  // namespace

std::uint64_t thread_id() noexcept {
#if defined(__linux__)
  return static_cast<std::uint64_t>(syscall(SYS_gettid));
#else
  std::uint64_t id = 0;
  pthread_threadid_np(nullptr, &id);
  return id;
#endif
}

void set_thread_name(std::string_view text) {
  store(text);
  std::array<char, 16> system_name{};
  std::memcpy(system_name.data(), text.data(), std::min(text.size(), system_name.size() - 1));
#if defined(__linux__)
  pthread_setname_np(pthread_self(), system_name.data());
#else
  pthread_setname_np(system_name.data());
#endif
}

std::string_view thread_name() noexcept {
  if (name.size == 0) {
    if (on_main_thread()) {
      store("main");
    } else {
      std::array<char, 32> text{'t', 'h', 'r', 'e', 'a', 'd', '-'};
      const auto end = std::to_chars(text.data() + 7, text.data() + text.size(), thread_id()).ptr;
      store({text.data(), static_cast<std::size_t>(end - text.data())});
    }
  }
  return {name.text.data(), name.size};
}

}  // namespace strata::trace
