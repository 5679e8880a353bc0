#include "runtime/device_thread.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <system_error>

#include "trace/thread.hpp"

namespace strata::runtime {
namespace {

/// Blocks, while it lives, all signals but those a fault of the thread itself raises or a profiler sends.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF}) sigdelset(&blocked, s);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_thread(std::string name, std::function<void()> body) {
  const SignalsBlocked inherited;
  try {
    return std::thread([name, body = std::move(body)] {
      trace::set_thread_name(name);
      body();
    });
  } catch (const std::system_error& e) {
    throw RuntimeError(fmt::format("[{}] the device thread could not be started: {}", name, e.what()));
  }
}

int current_processor() noexcept {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

double processor_seconds(const std::thread& thread) {
#if defined(__linux__)
  clockid_t clock{};
  timespec t{};
  if (pthread_getcpuclockid(const_cast<std::thread&>(thread).native_handle(), &clock) != 0 ||
      clock_gettime(clock, &t) != 0)
    return 0;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
#else
  static_cast<void>(thread);
  return 0;
#endif
}

}  // namespace strata::runtime
