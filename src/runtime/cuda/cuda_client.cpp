#include "runtime/cuda/cuda_client.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <new>

#include "runtime/cuda/cuda_program.hpp"
#include "strata/error.hpp"
#include "trace/span.hpp"

namespace strata::runtime::cuda {
namespace {

// CUdevice_attribute
constexpr int max_threads_per_block = 1, max_shared_per_block = 8, warp_size = 10, multiprocessors = 16,
              l2_cache_size = 38, capability_major = 75, capability_minor = 76;
constexpr unsigned non_blocking_stream = 1, mapped_memory = 2;
constexpr std::size_t staging_bytes = std::size_t{64} << 10;

DeviceProperties properties_of(const Context& context) {
  DeviceProperties p;
  p.device = fmt::format("cuda:{}", context.ordinal());
  p.runtime = "cuda";
  p.compiler = "ptx";
  p.threads = context.attribute(multiprocessors);
  p.l1_bytes = std::size_t{128} << 10;
  p.l2_bytes = static_cast<std::size_t>(context.attribute(l2_cache_size));
  p.plane_size = context.attribute(warp_size);
  p.max_units = static_cast<std::uint32_t>(context.attribute(max_threads_per_block));
  p.max_shared_bytes = static_cast<std::size_t>(context.attribute(max_shared_per_block));
  p.identity = fmt::format("cuda {} {} sm_{} driver {}", context.name(), codegen::generator_identity(),
                           context.capability(), context.driver_version());
  p.description = fmt::format("{}, sm_{}, {} multiprocessors, {} GiB", context.name(), context.capability(),
                              p.threads, context.memory_bytes() >> 30);
  return p;
}

void check(Result result, std::string_view what) {
  if (result != 0) throw LaunchError(fmt::format("[{}] {}", what, text_of(result)));
}

Address address_of(void* data) { return reinterpret_cast<Address>(data); }

}  // namespace

Context::Context(int ordinal) : ordinal_(ordinal) {
  const auto& d = driver();
  if (const auto there = availability(ordinal); !there.available)
    throw DeviceError(fmt::format("cuda:{}: {}", ordinal, there.description));
  auto result = d.DeviceGet(&device_, ordinal);
  if (result == 0) result = d.DevicePrimaryCtxRetain(&context_, device_);
  if (result != 0) throw DeviceError(fmt::format("cuda:{}: {}", ordinal, text_of(result)));
}

const Driver& Context::enter() const {
  thread_local Handle current = nullptr;
  const auto& d = driver();
  if (current != context_) {
    check(d.CtxSetCurrent(context_), "context");
    current = context_;
  }
  return d;
}

int Context::attribute(int which) const {
  int value = 0;
  driver().DeviceGetAttribute(&value, which, device_);
  return value;
}
int Context::capability() const { return attribute(capability_major) * 10 + attribute(capability_minor); }
std::size_t Context::memory_bytes() const {
  std::size_t bytes = 0;
  driver().DeviceTotalMem(&bytes, device_);
  return bytes;
}
std::string Context::name() const {
  char text[256] = {};
  driver().DeviceGetName(text, sizeof text, device_);
  return text;
}
int Context::driver_version() const {
  int version = 0;
  driver().DriverGetVersion(&version);
  return version;
}

std::byte* DeviceMemory::map(std::size_t bytes, std::size_t alignment) {
  const auto& d = context_->enter();
  Address got = 0;
  if (d.MemAlloc(&got, bytes) != 0) return nullptr;
  if (got % alignment == 0) return reinterpret_cast<std::byte*>(got);
  d.MemFree(got);
  if (d.MemAlloc(&got, bytes + alignment) != 0) return nullptr;
  auto* const data = reinterpret_cast<std::byte*>((got + alignment - 1) / alignment * alignment);
  unaligned_[data] = got;
  return data;
}

void DeviceMemory::unmap(std::byte* data, std::size_t) {
  before_unmap();
  const auto found = unaligned_.find(data);
  context_->enter().MemFree(found == unaligned_.end() ? address_of(data) : found->second);
  if (found != unaligned_.end()) unaligned_.erase(found);
}

class PinnedMemory::Pages final : public MemorySource {
 public:
  explicit Pages(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  std::byte* map(std::size_t bytes, std::size_t alignment) override {
    void* memory = nullptr;
    if (context_->enter().MemHostAlloc(&memory, bytes + alignment, 0) != 0) return nullptr;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    auto* const data = reinterpret_cast<std::byte*>((begin + alignment - 1) / alignment * alignment);
    given_[data] = {memory, data + bytes};
    return data;
  }
  void unmap(std::byte* data, std::size_t) override {
    context_->enter().MemFreeHost(given_.extract(data).mapped().memory);
  }
  bool hold(const std::byte* p) const {
    const auto after = given_.upper_bound(p);
    return after != given_.begin() && p < std::prev(after)->second.end;
  }

 private:
  struct Given {
    void* memory;
    const std::byte* end;
  };
  const std::shared_ptr<const Context> context_;
  std::map<const std::byte*, Given> given_;  ///< by the driver
};

PinnedMemory::PinnedMemory(std::unique_ptr<Pages> pages) : pages_(*pages), pool_(limit, std::move(pages)) {}
std::shared_ptr<PinnedMemory> PinnedMemory::make(std::shared_ptr<const Context> context) {
  return std::shared_ptr<PinnedMemory>(new PinnedMemory(std::make_unique<Pages>(std::move(context))));
}

bool PinnedMemory::holds(const std::byte* p) {
  const std::lock_guard lock(mutex_);
  return pages_.hold(p);
}

std::shared_ptr<std::byte> PinnedMemory::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto block = pool_.allocate(bytes);
  if (!block.data) return nullptr;
  return {static_cast<std::byte*>(block.data), [self = shared_from_this(), block](std::byte*) {
            const std::lock_guard again(self->mutex_);
            self->pool_.free(block);
          }};
}

/// The one stream of a client.
class CudaClient::Stream final : public LaunchSink {
 public:
  explicit Stream(std::shared_ptr<const Context> context) : context_(std::move(context)) {
    check(context_->enter().StreamCreate(&handle_, non_blocking_stream), "stream");
  }
  Handle handle() const { return handle_; }

