/// A device as the layers above see it: buffers, programs, launches, reads. One client per device; calls may
/// come from any thread, return at once and take effect in order on the device's downstream thread,
/// `DSD-<device>`.
///
/// A failure *taints* the buffers it would have written: later launches that read one of them are skipped and
/// taint their own outputs with the same error, reads throw it, everything else goes on. Failures that only
/// the kernel can see reach buffers as doubts; see check.hpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/hash.hpp"
#include "kernel/ir.hpp"
#include "kernel/traits.hpp"
#include "runtime/check.hpp"
#include "strata/detail/value.hpp"
#include "strata/future.hpp"

namespace strata::runtime {

class Client;

struct DeviceProperties {
  std::string device;    ///< "cpu"
  std::string runtime;   ///< "cpu": how launches happen
  std::string compiler;  ///< "llvm": how kernels become code
  std::string identity;  ///< everything that decides what is fast here: scope of tuning results
  std::string description;
  int threads = 1;                         ///< cubes that run at once
  int vector_bytes = 16;                   ///< widest vector register
  std::size_t l1_bytes = 0, l2_bytes = 0;  ///< data caches of one core
  int plane_size = 1;
  std::uint32_t max_units = 1;  ///< units in a cube that cost nothing extra
  std::size_t max_shared_bytes = 0;
};

/// Device memory. Minted without memory; the downstream thread binds some when the buffer is first used.
class Buffer {
 public:
  Buffer(Client& client, std::size_t bytes) : client_(client), bytes_(bytes) {}
  std::size_t bytes() const { return bytes_; }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  std::uint32_t reference_count() const noexcept { return references_.load(std::memory_order_acquire); }

 private:
  friend class Client;
  Client& client_;
  const std::size_t bytes_;
  std::atomic<std::uint32_t> references_{0};
  // The rest belongs to the downstream thread.
  void* data_ = nullptr;
  std::size_t taken_ = 0;  // what the pool really gave
  std::exception_ptr error_;
  Doubts doubts_;
  std::weak_ptr<backend::Ref<Buffer>> lent_;  // alive while a reader shares the memory
  Buffer* next_returned_ = nullptr;
};
using BufferRef = backend::Ref<Buffer>;

/// A kernel of this process: compiled, or found in the cache, when it is first launched.
class Program {
 public:
  virtual ~Program() = default;
  const kernel::Kernel& ir() const { return *ir_; }
  const kernel::Hash128& hash() const { return hash_; }

 protected:
  Program(std::shared_ptr<const kernel::Kernel> ir, const kernel::Hash128& hash)
      : ir_(std::move(ir)), hash_(hash) {}

 private:
  const std::shared_ptr<const kernel::Kernel> ir_;
  const kernel::Hash128 hash_;
};
using ProgramRef = std::shared_ptr<Program>;

struct Launch {
  ProgramRef program;
  std::array<std::uint32_t, 3> cubes{1, 1, 1};
  std::vector<BufferRef>
      buffers;  ///< one per global memory of the kernel; its `written` flags say which are outputs
  std::vector<std::int64_t> scalars;  ///< one per scalar parameter: its bits
  CheckRef check{};                   ///< its word is one more memory, the last: i64 x 1
};

/// Work of the host on device memory: for operations that a device has no kernel for.
struct HostCall {
  std::string name;
  std::vector<BufferRef> inputs, outputs;
  /// Gets the bytes of the inputs and writes those of the outputs. What it throws taints the outputs.
  std::function<void(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs)> run;
};

/// A buffer that its device has finished, for the client of another one to copy from while this lives.
struct Lent {
  BufferRef buffer;
  const std::byte* data = nullptr;
  Client* owner = nullptr;
};

struct Counters {
  std::uint64_t host_calls = 0;
  std::uint64_t launches = 0, probe_launches = 0, compiles = 0, cache_hits = 0;
  std::uint64_t bytes_in_use = 0, bytes_reserved = 0, bytes_peak = 0;
};

class Client {
 public:
  /// The memory of the buffers that came back last went with the derived client.
  virtual ~Client() {
    // A buffer's doubts may hold the last reference to another.
    while (returned_.load(std::memory_order_relaxed)) collect_returned([](void*, std::size_t) {});
  }
  virtual const DeviceProperties& properties() const = 0;
  virtual Counters counters() const = 0;

