#include "runtime/cpu/cpu_program.hpp"

#include <fmt/format.h>

#include "cache/store.hpp"
#include "trace/log.hpp"
#include "trace/span.hpp"

namespace strata::runtime::cpu {
namespace {

std::mutex fault_mutex;
std::string fault_name;

void inject_fault(const kernel::Kernel& ir) {
  const std::lock_guard lock(fault_mutex);
  if (!fault_name.empty() && fault_name == ir.name) {
    throw CompileError(fmt::format("[compile] kernel {} failed on purpose", ir.name));
  }
}

}  // namespace

void fail_compilation_of(std::string kernel_name) {
  const std::lock_guard lock(fault_mutex);
  fault_name = std::move(kernel_name);
}

codegen::HostKernel CpuProgram::entry(Counts& counts) {
  std::call_once(once_, [&] {
    try {
      load(counts);
    } catch (...) {
      error_ = std::current_exception();
    }
  });
  if (error_) std::rethrow_exception(error_);
  return entry_;
}

void CpuProgram::load(Counts& counts) {
  inject_fault(ir());
  auto& store = cache::Store::global();
  const auto scope = codegen::host_identity();
  const auto key = ir().name + "-" + hash().to_string();
  if (const auto stored = store.get(cache::Kind::kernel, scope, key)) {
    try {
      object_ = std::make_unique<codegen::LoadedObject>(*stored);
      entry_ = object_->entry(ir().name);
      counts.cache_hits.fetch_add(1, std::memory_order_relaxed);
      return;
    } catch (const Error& e) {
      trace::log::warn(trace::log::Topic::cache, "kernel {} in the cache is damaged ({}); compiling it again",
                       ir().name, e.what());
      store.erase(cache::Kind::kernel, scope, key);
    }
  }
  trace::Span span("runtime", "compile");
  span.field("kernel", std::string_view(ir().name));
  const auto compiled = codegen::compile(ir(), {}, codegen::Format::object);
  counts.compiles.fetch_add(1, std::memory_order_relaxed);
  trace::log::info(trace::log::Topic::compile, "kernel {}: {} bytes in {:.1f} ms", ir().name,
                   compiled.code.size(), compiled.milliseconds);
  object_ = std::make_unique<codegen::LoadedObject>(compiled.code);
  entry_ = object_->entry(ir().name);
  store.put(cache::Kind::kernel, scope, key, compiled.code);
}

}  // namespace strata::runtime::cpu