  void start(const KernelLaunch& launch) override {
    const auto& [x, y, z] = launch.units;
    check(context_->enter().LaunchKernel(launch.function, launch.cubes[0], launch.cubes[1], launch.cubes[2],
                                         x, y, z, launch.shared_bytes, handle_, Parameters(launch).data(),
                                         nullptr),
          "launch");
  }
  std::unique_ptr<Graph> graph(std::span<const KernelLaunch> launches) override {
    auto graph = std::make_unique<Sequence>(context_->enter(), handle_);
    return graph->make(launches) ? std::move(graph) : nullptr;
  }
  void finish() override { check(context_->enter().StreamSynchronize(handle_), "sync"); }

 private:
  /// Where the driver finds each argument.
  class Parameters {
   public:
    explicit Parameters(const KernelLaunch& launch)
        : many_(launch.arguments.size() > few_.size() ? launch.arguments.size() : 0) {
      for (std::size_t i = 0; i < launch.arguments.size(); ++i)
        data()[i] = const_cast<std::uint64_t*>(&launch.arguments[i]);
    }
    void** data() { return many_.empty() ? few_.data() : many_.data(); }

   private:
    std::array<void*, 64> few_;
    std::vector<void*> many_;
  };

  class Sequence final : public Graph {
   public:
    Sequence(const Driver& driver, Handle stream) : driver_(driver), stream_(stream) {}
    Sequence(const Sequence&) = delete;
    ~Sequence() override {
      if (executable_) driver_.GraphExecDestroy(executable_);
      if (graph_) driver_.GraphDestroy(graph_);
    }
    bool make(std::span<const KernelLaunch> launches) {
      bool made = driver_.GraphCreate(&graph_, 0) == 0;
      for (const auto& launch : launches) {
        Parameters parameters(launch);
        const auto node = described(launch, parameters);
        const auto before = nodes_.empty() ? nullptr : nodes_.back();
        nodes_.push_back(nullptr);
        made =
            made && driver_.GraphAddKernelNode(&nodes_.back(), graph_, &before, before ? 1 : 0, &node) == 0;
      }
      return made && driver_.GraphInstantiate(&executable_, graph_, 0) == 0;
    }
    void update(std::size_t i, const KernelLaunch& launch) override {
      Parameters parameters(launch);
      const auto node = described(launch, parameters);
      check(driver_.GraphExecKernelNodeSetParams(executable_, nodes_[i], &node), "launch");
    }
    void start() override { check(driver_.GraphLaunch(executable_, stream_), "launch"); }

