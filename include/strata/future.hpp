/// A result that arrives later: `Promise<T>` on the side that computes it, `Future<T>` on the side that reads
/// it. One writer, one reader; both move-only. T may be void, and needs no default constructor.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "strata/error.hpp"

namespace strata::inline v0 {

template <class T>
class Promise;

namespace detail {

inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// What both ends share. `flags` moves from 0 to `done` once; before that the reader may announce itself, so
/// that a writer nobody waits for pays one atomic operation.
template <class T>
struct FutureState {
  using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
  static constexpr std::uint32_t done = 1, coroutine_waits = 2, timed_wait = 4;
  /// How long a blocked reader spins before it parks: a parked round trip costs about 5 us, so a result that
  /// is nearly there is not worth one.
  static constexpr std::chrono::nanoseconds spin_time{5000};

  std::atomic<std::uint32_t> flags{0};
  std::optional<Stored> value;
  std::exception_ptr error;
  std::coroutine_handle<> continuation;
  std::mutex mutex;  // with `timed`, only for wait_for: std::atomic has no timed wait
  std::condition_variable timed;

  bool ready() const noexcept { return (flags.load(std::memory_order_acquire) & done) != 0; }

  void wait() const noexcept {
    if (spin()) return;
    for (auto seen = flags.load(std::memory_order_acquire); (seen & done) == 0;
         seen = flags.load(std::memory_order_acquire)) {
      flags.wait(seen, std::memory_order_acquire);
    }
  }

  template <class Duration>
  bool wait_for(Duration duration) {
    if (ready()) return true;
    const auto deadline = std::chrono::steady_clock::now() + duration;
    flags.fetch_or(timed_wait, std::memory_order_acq_rel);
    std::unique_lock lock(mutex);
    return timed.wait_until(lock, deadline, [this] { return ready(); });
  }

  /// Publishes `value` or `error`. The caller keeps the state alive; the coroutine, if any, runs last.
  void finish() {
    const auto before = flags.fetch_or(done, std::memory_order_acq_rel);
    flags.notify_all();
    if (before & timed_wait) {
      const std::lock_guard lock(mutex);
      timed.notify_all();
    }
    if (before & coroutine_waits) continuation.resume();
  }

 private:
  bool spin() const noexcept {
    if (ready()) return true;
    const auto until = std::chrono::steady_clock::now() + spin_time;
    do {
      for (int i = 0; i < 8; ++i) spin_pause();
      if (ready()) return true;
    } while (std::chrono::steady_clock::now() < until);
    return false;
  }
};

}  // namespace detail

/// The reading end. A default-constructed, moved-from or already read Future is not `valid()`; using it
/// throws ArgumentError. Dropping a Future is allowed: the result is then thrown away when it arrives.
///
/// In a coroutine, `T x = co_await std::move(future);` suspends until the result is there and **resumes on
/// the thread that fulfils the promise** (a device thread, as a rule): hop to a thread of your own before
/// doing long work. The coroutine must not be destroyed while it waits.
template <class T>
class [[nodiscard]] Future {
 public:
  Future() = default;
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) noexcept = default;

  bool valid() const noexcept { return state_ != nullptr; }
  /// True when `get()` will not block. Never blocks.
  bool ready() const { return state().ready(); }
  /// Blocks until the result or the error is there. Spins some microseconds, then parks.
  void wait() const { state().wait(); }
  /// Blocks at most `duration`; true when the result or the error is there.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> duration) const {
    return state().wait_for(duration);
  }
  /// Blocks, then moves the result out, or throws the error stored by the writer. Leaves the Future invalid.
  T get() {
    state().wait();
    return take();
  }

  /// The awaitable of `co_await std::move(future)`.
  class Awaiter {
   public:
    explicit Awaiter(Future future) : future_(std::move(future)) {}
    bool await_ready() const { return future_.ready(); }
    bool await_suspend(std::coroutine_handle<> handle) {
      // Once announced, the writer may resume and destroy the coroutine, and this awaiter with it, at any
      // moment.
      const auto state = future_.state_;
      state->continuation = handle;
      const auto before = state->flags.fetch_or(State::coroutine_waits, std::memory_order_acq_rel);
      return (before & State::done) == 0;
    }
    T await_resume() { return future_.take(); }

   private:
    Future future_;
  };
  Awaiter operator co_await() && { return Awaiter(std::move(*this)); }

 private:
  friend class Promise<T>;
  using State = detail::FutureState<T>;
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}

  State& state() const {
    if (!state_)
      throw ArgumentError("[future] no result to wait for: it was read, moved away or never set up");
    return *state_;
  }
  T take() {
    const auto state = std::exchange(state_, nullptr);
    if (state->error) std::rethrow_exception(std::exchange(state->error, nullptr));
    if constexpr (!std::is_void_v<T>) return std::move(*state->value);
  }

  std::shared_ptr<State> state_;
};

/// The writing end: fulfilled once, from any thread. Destroyed unfulfilled, it stores a RuntimeError, so no
/// reader waits for ever. A second result, or a second call of `future()`, throws ArgumentError.
template <class T>
class Promise {
 public:
  Promise() : state_(std::make_shared<State>()) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&& other) noexcept {
    if (this != &other) {
      abandon();
      state_ = std::exchange(other.state_, nullptr);
      future_taken_ = other.future_taken_;
    }
    return *this;
  }
  ~Promise() { abandon(); }

  Future<T> future() {
    if (!state_ || std::exchange(future_taken_, true)) {
      throw ArgumentError("[promise] its future was already taken");
    }
    return Future<T>(state_);
  }

  /// True until a result or an error was stored.
  bool pending() const noexcept { return state_ != nullptr; }

  /// Stores the result and wakes the reader; a waiting coroutine runs inside this call.
  template <class... Args>
  void set_value(Args&&... args) {
    const auto state = release();
    state->value.emplace(std::forward<Args>(args)...);
    state->finish();
  }

  /// Stores an error for the reader; a waiting coroutine runs inside this call.
  void set_exception(std::exception_ptr error) {
    const auto state = release();
    state->error = std::move(error);
    state->finish();
  }

 private:
  using State = detail::FutureState<T>;

  std::shared_ptr<State> release() {
    if (!state_) throw ArgumentError("[promise] a result was already stored");
    return std::exchange(state_, nullptr);
  }
  void abandon() noexcept {
    if (!state_) return;
    set_exception(std::make_exception_ptr(
        RuntimeError("[promise] destroyed without a result: the work it stood for was dropped")));
  }

  std::shared_ptr<State> state_;
  bool future_taken_ = false;
};

/// A Future that is ready at once.
template <class T, class... Args>
Future<T> make_ready_future(Args&&... args) {
  Promise<T> promise;
  auto future = promise.future();
  promise.set_value(std::forward<Args>(args)...);
  return future;
}

}  // namespace strata::inline v0