  BufferRef allocate(std::size_t bytes) { return BufferRef(new Buffer(*this, bytes)); }
  /// Copies `bytes` from `data`, which is kept alive until then.
  virtual void write(BufferRef buffer, std::shared_ptr<const std::byte> data, std::size_t bytes) = 0;
  /// The whole buffer. The bytes stay as they are, whatever is done to the buffer later.
  virtual Future<std::shared_ptr<const std::byte>> read(BufferRef buffer) = 0;
  /// Whether `copy` takes what `other` lends: between devices that copy without the host. No client by
  /// itself.
  virtual bool reaches(const Client& other) const;
  /// Throws the buffer's error.
  virtual Future<Lent> lend(BufferRef buffer);
  /// The whole of a buffer of the same size from another device.
  virtual void copy(BufferRef buffer, Lent source);
  /// Equal kernels give the same program.
  virtual ProgramRef program(std::shared_ptr<const kernel::Kernel> ir) = 0;
  /// Compiles what is not compiled yet, several at once, on threads that end with this call. Failures stay
  /// with the programs.
  virtual void precompile(std::span<const ProgramRef> programs) = 0;
  virtual void launch(Launch launch) = 0;
  void launch(ProgramRef program, std::array<std::uint32_t, 3> cubes, std::span<const BufferRef> buffers,
              std::span<const std::int64_t> scalars, CheckRef check = {}) {
    launch(Launch{std::move(program),
                  cubes,
                  {buffers.begin(), buffers.end()},
                  {scalars.begin(), scalars.end()},
                  std::move(check)});
  }
  /// Runs in order with the launches.
  virtual void host_call(HostCall call) = 0;
  /// Seconds of each of `repetitions` launches, measured alone on the device and counted as probes. Blocks.
  /// Throws what made the program or a buffer fail. Logging and tracing are suspended, so they cannot change
  /// what is measured.
  /// Each repetition is the mean of `batch` launches, for kernels so short that reading the clock would show.
  virtual std::vector<double> time(const Launch& launch, int repetitions, int batch = 1) = 0;
  /// Runs once as a probe and blocks; throws as `time` does.
  void probe(const Launch& one) { time(one, 1); }
  /// Runs queued work on the calling thread until `done()`, unless the device's thread is at it. For callers
  /// that would only wait.
  virtual void help(const std::function<bool()>& done) = 0;
  /// Ready when everything queued before it is done. Errors that belong to a buffer stay with it; a fault of
  /// the device thread itself is thrown here.
  virtual Future<void> sync_async() = 0;
  void sync() { sync_async().get(); }

 protected:
  friend class Buffer;
  /// Takes a buffer whose last reference is gone; any thread, no lock.
  void give_back(Buffer* buffer) noexcept {
    auto* head = returned_.load(std::memory_order_relaxed);
    do {
      buffer->next_returned_ = head;
    } while (
        !returned_.compare_exchange_weak(head, buffer, std::memory_order_release, std::memory_order_relaxed));
  }
  /// Calls `take(data, taken)` for the memory of every returned buffer. Downstream thread only.
  template <class Take>
  void collect_returned(Take&& take) {
    for (auto* b = returned_.exchange(nullptr, std::memory_order_acquire); b;) {
      auto* next = b->next_returned_;
      if (b->data_) take(b->data_, b->taken_);
      delete b;
      b = next;
    }
  }
  // Access to a buffer's private half for the derived clients.
  static void*& data_of(Buffer& b) { return b.data_; }
  static std::size_t& taken_of(Buffer& b) { return b.taken_; }
  static std::exception_ptr& error_of(Buffer& b) { return b.error_; }
  static std::weak_ptr<BufferRef>& lent_of(Buffer& b) { return b.lent_; }
  static const Doubts& doubts_of(const Buffer& b) { return b.doubts_; }
  /// Takes over the outcome of closed checks; false when the buffer has an error.
  static bool believed(Buffer& buffer);
  /// Gives the buffer this error, unless it has one.
  static void refuse(Buffer& buffer, const std::exception_ptr& error);
  /// Decides all doubts of the buffer. The device has finished what it was given.
  static void close_checks(Buffer& buffer, const Download& download);
  /// After a launch: its outputs are as doubtful as all that it saw. Returns by how many checks.
  static std::size_t pass_doubts(const Launch& launch);

 private:
  std::atomic<Buffer*> returned_{nullptr};
};

inline void Buffer::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) client_.give_back(this);
}

}  // namespace strata::runtime
