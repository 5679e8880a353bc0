/// The CPU as a device with queues: kernels are host code, cubes run on a team of threads.
#pragma once

#include <list>
#include <mutex>
#include <unordered_map>

#include "runtime/client.hpp"
#include "runtime/cpu/cpu_program.hpp"
#include "runtime/cpu/machine.hpp"
#include "runtime/cpu/worker_team.hpp"
#include "runtime/executor.hpp"
#include "runtime/faults.hpp"
#include "runtime/memory_pool.hpp"

namespace strata::runtime::cpu {

struct Options {
  int threads = 0;               ///< 0: as `thread_count()` says
  std::size_t memory_limit = 0;  ///< bytes; 0: as `memory_limit()` says
};

/// Must outlive its buffers; the one of the process is never destroyed.
class CpuClient final : public Client {
 public:
  explicit CpuClient(const Options& options = {});

  const DeviceProperties& properties() const override { return properties_; }
  Counters counters() const override;
  void write(BufferRef buffer, std::shared_ptr<const std::byte> data, std::size_t bytes) override;
  /// From `lend_from` bytes on the result shares the device's memory.
  Future<std::shared_ptr<const std::byte>> read(BufferRef buffer) override;
  ProgramRef program(std::shared_ptr<const kernel::Kernel> ir) override;
  void precompile(std::span<const ProgramRef> programs) override;
  void launch(Launch launch) override;
  void host_call(HostCall call) override;
  using Client::launch;
  std::vector<double> time(const Launch& launch, int repetitions, int batch = 1) override;
  void help(const std::function<bool()>& done) override { executor_.help(done); }
  Future<void> sync_async() override;
  /// Gives unused memory back to the system.
  void trim();

  Faults& faults() { return faults_; }
  /// Processor time of all threads of the device, in seconds.
  double processor_seconds() const { return executor_.processor_seconds() + team_.processor_seconds(); }

 private:
  static constexpr std::size_t program_capacity = 4096;
  static constexpr std::size_t lend_from = std::size_t{64} << 10;
  static constexpr std::size_t copy_part = std::size_t{256} << 10;  ///< copied by one thread at a time

  struct HashOfHash {
    std::size_t operator()(const kernel::Hash128& h) const { return static_cast<std::size_t>(h.low); }
  };

  // On the device thread.
  void* bind(Buffer& buffer);
  void reserve(Buffer& buffer);
  void collect();
  void make_exclusive(Buffer& buffer);
  void copy(void* to, const void* from, std::size_t bytes);
  std::shared_ptr<const std::byte> contents(const BufferRef& buffer);
  static std::string described(const Launch& launch);
  void run(const Launch& launch) noexcept;
  void run_or_throw(const Launch& launch);
  void run(const HostCall& call) noexcept;
  std::vector<double> run_timed(const Launch& launch, int repetitions, int batch);

  const DeviceProperties properties_;
  Faults faults_;
  MemoryPool pool_;
  WorkerTeam team_;
  CpuProgram::Counts program_counts_;
  std::atomic<std::uint64_t> host_calls_{0}, launches_{0}, probe_launches_{0};
  std::atomic<std::uint64_t> bytes_in_use_{0}, bytes_reserved_{0}, bytes_peak_{0};

  std::mutex programs_mutex_;                        // misses of the layer above only
  std::list<std::shared_ptr<CpuProgram>> programs_;  // most recently used first
  std::unordered_map<kernel::Hash128, decltype(programs_)::iterator, HashOfHash> program_index_;

  Executor executor_;  // last: its tasks use everything above
};

/// The client of this process, made at first use; no thread starts before the first launch or read.
CpuClient& client();

}  // namespace strata::runtime::cpu
