#include "runtime/executor.hpp"

#include <fmt/format.h>

#include "trace/log.hpp"

namespace strata::runtime {

using trace::log::Topic;

Executor::Executor(std::string thread_name, Stage stage) : name_(std::move(thread_name)), stage_(stage) {
  watch_forks();
}

Executor::~Executor() {
  if (generation_.load(std::memory_order_acquire) != fork_generation()) {
    if (thread_.joinable()) thread_.detach();  // it lives in the parent process
    return;
  }
  stopping_.store(true, std::memory_order_seq_cst);
  wake();
  thread_.join();
}

const Executor*& Executor::current() noexcept {
  static constinit thread_local const Executor* executor = nullptr;
  return executor;
}

void Executor::start() {
  const auto fail_if_forked = [this] {
    const auto generation = generation_.load(std::memory_order_acquire);
    if (generation == not_started || generation == fork_generation()) return;
    throw RuntimeError(
        fmt::format("[{}] the device does not survive fork(): its threads exist only in the parent process; "
                    "use it there, or start the child with exec",
                    name_));
  };
  fail_if_forked();  // before the lock, which the parent may have held
  const std::lock_guard lock(mutex_);
  fail_if_forked();
  if (generation_.load(std::memory_order_relaxed) != not_started) return;
  thread_ = start_thread(name_, [this] { loop(); });
  generation_.store(fork_generation(), std::memory_order_release);
}

void Executor::enter() noexcept {
  for (int i = 0; busy_.exchange(true, std::memory_order_acquire); ++i) {
    if (i < 200) {
      strata::detail::spin_pause();
    } else {
      busy_.wait(true, std::memory_order_relaxed);
    }
  }
}

void Executor::loop() noexcept {
  current() = this;
  enter();
  for (;;) {
    while (run_one()) {
    }
    if (overflow_size_.load(std::memory_order_acquire) > 0) {
      admit_overflow();
    } else if (ring_.claimed()) {
      std::this_thread::yield();  // a producer was interrupted in the middle of its push
    } else if (stopping_.load(std::memory_order_seq_cst)) {
      return leave();
    } else {
      leave();
      sleeper_.wait(
          [this] {
            return ring_.claimed() || stopping_.load(std::memory_order_seq_cst) ||
                   overflow_size_.load(std::memory_order_seq_cst) > 0;
          },
          producer_processor_.load(std::memory_order_relaxed));
      enter();
    }
  }
}

bool Executor::run_one() noexcept {
  bool ran = true;
  try {
    ran = ring_.run_one();
  } catch (const std::exception& e) {
    keep_error(e.what());
  } catch (...) {
    keep_error("an exception that is no std::exception");
  }
  if (!ran) return false;
  if (overflow_size_.load(std::memory_order_acquire) > 0) [[unlikely]]
    admit_overflow();
  if (waiting_.load(std::memory_order_seq_cst) > 0 && (ring_.taken() % 32 == 0 || !ring_.claimed()))
      [[unlikely]] {
    room_.fetch_add(1, std::memory_order_release);
    room_.notify_all();
  }
  return true;
}

void Executor::keep_error(const char* what) noexcept {
  trace::log::warn(Topic::runtime, "[{}] a task failed: {}", name_, what);
  try {
    const std::lock_guard lock(mutex_);
    if (!error_)
      error_ = std::make_exception_ptr(InternalError(fmt::format("[{}] a task failed: {}", name_, what)));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

std::exception_ptr Executor::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, nullptr);
}

void Executor::wait_for_room() {
  wake();
  for (int i = 0; i < 500; ++i) {
    if (!ring_.full()) return;
    strata::detail::spin_pause();
  }
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  const auto seen = room_.load(std::memory_order_acquire);
  if (ring_.full()) room_.wait(seen, std::memory_order_acquire);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void Executor::push_overflow(std::unique_ptr<Boxed> task) {
  const std::lock_guard lock(mutex_);
  overflow_.push_back(std::move(task));
  overflow_size_.store(overflow_.size(), std::memory_order_seq_cst);
}

void Executor::admit_overflow() {
  const std::lock_guard lock(mutex_);
  while (!overflow_.empty()) {
    RunBoxed task{std::move(overflow_.front())};
    if (!ring_.try_push(task)) {
      overflow_.front() = std::move(task.box);
      break;
    }
    overflow_.pop_front();
  }
  overflow_size_.store(overflow_.size(), std::memory_order_release);
}

double Executor::processor_seconds() const {
  const std::lock_guard lock(mutex_);
  return thread_.joinable() ? runtime::processor_seconds(thread_) : 0;
}

}  // namespace strata::runtime
