/// Threads of a device: named, deaf to the program's signals, with a way to sleep that costs nothing when
/// idle.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "strata/future.hpp"

namespace strata::runtime {

/// Starts a thread under `name`. Signals meant for the process go to the program's own threads.
/// Throws RuntimeError when the system refuses another thread.
std::thread start_thread(std::string name, std::function<void()> body);

/// Processor time a thread has used, in seconds; 0 where the system does not tell.
double processor_seconds(const std::thread& thread);

/// The processor the caller runs on at this moment; -1 where the system does not tell.
int current_processor() noexcept;

/// Where one thread waits for work and others wake it. The owner spins a while before it sleeps, because
/// waking a sleeper costs the other side 1.5 us and a round trip 5 us, a spinning one 0.5 us. It does not
/// when the other side needs the same processor to give it work: then spinning only keeps it from doing so.
class Sleeper {
 public:
  static constexpr std::chrono::microseconds spin_time{30};

  /// Owner: returns when `ready()` holds, or after a wake. `ready` reads what the other side wrote, with
  /// sequentially consistent order. `other_processor`: where the other side ran when it last gave work.
  template <class Ready>
  void wait(const Ready& ready, int other_processor) {
    if (other_processor < 0 || other_processor != current_processor()) {
      const auto until = std::chrono::steady_clock::now() + spin_time;
      do {
        for (int i = 0; i < 16; ++i) {
          if (ready()) return;
          strata::detail::spin_pause();
        }
      } while (std::chrono::steady_clock::now() < until);
    }
    state_.store(asleep, std::memory_order_seq_cst);
    if (!ready()) state_.wait(asleep, std::memory_order_acquire);
    state_.store(awake, std::memory_order_relaxed);
  }

  /// Others, after they wrote what `ready` reads by a sequentially consistent operation. Costs one load
  /// unless the owner sleeps.
  void wake() noexcept {
    if (state_.load(std::memory_order_seq_cst) == asleep &&
        state_.exchange(awake, std::memory_order_acq_rel) == asleep) {
      state_.notify_one();
    }
  }

  bool sleeping() const noexcept { return state_.load(std::memory_order_relaxed) == asleep; }

 private:
  static constexpr std::uint32_t awake = 0, asleep = 1;
  alignas(64) std::atomic<std::uint32_t> state_{awake};
};

}  // namespace strata::runtime
