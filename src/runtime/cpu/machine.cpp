#include "runtime/cpu/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "codegen/compiler.hpp"
#include "trace/log.hpp"

namespace strata::runtime::cpu {
namespace {

std::size_t cache_bytes(int name, std::size_t usual) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : usual;
}

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

}  // namespace

int thread_count() {
  if (const char* text = std::getenv("STRATA_NUM_THREADS"); text && *text) {
    int n = 0;
    const auto* end = text + std::strlen(text);
    const auto parsed = std::from_chars(text, end, n);
    if (parsed.ec == std::errc() && parsed.ptr == end && n >= 1 && n <= 1024) return n;
    trace::log::warn_once(trace::log::Topic::runtime, "threads",
                          "STRATA_NUM_THREADS=\"{}\" is not a number from 1 to 1024", text);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::size_t memory_limit() {
  auto bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::size_t limit = 0;
    if (std::ifstream(path) >> limit) bytes = std::min(bytes, limit);  // "max" is no number
  }
  return bytes;
}

DeviceProperties properties_of_machine(int threads) {
  DeviceProperties p;
  p.device = p.runtime = "cpu";
  p.compiler = "llvm";
  p.threads = threads;
  p.vector_bytes = codegen::host_vector_bytes();
  p.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32u << 10);
  p.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1u << 20);
  p.max_shared_bytes = p.l1_bytes;
  p.identity = fmt::format("cpu {} threads={}", codegen::host_identity(), threads);
  p.description = fmt::format("{} threads, {}-bit vectors", threads, p.vector_bytes * 8);
  return p;
}

Availability availability() {
#if defined(__x86_64__)
  return {true, fmt::format("{}, {} threads, {}-bit vectors", model_name(), thread_count(),
                            codegen::host_vector_bytes() * 8)};
#else
  return {false, "unavailable: kernels can be loaded on x86-64 only"};
#endif
}

}  // namespace strata::runtime::cpu
