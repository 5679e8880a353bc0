#include "runtime/cpu/cpu_client.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "base/check.hpp"
#include "trace/log.hpp"
#include "trace/span.hpp"
#include "trace/thread.hpp"

namespace strata::runtime::cpu {
namespace {

using Clock = std::chrono::steady_clock;

int thread_count() {
  if (const char* text = std::getenv("STRATA_NUM_THREADS")) {
    const int n = std::atoi(text);
    if (n >= 1 && n <= 1024) return n;
    trace::log::warn_once(trace::log::Topic::runtime, "threads",
                          "STRATA_NUM_THREADS=\"{}\" is not a number from 1 to 1024", text);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::size_t cache_bytes(int name, std::size_t usual) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : usual;
}

std::size_t machine_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

DeviceProperties properties_of(int threads) {
  DeviceProperties p;
  p.device = p.runtime = "cpu";
  p.compiler = "llvm";
  p.threads = threads;
  p.vector_bytes = codegen::host_vector_bytes();
  p.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32u << 10);
  p.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1u << 20);
  p.max_shared_bytes = p.l1_bytes;
  p.identity = fmt::format("cpu {} threads={}", codegen::host_identity(), threads);
  return p;
}

}  // namespace

CpuClient::CpuClient(const Options& options)
    : properties_(properties_of(options.threads ? options.threads : thread_count())),
      pool_(options.memory_limit ? options.memory_limit : machine_memory()),
      team_(properties_.threads),
      executor_("DSD-cpu") {
  properties_.description =
      fmt::format("{} threads, {}-bit vectors", properties_.threads, properties_.vector_bytes * 8);
}

Counters CpuClient::counters() const {
  return {launches_.load(std::memory_order_relaxed),
          probe_launches_.load(std::memory_order_relaxed),
          program_counts_.compiles.load(std::memory_order_relaxed),
          program_counts_.cache_hits.load(std::memory_order_relaxed),
          bytes_in_use_.load(std::memory_order_relaxed),
          bytes_reserved_.load(std::memory_order_relaxed),
          bytes_peak_.load(std::memory_order_relaxed)};
}

void* CpuClient::bind(Buffer& buffer) {
  void*& data = data_of(buffer);
  if (data) return data;
  collect_returned([&](void* p, std::size_t taken) { pool_.free({p, taken}); });
  trace::Span span("runtime", "reserve");
  span.field("bytes", buffer.bytes());
  const auto block = pool_.allocate(std::max<std::size_t>(buffer.bytes(), 1));
  if (!block.data) {
    throw OutOfMemoryError(fmt::format("[{}] cannot allocate {} bytes: {} of {} bytes are in use",
                                       properties_.device, buffer.bytes(), pool_.in_use(), pool_.limit()));
  }
  data = block.data;
  taken_of(buffer) = block.size;
  bytes_in_use_.store(pool_.in_use(), std::memory_order_relaxed);
  bytes_reserved_.store(pool_.reserved(), std::memory_order_relaxed);
  if (pool_.in_use() > bytes_peak_.load(std::memory_order_relaxed)) {
    bytes_peak_.store(pool_.in_use(), std::memory_order_relaxed);
  }
  return data;
}

void CpuClient::write(BufferRef buffer, std::shared_ptr<const std::byte> data, std::size_t bytes) {
  STRATA_CHECK(bytes <= buffer->bytes());
  executor_.post_quiet([this, buffer = std::move(buffer), data = std::move(data), bytes] {
    trace::Span span("runtime", "write");
    span.field("bytes", bytes);
    try {
      std::memcpy(bind(*buffer), data.get(), bytes);
    } catch (...) {
      error_of(*buffer) = std::current_exception();
    }
  });
}

Future<std::shared_ptr<const std::byte>> CpuClient::read(BufferRef buffer) {
  Promise<std::shared_ptr<const std::byte>> promise;
  auto future = promise.future();
  executor_.post([this, buffer = std::move(buffer), promise = std::move(promise)]() mutable {
    trace::Span span("runtime", "read");
    span.field("bytes", buffer->bytes());
    try {
      if (error_of(*buffer)) std::rethrow_exception(error_of(*buffer));
      const auto bytes = buffer->bytes();
      auto copy =
          std::shared_ptr<std::byte>(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(64))),
                                     [](std::byte* p) { ::operator delete(p, std::align_val_t(64)); });
      std::memcpy(copy.get(), bind(*buffer), bytes);
      promise.set_value(std::move(copy));
    } catch (const std::bad_alloc&) {
      promise.set_exception(std::make_exception_ptr(OutOfMemoryError(fmt::format(
          "[{}] cannot allocate {} bytes of host memory for a read", properties_.device, buffer->bytes()))));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  return future;
}

ProgramRef CpuClient::program(std::shared_ptr<const kernel::Kernel> ir) {
  const auto hash = kernel::hash(*ir);
  const auto key = hash.to_string();
  const std::lock_guard lock(programs_mutex_);
  if (const auto found = program_index_.find(key); found != program_index_.end()) {
    programs_.splice(programs_.begin(), programs_, found->second);
    return *found->second;
  }
  if (program_index_.size() == program_capacity) {
    program_index_.erase(programs_.back()->hash().to_string());
    programs_.pop_back();
  }
  programs_.push_front(std::make_shared<CpuProgram>(std::move(ir), hash));
  program_index_.emplace(key, programs_.begin());
  return programs_.front();
}

void CpuClient::precompile(std::span<const ProgramRef> programs) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < programs.size();) {
      try {
        static_cast<CpuProgram&>(*programs[i]).entry(program_counts_);
      } catch (...) {  // kept by the program: whoever launches it gets the error
      }
    }
  };
  std::vector<std::thread> helpers;
  const auto wanted = std::min<std::size_t>(programs.size(), static_cast<std::size_t>(properties_.threads));
  for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
  work();
  for (auto& t : helpers) t.join();
}