   private:
    static KernelNode described(const KernelLaunch& launch, Parameters& parameters) {
      const auto& c = launch.cubes;
      const auto& u = launch.units;
      return {launch.function,   c[0],   c[1], c[2], u[0], u[1], u[2], launch.shared_bytes,
              parameters.data(), nullptr};
    }

    const Driver& driver_;
    const Handle stream_;
    Handle graph_ = nullptr, executable_ = nullptr;
    std::vector<Handle> nodes_;
  };

  const std::shared_ptr<const Context> context_;
  Handle handle_ = nullptr;
};

CudaClient::CudaClient(int ordinal) : CudaClient(std::make_shared<const Context>(ordinal)) {}
CudaClient::CudaClient(const std::shared_ptr<const Context>& context)
    : CudaClient(context, new DeviceMemory(context)) {}

CudaClient::CudaClient(std::shared_ptr<const Context> context, DeviceMemory* memory)
    : QueuedClient(properties_of(*context), context->memory_bytes(), std::unique_ptr<MemorySource>(memory)),
      context_(std::move(context)),
      stream_(std::make_unique<Stream>(context_)),
      replay_(*stream_),
      memory_(*memory),
      pinned_(PinnedMemory::make(context_)) {
  memory_.before_unmap = [this] { replay_.flush(); };
  void* staging = nullptr;
  check(context_->enter().MemHostAlloc(&staging, staging_bytes, 0), "staging memory");
  staging_ = static_cast<std::byte*>(staging);
}
CudaClient::~CudaClient() {
  close();
  memory_.before_unmap = [] {};
}

const Driver& CudaClient::in_order() {
  replay_.flush();
  return context_->enter();
}

/// `data` may go when this returns: by then the driver has copied pageable memory aside.
void CudaClient::upload(Buffer& buffer, const std::byte* data, std::size_t bytes) {
  const auto to = address_of(bind(buffer));
  check(in_order().MemcpyHtoDAsync(to, data, bytes, stream_->handle()), "write");
  if (pinned_->holds(data)) finish();
}

void CudaClient::copy_to_host(std::byte* to, Buffer& buffer, std::size_t bytes) {
  const bool small = bytes <= staging_bytes;
  const auto from = address_of(bind(buffer));
  const auto& d = in_order();
  check(d.MemcpyDtoHAsync(small ? staging_ : to, from, bytes, stream_->handle()), "read");
  check(d.StreamSynchronize(stream_->handle()), "read");
  if (small) std::memcpy(to, staging_, bytes);
}

std::shared_ptr<std::byte> CudaClient::host_memory(std::size_t bytes) {
  if (bytes > staging_bytes) {
    if (auto pinned = pinned_->take(bytes)) return pinned;
  }
  auto* memory = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(64), std::nothrow));
  if (!memory) {
    throw OutOfMemoryError(
        fmt::format("[{}] cannot allocate {} bytes of host memory for a read", properties().device, bytes));
  }
  return {memory, [](std::byte* p) { ::operator delete(p, std::align_val_t(64)); }};
}

std::shared_ptr<const std::byte> CudaClient::download(const BufferRef& buffer) {
  auto copy = host_memory(buffer->bytes());
  if (buffer->bytes() > 0) copy_to_host(copy.get(), *buffer, buffer->bytes());
  return copy;
}

/// Over NVLink or PCIe where the devices see each other, else by way of the host in the driver's hands.
void CudaClient::copy_from_peer(Buffer& buffer, const Lent& source) {
  const auto& from = *static_cast<CudaClient&>(*source.owner).context_;
  if (peers_.insert(from.ordinal()).second) context_->enter().CtxEnablePeerAccess(from.handle(), 0);
  const auto at = reinterpret_cast<Address>(source.data);
  const auto to = address_of(bind(buffer));
  check(in_order().MemcpyPeerAsync(to, context_->handle(), at, from.handle(), buffer.bytes(),
                                   stream_->handle()),
        "copy between devices");
  finish();
}

