/// An NVIDIA GPU: kernels become PTX, which the driver assembles; one stream takes uploads, launches and
/// downloads in order.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "runtime/cuda/replay.hpp"
#include "runtime/queued_client.hpp"

namespace strata::runtime::cuda {

/// One device's context. Any thread may make it current and use it.
class Context {
 public:
  /// Throws DeviceError when the driver or the device is missing.
  explicit Context(int ordinal);
  /// The driver's functions, with this context current on the calling thread.
  const Driver& enter() const;
  int attribute(int which) const;

  Handle handle() const { return context_; }
  int ordinal() const { return ordinal_; }
  /// 90 for compute capability 9.0.
  int capability() const;
  std::size_t memory_bytes() const;
  std::string name() const;
  int driver_version() const;

 private:
  int ordinal_, device_ = 0;
  Handle context_ = nullptr;
};

/// Memory of a device.
class DeviceMemory final : public MemorySource {
 public:
  explicit DeviceMemory(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  std::byte* map(std::size_t bytes, std::size_t alignment) override;
  void unmap(std::byte* data, std::size_t bytes) override;
  /// Called before memory goes back to the driver.
  std::function<void()> before_unmap = [] {};

 private:
  const std::shared_ptr<const Context> context_;
  std::unordered_map<std::byte*, Address>
      unaligned_;  ///< what the driver gave, where more had to be asked for
};

/// Page-locked memory of the host, to and from which the device copies at full speed. Locking pages is slow,
/// so blocks are kept. Any thread.
class PinnedMemory : public std::enable_shared_from_this<PinnedMemory> {
 public:
  static constexpr std::size_t limit = std::size_t{1} << 30;

  static std::shared_ptr<PinnedMemory> make(std::shared_ptr<const Context> context);
  /// Null where that much is not to be had: then pageable memory has to do.
  std::shared_ptr<std::byte> take(std::size_t bytes);
  /// Whether `p` points into this memory.
  bool holds(const std::byte* p);

 private:
  class Pages;
  explicit PinnedMemory(std::unique_ptr<Pages> pages);

  std::mutex mutex_;
  Pages& pages_;
  MemoryPool pool_;
};

/// Must outlive its buffers; those of the process are never destroyed.
class CudaClient final : public QueuedClient {
 public:
  explicit CudaClient(int ordinal);
  ~CudaClient() override;

  bool reaches(const Client& other) const override { return dynamic_cast<const CudaClient*>(&other); }

 private:
  void upload(Buffer& buffer, const std::byte* data, std::size_t bytes) override;
  std::shared_ptr<const std::byte> download(const BufferRef& buffer) override;
  void copy_from_peer(Buffer& buffer, const Lent& source) override;
  void execute(const Bound& bound) override;
  void execute(const HostCall& call) override;
  std::vector<double> measure(const Bound& bound, int repetitions, int batch) override;
  void finish() override;
  std::shared_ptr<std::int64_t> check_memory(std::size_t words) override;
  std::shared_ptr<StoredProgram> make_program(std::shared_ptr<const kernel::Kernel> ir,
                                              const kernel::Hash128& hash) override;

  class Stream;

  explicit CudaClient(const std::shared_ptr<const Context>& context);
  /// Takes `memory` over.
  CudaClient(std::shared_ptr<const Context> context, DeviceMemory* memory);
  static KernelLaunch described(const Bound& bound);
  /// The driver, for something else than a launch: those held back are started first.
  const Driver& in_order();
  /// Waits for what is queued, then for the copy.
  void copy_to_host(std::byte* to, Buffer& buffer, std::size_t bytes);
  /// For the elements of a tensor on the host. Throws OutOfMemoryError.
  std::shared_ptr<std::byte> host_memory(std::size_t bytes);

  const std::shared_ptr<const Context> context_;
  const std::unique_ptr<Stream> stream_;
  Replay replay_;
  std::set<int> peers_;  ///< devices whose memory this one was asked to see
  DeviceMemory& memory_;
  const std::shared_ptr<PinnedMemory> pinned_;
  std::byte* staging_ = nullptr;  ///< page-locked, for small reads
};

/// The client of a device of this process, made at first use. Throws DeviceError when there is none.
CudaClient& client(int ordinal);

}  // namespace strata::runtime::cuda
