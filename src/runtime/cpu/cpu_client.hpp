/// The CPU as a device with queues: kernels are host code, cubes run on a team of threads.
#pragma once

#include "runtime/cpu/cpu_program.hpp"
#include "runtime/cpu/machine.hpp"
#include "runtime/cpu/worker_team.hpp"
#include "runtime/queued_client.hpp"

namespace strata::runtime::cpu {

struct Options {
  int threads = 0;               ///< 0: as `thread_count()` says
  std::size_t memory_limit = 0;  ///< bytes; 0: as `memory_limit()` says
};

/// Must outlive its buffers; the one of the process is never destroyed. From `lend_from` bytes on a read
/// shares the device's memory.
class CpuClient final : public QueuedClient {
 public:
  explicit CpuClient(const Options& options = {});
  ~CpuClient() override { close(); }

  bool reaches(const Client& other) const override { return dynamic_cast<const CpuClient*>(&other); }
  /// Processor time of all threads of the device, in seconds.
  double processor_seconds() const { return device_thread_seconds() + team_.processor_seconds(); }

 private:
  static constexpr std::size_t lend_from = std::size_t{64} << 10;
  static constexpr std::size_t copy_part = std::size_t{256} << 10;  ///< copied by one thread at a time

  void upload(Buffer& buffer, const std::byte* data, std::size_t bytes) override;
  std::shared_ptr<const std::byte> download(const BufferRef& buffer) override;
  void copy_from_peer(Buffer& buffer, const Lent& source) override;
  void execute(const Bound& bound) override;
  void execute(const HostCall& call) override;
  std::vector<double> measure(const Bound& bound, int repetitions, int batch) override;
  void before_write(Buffer& buffer) override;
  std::shared_ptr<StoredProgram> make_program(std::shared_ptr<const kernel::Kernel> ir,
                                              const kernel::Hash128& hash) override;

  void copy_bytes(void* to, const void* from, std::size_t bytes);

  WorkerTeam team_;
};

/// The client of this process, made at first use; no thread starts before the first launch or read.
CpuClient& client();

}  // namespace strata::runtime::cpu