KernelLaunch CudaClient::described(const Bound& bound) {
  const auto& program = static_cast<const CudaProgram&>(*bound.launch.program);
  KernelLaunch launch{bound.launch.program,  program.function(),     bound.launch.cubes,
                      program.ir().cube_dim, program.shared_bytes(), {}};
  launch.arguments.reserve(2 * bound.data.size() + bound.launch.scalars.size());
  for (void* data : bound.data) launch.arguments.push_back(address_of(data));
  for (auto length : bound.lengths) launch.arguments.push_back(static_cast<std::uint64_t>(length));
  for (auto scalar : bound.launch.scalars) launch.arguments.push_back(static_cast<std::uint64_t>(scalar));
  return launch;
}

void CudaClient::execute(const Bound& bound) {
  trace::Span span("runtime", "launch");
  if (span.recording()) {
    const auto& cubes = bound.launch.cubes;
    span.field("kernel", std::string_view(bound.launch.program->ir().name))
        .field("cubes", std::int64_t{cubes[0]} * cubes[1] * cubes[2]);
  }
  replay_.launch(described(bound), more_queued());
}

void CudaClient::execute(const HostCall& call) {
  std::vector<std::shared_ptr<std::byte>> memory;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const auto& buffer : call.inputs) {
    memory.push_back(host_memory(buffer->bytes()));
    copy_to_host(memory.back().get(), *buffer, buffer->bytes());
    inputs.push_back(memory.back().get());
  }
  for (const auto& buffer : call.outputs) {
    memory.push_back(host_memory(buffer->bytes()));
    outputs.push_back(memory.back().get());
  }
  call.run(inputs, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    auto& buffer = *call.outputs[i];
    const auto to = address_of(bind(buffer));
    check(in_order().MemcpyHtoDAsync(to, outputs[i], buffer.bytes(), stream_->handle()), "write");
  }
  finish();  // the memory may be used again
}

std::vector<double> CudaClient::measure(const Bound& bound, int repetitions, int batch) {
  const auto& d = in_order();
  const auto launch = described(bound);
  const auto stream = stream_->handle();
  struct Event {
    const Driver& driver;
    Handle handle = nullptr;
    explicit Event(const Driver& d) : driver(d) { check(d.EventCreate(&handle, 0), "event"); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { driver.EventDestroy(handle); }
  };
  const Event begin(d), end(d);
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    check(d.EventRecord(begin.handle, stream), "event");
    for (int k = 0; k < batch; ++k) stream_->start(launch);
    check(d.EventRecord(end.handle, stream), "event");
    check(d.EventSynchronize(end.handle), "launch");
    float milliseconds = 0;
    check(d.EventElapsedTime(&milliseconds, begin.handle, end.handle), "event");
    seconds.push_back(static_cast<double>(milliseconds) * 1e-3 / batch);
  }
  return seconds;
}

/// Page-locked memory has one address for the host and its devices.
std::shared_ptr<std::int64_t> CudaClient::check_memory(std::size_t words) {
  void* memory = nullptr;
  check(context_->enter().MemHostAlloc(&memory, words * sizeof(std::int64_t), mapped_memory), "check memory");
  return {static_cast<std::int64_t*>(memory),
          [context = context_](std::int64_t* p) { context->enter().MemFreeHost(p); }};
}

void CudaClient::finish() {
  replay_.flush();
  stream_->finish();
}

std::shared_ptr<StoredProgram> CudaClient::make_program(std::shared_ptr<const kernel::Kernel> ir,
                                                        const kernel::Hash128& hash) {
  return std::make_shared<CudaProgram>(std::move(ir), hash, context_);
}

CudaClient& client(int ordinal) {
  static std::mutex mutex;
  static auto& clients = *new std::unordered_map<int, CudaClient*>;
  const std::lock_guard lock(mutex);
  auto& known = clients[ordinal];
  if (!known) known = new CudaClient(ordinal);
  return *known;
}

}  // namespace strata::runtime::cuda
