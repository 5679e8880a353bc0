/// What clients of all devices share: a serial downstream thread that takes writes, launches and reads in
/// order, memory that buffers get when they are first used, taints, counters, and the programs of the
/// process. How a device does these things is virtual.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "runtime/client.hpp"
#include "runtime/executor.hpp"
#include "runtime/faults.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/stored_program.hpp"

namespace strata::runtime {

class QueuedClient : public Client {
 public:
  const DeviceProperties& properties() const final { return properties_; }
  Counters counters() const final;
  void write(BufferRef buffer, std::shared_ptr<const std::byte> data, std::size_t bytes) final;
  Future<std::shared_ptr<const std::byte>> read(BufferRef buffer) final;
  Future<Lent> lend(BufferRef buffer) final;
  void copy(BufferRef buffer, Lent source) final;
  ProgramRef program(std::shared_ptr<const kernel::Kernel> ir) final;
  void precompile(std::span<const ProgramRef> programs) final;
  void launch(Launch launch) final;
  using Client::launch;
  void host_call(HostCall call) final;
  std::vector<double> time(const Launch& launch, int repetitions, int batch = 1) final;
  void help(const std::function<bool()>& done) final { executor_->help(done); }
  Future<void> sync_async() final;
  /// Gives unused memory back to the system.
  void trim();

  Faults& faults() { return faults_; }

 protected:
  /// Threads are named after `properties.device`.
  QueuedClient(DeviceProperties properties, std::size_t memory_limit,
               std::unique_ptr<MemorySource> memory = host_pages());

  /// A launch that fits its kernel, with memory bound to every buffer.
  struct Bound {
    const Launch& launch;
    std::span<void* const> data;
    std::span<const std::int64_t> lengths;  ///< elements
  };

  // ---- on the device thread; what they throw taints the outputs, or reaches the reader

  virtual void upload(Buffer& buffer, const std::byte* data, std::size_t bytes) = 0;
  virtual std::shared_ptr<const std::byte> download(const BufferRef& buffer) = 0;
  /// Returns when the copy is there. `source` belongs to a client that this one reaches.
  virtual void copy_from_peer(Buffer& buffer, const Lent& source) = 0;
  /// Starts the launch. The program is compiled.
  virtual void execute(const Bound& bound) = 0;
  /// Runs the call when everything before it is done.
  virtual void execute(const HostCall& call) = 0;
  /// Seconds of each of `repetitions` x `batch` launches.
  virtual std::vector<double> measure(const Bound& bound, int repetitions, int batch) = 0;
  /// Before a kernel or the host writes to it.
  virtual void before_write(Buffer&) {}
  /// Waits for the device; throws when it failed as a whole.
  virtual void finish() {}
  /// Memory for words of checks: both the device and the host reach it.
  virtual std::shared_ptr<std::int64_t> check_memory(std::size_t words);

  // ---- on any thread

  virtual std::shared_ptr<StoredProgram> make_program(std::shared_ptr<const kernel::Kernel> ir,
                                                      const kernel::Hash128& hash) = 0;

  /// Runs what was posted and ends the device's thread. A derived client's destructor begins with it.
  void close() { executor_.reset(); }
  /// The memory of a buffer, reserved at the first call.
  void* bind(Buffer& buffer);
  /// Device thread: whether other work waits behind what runs now.
  bool more_queued() const { return executor_->pending() > 1; }
  double device_thread_seconds() const { return executor_->processor_seconds(); }

 private:
  static constexpr std::size_t program_capacity = 4096;
  static constexpr std::size_t most_doubts = 256;  ///< of one buffer; beyond them launches wait
  static constexpr std::size_t eager_bytes = std::size_t{256} << 10;  ///< a write worth waking the device for

  struct HashOfHash {
    std::size_t operator()(const kernel::Hash128& h) const { return static_cast<std::size_t>(h.low); }
  };

  void reserve(Buffer& buffer);
  void collect();
  void wait();
  /// Gives the check of a launch its word.
  void open(Check& check);
  /// Waits where the buffer is in doubt; throws its error.
  void require(Buffer& buffer);
  void run(const Launch& launch) noexcept;
  void run(const HostCall& call) noexcept;
  std::vector<double> run_timed(const Launch& launch, int repetitions, int batch);
  /// Checks the launch, binds its buffers and calls f(Bound).
  template <class F>
  auto with_bound(const Launch& launch, F&& f);

  const DeviceProperties properties_;
  Faults faults_;
  MemoryPool pool_;
  StoredProgram::Counts program_counts_;
  const std::shared_ptr<CheckWords> check_words_;  ///< outlives this: checks hold on to it
  std::uint64_t checks_ = 0;                       ///< opened so far
  std::atomic<std::uint64_t> host_calls_{0}, launches_{0}, probe_launches_{0};
  std::atomic<std::uint64_t> bytes_in_use_{0}, bytes_reserved_{0}, bytes_peak_{0};

  std::mutex programs_mutex_;                           // misses of the layer above only
  std::list<std::shared_ptr<StoredProgram>> programs_;  // most recently used first
  std::unordered_map<kernel::Hash128, decltype(programs_)::iterator, HashOfHash> program_index_;

  std::optional<Executor> executor_;  // last: its tasks use everything above
};

}  // namespace strata::runtime
