/// The CPU as a device with queues: kernels are host code, cubes run on a team of threads.
#pragma once

#include <list>
#include <string>
#include <unordered_map>

#include "runtime/client.hpp"
#include "runtime/cpu/cpu_program.hpp"
#include "runtime/cpu/worker_team.hpp"
#include "runtime/executor.hpp"
#include "runtime/memory_pool.hpp"

namespace strata::runtime::cpu {

struct Options {
  int threads = 0;               ///< 0: STRATA_NUM_THREADS, else the processors this process may use
  std::size_t memory_limit = 0;  ///< bytes; 0: the machine's memory
};

class CpuClient final : public Client {
 public:
  explicit CpuClient(const Options& options = {});

  const DeviceProperties& properties() const override { return properties_; }
  Counters counters() const override;
  void write(BufferRef buffer, std::shared_ptr<const std::byte> data, std::size_t bytes) override;
  Future<std::shared_ptr<const std::byte>> read(BufferRef buffer) override;
  ProgramRef program(std::shared_ptr<const kernel::Kernel> ir) override;
  void precompile(std::span<const ProgramRef> programs) override;
  void launch(Launch launch) override;
  using Client::launch;
  std::vector<double> time(const Launch& launch, int repetitions) override;
  Future<void> sync_async() override;

  /// The device thread, for tests of its idleness.
  const Executor& executor() const { return executor_; }

 private:
  static constexpr std::size_t program_capacity = 4096;

  // On the device thread.
  void* bind(Buffer& buffer);
  void run(const Launch& launch);
  void run_or_throw(const Launch& launch);
  double run_timed(const Launch& launch);

  DeviceProperties properties_;
  MemoryPool pool_;
  WorkerTeam team_;
  CpuProgram::Counts program_counts_;
  std::atomic<std::uint64_t> launches_{0}, probe_launches_{0};
  std::atomic<std::uint64_t> bytes_in_use_{0}, bytes_reserved_{0}, bytes_peak_{0};

  std::mutex programs_mutex_;                        // misses of the layer above only
  std::list<std::shared_ptr<CpuProgram>> programs_;  // most recently used first
  std::unordered_map<std::string, decltype(programs_)::iterator> program_index_;

  Executor executor_;  // last: its tasks use everything above
};

/// The client of this process, made at first use; no thread starts before the first launch or read.
CpuClient& client();

struct Availability {
  bool available = false;
  std::string description;
};
/// Whether kernels can be compiled for this machine.
Availability availability();

}  // namespace strata::runtime::cpu
