/// A serial executor: one named thread that runs tasks in the order they were posted, with the help of
/// callers that would only wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "runtime/device_thread.hpp"
#include "runtime/fork.hpp"
#include "runtime/task_ring.hpp"

namespace strata::runtime {

/// `upstream` threads hand work to `downstream` ones and may wait for them, never the reverse.
enum class Stage : std::uint8_t { upstream, downstream };

/// Tasks are move-only callables of at most TaskRing::task_bytes that do not throw. Every function may be
/// called from any thread. The thread starts with the first task and sleeps without using the processor when
/// there is nothing to do.
///
/// Executors of devices are never destroyed: their threads must outlive the program's static objects, whose
/// destructors may still drop tensors. Destroying one runs what was posted and joins the thread.
class Executor {
 public:
  static constexpr std::size_t capacity = TaskRing::capacity;  ///< tasks

  explicit Executor(std::string thread_name, Stage stage = Stage::upstream);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Queues `task` and sees to it that it runs soon. Waits while the queue is full, except on a device thread
  /// that is not above this one, which could wait for itself.
  /// Throws RuntimeError in a child made by fork(), where the thread does not exist.
  template <class F>
  void post(F&& task) {
    post_quiet(std::forward<F>(task));
    wake();
  }

  /// Queues `task` without waking the thread: it runs when the thread is awake anyway, or after a `wake`.
  template <class F>
  void post_quiet(F&& task) {
    if (generation_.load(std::memory_order_acquire) != fork_generation()) [[unlikely]]
      start();
    std::decay_t<F> own(std::forward<F>(task));
    if (overflow_size_.load(std::memory_order_acquire) > 0 && never_waits()) [[unlikely]]
      return overflow(std::move(own));
    while (!ring_.try_push(own)) {
      if (never_waits()) return overflow(std::move(own));
      wait_for_room();
    }
    producer_processor_.store(current_processor(), std::memory_order_relaxed);
  }

  void wake() noexcept { sleeper_.wake(); }

  /// Runs what is queued on the calling thread until `done()`, unless the executor's thread is at it already.
  /// For callers that would only wait: it saves the time the thread takes to wake up, tens of microseconds on
  /// a virtual machine.
  template <class Done>
  void help(const Done& done) noexcept {
    if (busy_.exchange(true, std::memory_order_acquire)) return;
    const auto* before = std::exchange(current(), this);
    while (!done() && run_one()) {
    }
    current() = before;
    leave();
  }

  /// Tasks queued or running.
  std::size_t pending() const noexcept { return ring_.size(); }
  bool on_this_thread() const noexcept { return current() == this; }
  const std::string& thread_name() const noexcept { return name_; }

  /// What escaped from a task since the last call: an InternalError with its text, else null.
  std::exception_ptr take_error();

  /// Processor time the thread has used, in seconds; 0 before it started.
  double processor_seconds() const;
  bool sleeping() const noexcept { return sleeper_.sleeping(); }

 private:
  static constexpr std::uint32_t not_started = ~std::uint32_t{0};

  struct Boxed {
    virtual ~Boxed() = default;
    virtual void run() = 0;
  };
  template <class F>
  struct BoxedTask final : Boxed {
    explicit BoxedTask(F&& f) : task(std::move(f)) {}
    void run() override { task(); }
    F task;
  };

  struct RunBoxed {
    std::unique_ptr<Boxed> box;
    void operator()() { box->run(); }
  };

  static const Executor*& current() noexcept;
  /// On this thread itself, or on one downstream of it.
  bool never_waits() const noexcept {
    return current() && (current() == this || current()->stage_ >= stage_);
  }
  template <class F>
  void overflow(F&& task) {
    push_overflow(std::make_unique<BoxedTask<F>>(std::move(task)));
  }

  void start();
  void loop() noexcept;
  /// Becomes the one thread that takes tasks out.
  void enter() noexcept;
  void leave() noexcept {
    busy_.store(false, std::memory_order_release);
    busy_.notify_one();
  }
  bool run_one() noexcept;
  void keep_error(const char* what) noexcept;
  void wait_for_room();
  void push_overflow(std::unique_ptr<Boxed> task);
  void admit_overflow();

  const std::string name_;
  const Stage stage_;
  std::atomic<std::uint32_t> generation_{not_started};  ///< of the process the thread runs in
  std::atomic<bool> stopping_{false};
  std::atomic<bool> busy_{false};  ///< some thread takes tasks out
  TaskRing ring_;
  Sleeper sleeper_;
  std::atomic<int> producer_processor_{-1};  ///< where the last task came from
  std::atomic<std::uint32_t> waiting_{0};    ///< producers that wait for room
  std::atomic<std::uint32_t> room_{0};       ///< changes when they should look again
  std::atomic<std::size_t> overflow_size_{0};
  mutable std::mutex mutex_;  ///< everything below
  std::deque<std::unique_ptr<Boxed>> overflow_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace strata::runtime
