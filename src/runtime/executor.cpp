#include "runtime/executor.hpp"

#include <pthread.h>
#include <time.h>

#include <chrono>
#include <thread>

#include "strata/error.hpp"
#include "strata/future.hpp"
#include "trace/log.hpp"
#include "trace/thread.hpp"

namespace strata::runtime {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds spin_time{50};

std::atomic<bool> forked{false};

void notice_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  static_cast<void>(registered);
}

[[noreturn]] void refuse_after_fork(const std::string& thread) {
  throw RuntimeError(
      "[" + thread +
      "] the device's threads do not survive fork(): use the device in the parent only, or start the "
      "child with exec()");
}

}  // namespace

Executor::Executor(std::string thread_name) : name_(std::move(thread_name)), slots_(new Slot[capacity]) {
  for (std::size_t i = 0; i < capacity; ++i) slots_[i].sequence.store(i, std::memory_order_relaxed);
  notice_forks();
}

Executor::Slot& Executor::claim() {
  if (forked.load(std::memory_order_relaxed)) [[unlikely]]
    refuse_after_fork(name_);
  auto ticket = tail_.load(std::memory_order_relaxed);
  for (int tries = 0;;) {
    Slot& slot = slots_[ticket & (capacity - 1)];
    const auto sequence = slot.sequence.load(std::memory_order_acquire);
    if (sequence == ticket) {
      if (tail_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
        slot.ticket = ticket;
        return slot;
      }
      continue;
    }
    if (sequence > ticket) {  // another producer was faster
      ticket = tail_.load(std::memory_order_relaxed);
      continue;
    }
    wake();  // full: the thread must run for a slot to become free
    if (++tries < 200) {
      detail::spin_pause();
    } else {
      blocked_producers_.fetch_add(1, std::memory_order_seq_cst);
      const auto head = head_.load(std::memory_order_seq_cst);
      if (ticket - head >= capacity) head_.wait(head, std::memory_order_acquire);
      blocked_producers_.fetch_sub(1, std::memory_order_relaxed);
      tries = 0;
    }
    ticket = tail_.load(std::memory_order_relaxed);
  }
}

void Executor::wake() {
  // The fence orders the task's publication before the look at `activity_`, as `loop` orders its own two the
  // other way.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto seen = activity_.load(std::memory_order_relaxed);
  if (seen == awake) [[likely]]
    return;
  if (forked.load(std::memory_order_relaxed)) [[unlikely]]
    refuse_after_fork(name_);
  seen = activity_.exchange(awake, std::memory_order_acq_rel);
  if (seen == parked) {
    activity_.notify_one();
  } else if (seen == not_started) {
    std::thread(&Executor::loop, this).detach();
  }
}

bool Executor::ready() const {
  const auto head = head_.load(std::memory_order_relaxed);
  return slots_[head & (capacity - 1)].sequence.load(std::memory_order_acquire) == head + 1;
}

bool Executor::run_one() {
  if (!ready()) return false;
  const auto head = head_.load(std::memory_order_relaxed);
  Slot& slot = slots_[head & (capacity - 1)];
  slot.run(slot.storage);
  slot.sequence.store(head + capacity, std::memory_order_release);
  head_.store(head + 1, std::memory_order_seq_cst);
  if (blocked_producers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    head_.notify_all();
  return true;
}

void Executor::loop() {
  trace::set_thread_name(name_);
  thread_.store(static_cast<std::uint64_t>(pthread_self()), std::memory_order_release);
  auto last_work = Clock::now();
  for (;;) {
    if (run_one()) {
      while (run_one()) {
      }
      last_work = Clock::now();
      continue;
    }
    if (Clock::now() - last_work < spin_time) {
      for (int i = 0; i < 16 && !ready(); ++i) detail::spin_pause();
      continue;
    }
    activity_.store(parked, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (ready()) {  // posted meanwhile, perhaps before the producer could see us parked
      activity_.store(awake, std::memory_order_relaxed);
    } else {
      activity_.wait(parked, std::memory_order_acquire);
    }
    last_work = Clock::now();
  }
}

bool Executor::on_this_thread() const {
  return thread_.load(std::memory_order_acquire) == static_cast<std::uint64_t>(pthread_self());
}

double Executor::processor_seconds() const {
  const auto thread = thread_.load(std::memory_order_acquire);
  clockid_t clock;
  timespec t{};
  if (thread == 0 || pthread_getcpuclockid(static_cast<pthread_t>(thread), &clock) != 0 ||
      clock_gettime(clock, &t) != 0) {
    return 0;
  }
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace strata::runtime
