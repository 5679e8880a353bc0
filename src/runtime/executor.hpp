/// A serial executor: one named thread that runs tasks in the order in which they were posted.
///
/// The queue is a bounded ring (Vyukov, "Bounded MPMC queue", used here with one consumer); tasks live in its
/// slots, so posting allocates nothing and takes no lock. The thread starts with the first wake-up, spins for
/// some tens of microseconds after its last task and then parks: an idle executor uses no processor.
///
/// Executors belong to devices, which live as long as the process: there is no join at exit. Their threads do
/// not exist in a child made by fork(); posting there throws RuntimeError.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace strata::runtime {

class Executor {
 public:
  static constexpr std::size_t capacity = 1024;   ///< tasks; a power of two
  static constexpr std::size_t task_bytes = 224;  ///< largest task

  explicit Executor(std::string thread_name);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Queues `task` and makes sure that the thread is awake. Tasks must not throw. Blocks while the ring is
  /// full.
  template <class F>
  void post(F&& task) {
    post_quiet(std::forward<F>(task));
    wake();
  }
  /// Queues without waking a parked thread: for work that a later post will ask for.
  template <class F>
  void post_quiet(F&& task) {
    using Task = std::decay_t<F>;
    static_assert(sizeof(Task) <= task_bytes && alignof(Task) <= 16,
                  "move what the task captures to the heap");
    Slot& slot = claim();
    ::new (static_cast<void*>(slot.storage)) Task(std::forward<F>(task));
    slot.run = [](void* storage) {
      auto* t = std::launder(static_cast<Task*>(storage));
      (*t)();
      t->~Task();
    };
    publish(slot);
  }
  void wake();
  /// Tasks queued and not yet begun, approximately.
  std::size_t pending() const {
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed);
  }
  bool on_this_thread() const;
  const std::string& thread_name() const { return name_; }
  /// Processor time the thread has used, in seconds; 0 before it started.
  double processor_seconds() const;

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> sequence{0};
    std::uint64_t ticket = 0;
    void (*run)(void*) = nullptr;
    alignas(16) std::byte storage[task_bytes];
  };
  enum Activity : std::uint32_t { not_started, parked, awake };

  Slot& claim();
  void publish(Slot& slot) { slot.sequence.store(slot.ticket + 1, std::memory_order_release); }
  bool ready() const;
  bool run_one();
  void loop();

  const std::string name_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // next to claim
  alignas(64) std::atomic<std::uint64_t> head_{0};  // next to run
  std::atomic<std::uint32_t> blocked_producers_{0};
  alignas(64) std::atomic<std::uint32_t> activity_{not_started};
  std::atomic<std::uint64_t> thread_{0};  // pthread_t of the thread
};

}  // namespace strata::runtime
