/// The threads that share one piece of work: the calling device thread and workers named `DSW-cpu-<n>`, which
/// start with the first work that can use them, spin for some tens of microseconds after the last, and sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device_thread.hpp"

namespace strata::runtime::cpu {

class WorkerTeam {
 public:
  /// `threads` with the caller's; names are `name_prefix` and a number.
  WorkerTeam(int threads, std::string name_prefix);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  /// Calls `part(begin, end)` for ranges that cover [0, count), on any of the threads; returns when all are
  /// done and what they wrote, streaming stores included, can be read by whoever the caller tells. A count of
  /// 1 wakes nobody, and nobody waits for a worker that is late. One caller at a time; `part` must not throw.
  template <class Part>
  void run(std::int64_t count, const Part& part) {
    run(count, {&part, [](const void* p, std::int64_t begin, std::int64_t end) {
                  (*static_cast<const Part*>(p))(begin, end);
                }});
  }

  /// Processor time the workers have used, in seconds.
  double processor_seconds() const;

 private:
  struct Job {
    const void* part = nullptr;
    void (*call)(const void* part, std::int64_t begin, std::int64_t end) = nullptr;
  };
  struct Worker {
    Sleeper sleeper;
    std::thread thread;
  };

  void run(std::int64_t count, const Job& job);
  void start();
  void work(std::size_t number);
  bool enter(std::uint64_t& round);
  void leave();
  void take_parts();
  void wake_children(std::size_t number);

  const int threads_;
  const std::string name_prefix_;
  bool started_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_{false};

  // Written while nobody is inside the gate.
  Job job_;
  std::int64_t count_ = 0, chunk_ = 1;
  std::size_t wanted_ = 0;  ///< workers that can be of use
  std::atomic<int> caller_processor_{-1};

  alignas(64) std::atomic<std::int64_t> next_{0};  ///< first item nobody took
  /// Number of the round, whether workers may still enter it, how many are inside.
  alignas(64) std::atomic<std::uint64_t> gate_{0};
};

}  // namespace strata::runtime::cpu
