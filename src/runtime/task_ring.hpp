/// Bounded queue of tasks stored in place: many producers, one consumer, no locks.
///
/// Slot i carries the number of the push that may use it next, so producers and the consumer agree on each
/// slot without touching each other's counters (after D. Vyukov's bounded queue, 2010).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace strata::runtime {

class TaskRing {
 public:
  static constexpr std::size_t capacity = 1024;
  static constexpr std::size_t slot_bytes = 256;
  /// Room for one callable.
  static constexpr std::size_t task_bytes = slot_bytes - sizeof(std::uint64_t) - sizeof(void*);

  TaskRing() : slots_(std::make_unique<std::array<Slot, capacity>>()) {
    for (std::size_t i = 0; i < capacity; ++i) (*slots_)[i].turn.store(i, std::memory_order_relaxed);
  }

  /// Any thread: moves `task` in; false, and `task` untouched, when there is no room.
  template <class F>
  bool try_push(F& task) {
    static_assert(sizeof(F) <= task_bytes && alignof(F) <= 16,
                  "a task must fit a slot: capture less, or box it");
    auto position = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = at(position);
      const auto lead = static_cast<std::int64_t>(slot.turn.load(std::memory_order_acquire) - position);
      if (lead < 0) return false;
      if (lead > 0) {
        position = tail_.load(std::memory_order_relaxed);
      } else if (tail_.compare_exchange_weak(position, position + 1, std::memory_order_seq_cst,
                                             std::memory_order_relaxed)) {
        fill(slot, task, position);
        return true;
      }
    }
  }

  /// Consumer: runs the oldest task; false when it is not there (yet). An exception of the task passes
  /// through; the task counts as run.
  bool run_one() {
    const auto position = head_.load(std::memory_order_relaxed);
    Slot& slot = at(position);
    if (slot.turn.load(std::memory_order_acquire) != position + 1) return false;
    const Leave leave{*this, slot, position};
    if (slot.run) slot.run(slot.task);
    return true;
  }

  /// Consumer: true when a producer has at least begun a push.
  bool claimed() const noexcept {
    return tail_.load(std::memory_order_seq_cst) != head_.load(std::memory_order_relaxed);
  }
  /// Any thread: no room right now.
  bool full() const noexcept {
    const auto position = tail_.load(std::memory_order_relaxed);
    return static_cast<std::int64_t>(at(position).turn.load(std::memory_order_seq_cst) - position) < 0;
  }
  /// Any thread: how many tasks wait or run, as of some moment during the call.
  std::size_t size() const noexcept {
    const auto head = head_.load(std::memory_order_relaxed);
    const auto tail = tail_.load(std::memory_order_relaxed);
    return tail > head ? static_cast<std::size_t>(tail - head) : 0;
  }
  /// Consumer: tasks run since the beginning.
  std::uint64_t taken() const noexcept { return head_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> turn;  ///< n: free for push n; n + 1: filled by push n
    void (*run)(void*) = nullptr;     ///< runs and destroys the task
    alignas(16) std::byte task[task_bytes];
  };
  static_assert(sizeof(Slot) == slot_bytes);

  struct Leave {
    TaskRing& ring;
    Slot& slot;
    std::uint64_t position;
    ~Leave() {
      ring.head_.store(position + 1, std::memory_order_relaxed);
      slot.turn.store(position + capacity, std::memory_order_seq_cst);
    }
  };

  template <class F>
  static void run_and_destroy(void* p) {
    struct Destroy {
      F* task;
      ~Destroy() { task->~F(); }
    } destroy{std::launder(static_cast<F*>(p))};
    (*destroy.task)();
  }

  template <class F>
  static void fill(Slot& slot, F& task, std::uint64_t position) {
    struct Publish {  // also when the move throws: the slot then holds nothing to run
      Slot& slot;
      std::uint64_t position;
      ~Publish() { slot.turn.store(position + 1, std::memory_order_release); }
    } publish{slot, position};
    slot.run = nullptr;
    ::new (static_cast<void*>(slot.task)) F(std::move(task));
    slot.run = &run_and_destroy<F>;
  }

  Slot& at(std::uint64_t position) const { return (*slots_)[position % capacity]; }

  const std::unique_ptr<std::array<Slot, capacity>> slots_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
};

}  // namespace strata::runtime
