#include "runtime/cpu/cpu_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "trace/span.hpp"

namespace strata::runtime::cpu {

using Clock = std::chrono::steady_clock;

CpuClient::CpuClient(const Options& options)
    : QueuedClient(properties_of_machine(options.threads ? options.threads : thread_count()),
                   options.memory_limit ? options.memory_limit : cpu::memory_limit()),
      team_(properties().threads, "DSW-cpu-") {}

/// Leaves the memory to the readers that share it and gives the buffer a copy.
void CpuClient::before_write(Buffer& buffer) {
  const auto readers = lent_of(buffer).lock();
  if (!readers) return;
  const BufferRef old(new Buffer(*this, buffer.bytes()));
  std::swap(data_of(*old), data_of(buffer));
  std::swap(taken_of(*old), taken_of(buffer));
  lent_of(buffer).reset();
  *readers = old;
  copy_bytes(bind(buffer), data_of(*old), buffer.bytes());
}

void CpuClient::copy_bytes(void* to, const void* from, std::size_t bytes) {
  const auto parts = static_cast<std::int64_t>((bytes + copy_part - 1) / copy_part);
  team_.run(parts, [&](std::int64_t begin, std::int64_t end) {
    const auto first = static_cast<std::size_t>(begin) * copy_part;
    const auto last = std::min(static_cast<std::size_t>(end) * copy_part, bytes);
    std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                last - first);
  });
}

void CpuClient::copy_from_peer(Buffer& buffer, const Lent& source) {
  copy_bytes(bind(buffer), source.data, buffer.bytes());
}

void CpuClient::upload(Buffer& buffer, const std::byte* data, std::size_t bytes) {
  before_write(buffer);
  copy_bytes(bind(buffer), data, bytes);
}

std::shared_ptr<const std::byte> CpuClient::download(const BufferRef& buffer) {
  const auto bytes = buffer->bytes();
  const auto* data = static_cast<const std::byte*>(bind(*buffer));
  if (bytes >= lend_from) {
    auto readers = lent_of(*buffer).lock();
    if (!readers) lent_of(*buffer) = readers = std::make_shared<BufferRef>(buffer);
    return {std::move(readers), data};
  }
  auto* copy = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(64), std::nothrow));
  if (!copy) {
    throw OutOfMemoryError(
        fmt::format("[{}] cannot allocate {} bytes of host memory for a read", properties().device, bytes));
  }
  std::memcpy(copy, data, bytes);
  return {copy,
          [](const std::byte* p) { ::operator delete(const_cast<std::byte*>(p), std::align_val_t(64)); }};
}

void CpuClient::execute(const HostCall& call) {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const auto& buffer : call.inputs) inputs.push_back(static_cast<const std::byte*>(bind(*buffer)));
  for (const auto& buffer : call.outputs) outputs.push_back(static_cast<std::byte*>(bind(*buffer)));
  call.run(inputs, outputs);
}

void CpuClient::execute(const Bound& bound) {
  const auto& launch = bound.launch;
  const auto cubes = std::int64_t{launch.cubes[0]} * launch.cubes[1] * launch.cubes[2];
  const auto entry = static_cast<CpuProgram&>(*launch.program).entry();
  trace::Span span("runtime", "launch");
  if (span.recording())
    span.field("kernel", std::string_view(launch.program->ir().name)).field("cubes", cubes);
  team_.run(cubes, [&](std::int64_t begin, std::int64_t end) {
    entry(bound.data.data(), bound.lengths.data(), launch.scalars.data(), launch.cubes.data(), begin, end);
  });
}

std::vector<double> CpuClient::measure(const Bound& bound, int repetitions, int batch) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = Clock::now();
    for (int k = 0; k < batch; ++k) execute(bound);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count() / batch);
  }
  return seconds;
}

std::shared_ptr<StoredProgram> CpuClient::make_program(std::shared_ptr<const kernel::Kernel> ir,
                                                       const kernel::Hash128& hash) {
  return std::make_shared<CpuProgram>(std::move(ir), hash);
}

CpuClient& client() {
  static auto* instance = new CpuClient;
  return *instance;
}

}  // namespace strata::runtime::cpu