void CpuClient::launch(Launch launch) {
  if (launch.cubes[0] == 0 || launch.cubes[1] == 0 || launch.cubes[2] == 0) return;
  executor_.post([this, launch = std::make_unique<Launch>(std::move(launch))] { run(*launch); });
}

void CpuClient::run(const Launch& launch) {
  const auto& ir = launch.program->ir();
  const auto taint_outputs = [&](const std::exception_ptr& error) {
    for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
      if (ir.memories[i].written) error_of(*launch.buffers[i]) = error;
    }
  };
  for (const auto& buffer : launch.buffers) {
    if (error_of(*buffer)) return taint_outputs(error_of(*buffer));
  }
  try {
    launches_.fetch_add(1, std::memory_order_relaxed);
    run_or_throw(launch);
  } catch (...) {
    taint_outputs(std::current_exception());
  }
}

void CpuClient::run_or_throw(const Launch& launch) {
  const auto& ir = launch.program->ir();
  if (launch.buffers.size() != ir.buffer_count() || launch.scalars.size() != ir.scalars.size()) {
    throw LaunchError(fmt::format("[launch] kernel {} takes {} buffers and {} scalars, got {} and {}",
                                  ir.name, ir.buffer_count(), ir.scalars.size(), launch.buffers.size(),
                                  launch.scalars.size()));
  }
  const auto entry = static_cast<CpuProgram&>(*launch.program).entry(program_counts_);
  constexpr std::size_t usual = 32;
  std::array<void*, usual> few_data;
  std::array<std::int64_t, usual> few_lengths;
  std::vector<void*> many_data;
  std::vector<std::int64_t> many_lengths;
  void** data = few_data.data();
  std::int64_t* lengths = few_lengths.data();
  if (launch.buffers.size() > usual) {
    many_data.resize(launch.buffers.size());
    many_lengths.resize(launch.buffers.size());
    data = many_data.data();
    lengths = many_lengths.data();
  }
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    data[i] = bind(*launch.buffers[i]);
    lengths[i] =
        static_cast<std::int64_t>(launch.buffers[i]->bytes() / kernel::size_of(ir.memories[i].scalar));
  }
  WorkerTeam::Job job{
      entry, data, lengths, launch.scalars.data(), {launch.cubes[0], launch.cubes[1], launch.cubes[2]}, 0};
  job.cubes = std::int64_t{launch.cubes[0]} * launch.cubes[1] * launch.cubes[2];
  trace::Span span("runtime", "launch");
  if (span.recording()) span.field("kernel", std::string_view(ir.name)).field("cubes", job.cubes);
  team_.run(job);
}

std::vector<double> CpuClient::time(const Launch& launch, int repetitions) {
  Promise<std::vector<double>> promise;
  auto future = promise.future();
  executor_.post([this, &launch, repetitions, promise = std::move(promise)]() mutable {
    const trace::Suspend quiet;
    try {
      for (const auto& buffer : launch.buffers) {
        if (error_of(*buffer)) std::rethrow_exception(error_of(*buffer));
      }
      std::vector<double> seconds;
      for (int i = 0; i < repetitions; ++i) {
        const auto start = Clock::now();
        run_or_throw(launch);
        seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
        probe_launches_.fetch_add(1, std::memory_order_relaxed);
      }
      promise.set_value(std::move(seconds));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  return future.get();
}

Future<void> CpuClient::sync_async() {
  Promise<void> promise;
  auto future = promise.future();
  executor_.post([promise = std::move(promise)]() mutable { promise.set_value(); });
  return future;
}

CpuClient& client() {
  static auto* instance = new CpuClient;
  return *instance;
}

Availability availability() {
#if defined(__x86_64__)
  return {true, fmt::format("{}, {} threads, {}-bit vectors", model_name(), thread_count(),
                            codegen::host_vector_bytes() * 8)};
#else
  return {false, "kernels can be loaded on x86-64 only"};
#endif
}

}  // namespace strata::runtime::cpu
