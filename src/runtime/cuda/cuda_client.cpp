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

CudaClient::CudaClient(std::shared_ptr<const Context> context)
    : QueuedClient(properties_of(*context), context->memory_bytes(), std::make_unique<DeviceMemory>(context)),
      context_(std::move(context)),
      pinned_(PinnedMemory::make(context_)) {
  const auto& d = context_->enter();
  check(d.StreamCreate(&stream_, non_blocking_stream), "stream");
  void* memory = nullptr;
  check(d.MemHostAlloc(&memory, staging_bytes, 0), "staging memory");
  staging_ = static_cast<std::byte*>(memory);
}

/// `data` may go when this returns: by then the driver has copied pageable memory aside.
void CudaClient::upload(Buffer& buffer, const std::byte* data, std::size_t bytes) {
  check(context_->enter().MemcpyHtoDAsync(address_of(bind(buffer)), data, bytes, stream_), "write");
  if (pinned_->holds(data)) finish();
}

void CudaClient::copy_to_host(std::byte* to, Buffer& buffer, std::size_t bytes) {
  const auto& d = context_->enter();
  const bool small = bytes <= staging_bytes;
  check(d.MemcpyDtoHAsync(small ? staging_ : to, address_of(bind(buffer)), bytes, stream_), "read");
  check(d.StreamSynchronize(stream_), "read");
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
  check(context_->enter().MemcpyPeerAsync(address_of(bind(buffer)), context_->handle(), at, from.handle(),
                                          buffer.bytes(), stream_),
        "copy between devices");
  finish();
}

void CudaClient::start(const Driver& d, const Bound& bound) {
  const auto& launch = bound.launch;
  const auto& ir = launch.program->ir();
  const auto count = bound.data.size();
  constexpr std::size_t usual = 64;
  std::array<void*, usual> few;
  std::vector<void*> many(2 * count + launch.scalars.size() > usual ? 2 * count + launch.scalars.size() : 0);
  void** const parameters = many.empty() ? few.data() : many.data();
  std::size_t n = 0;
  for (std::size_t i = 0; i < count; ++i) parameters[n++] = const_cast<void**>(&bound.data[i]);
  for (std::size_t i = 0; i < count; ++i) parameters[n++] = const_cast<std::int64_t*>(&bound.lengths[i]);
  for (const auto& scalar : launch.scalars) parameters[n++] = const_cast<std::int64_t*>(&scalar);
  const auto& [x, y, z] = ir.cube_dim;
  const auto& program = static_cast<const CudaProgram&>(*launch.program);
  check(d.LaunchKernel(program.function(), launch.cubes[0], launch.cubes[1], launch.cubes[2], x, y, z,
                       program.shared_bytes(), stream_, parameters, nullptr),
        "launch");
}

void CudaClient::execute(const Bound& bound) {
  trace::Span span("runtime", "launch");
  if (span.recording()) {
    const auto& cubes = bound.launch.cubes;
    span.field("kernel", std::string_view(bound.launch.program->ir().name))
        .field("cubes", std::int64_t{cubes[0]} * cubes[1] * cubes[2]);
  }
  start(context_->enter(), bound);
}

void CudaClient::execute(const HostCall& call) {
  const auto& d = context_->enter();
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
    check(d.MemcpyHtoDAsync(address_of(bind(buffer)), outputs[i], buffer.bytes(), stream_), "write");
  }
  finish();  // the memory may be used again
}

std::vector<double> CudaClient::measure(const Bound& bound, int repetitions, int batch) {
  const auto& d = context_->enter();
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
    check(d.EventRecord(begin.handle, stream_), "event");
    for (int k = 0; k < batch; ++k) start(d, bound);
    check(d.EventRecord(end.handle, stream_), "event");
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

void CudaClient::finish() { check(context_->enter().StreamSynchronize(stream_), "sync"); }

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
