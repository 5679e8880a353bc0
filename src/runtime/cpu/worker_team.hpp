/// The threads that run the cubes of one launch: the calling device thread and workers named `DSW-cpu-<n>`,
/// which start with the first launch that can use them, spin for some tens of microseconds after the last
/// one, and then park.
#pragma once

#include <atomic>
#include <cstdint>

#include "codegen/compiler.hpp"

namespace strata::runtime::cpu {

class WorkerTeam {
 public:
  explicit WorkerTeam(int threads) : threads_(threads) {}
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  struct Job {
    codegen::HostKernel kernel = nullptr;
    void* const* buffers = nullptr;
    const std::int64_t* lengths = nullptr;
    const std::int64_t* scalars = nullptr;
    std::uint32_t cube_count[3] = {1, 1, 1};
    std::int64_t cubes = 1;
  };
  /// Returns when every cube has run. A job of one cube wakes nobody. Called by one thread at a time.
  void run(const Job& job);

 private:
  void start();
  void work(int worker);
  void take_cubes();

  const int threads_;
  bool started_ = false;
  Job job_;
  std::int64_t chunk_ = 1;
  alignas(64) std::atomic<std::int64_t> next_{0};    // first cube nobody took
  alignas(64) std::atomic<std::uint32_t> round_{0};  // a new value announces a job
  std::atomic<std::uint32_t> parked_{0};
  alignas(64) std::atomic<int> busy_{0};  // workers still in the round
};

}  // namespace strata::runtime::cpu
