#include "runtime/stored_program.hpp"

#include <fmt/format.h>

#include "cache/store.hpp"
#include "trace/log.hpp"
#include "trace/span.hpp"

namespace strata::runtime {

void StoredProgram::prepare(Counts& counts, Faults& faults) {
  std::call_once(once_, [&] {
    try {
      load(counts, faults);
    } catch (...) {
      error_ = std::current_exception();
    }
  });
  if (error_) std::rethrow_exception(error_);
}

void StoredProgram::load(Counts& counts, Faults& faults) {
  if (faults.compile_fails(ir().name)) {
    throw CompileError(fmt::format("[compile] kernel {} failed on purpose", ir().name));
  }
  const auto scope = this->scope();
  const auto key = ir().name + "-" + hash().to_string();
  if (load_stored(scope, key)) {
    counts.cache_hits.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  trace::Span span("runtime", "compile");
  span.field("kernel", std::string_view(ir().name));
  const auto compiled = generate();
  counts.compiles.fetch_add(1, std::memory_order_relaxed);
  trace::log::info(trace::log::Topic::compile, "kernel {}: {} bytes in {:.1f} ms", ir().name,
                   compiled.code.size(), compiled.milliseconds);
  place(compiled.code);
  cache::Store::global().put(cache::Kind::kernel, scope, key, compiled.code);
}

bool StoredProgram::load_stored(std::string_view scope, std::string_view key) {
  auto& store = cache::Store::global();
  const auto stored = store.get(cache::Kind::kernel, scope, key);
  if (!stored) return false;
  try {
    place(*stored);
    return true;
  } catch (const Error& e) {
    trace::log::warn(trace::log::Topic::cache, "kernel {} in the cache is damaged and compiled again: {}",
                     ir().name, e.what());
    store.erase(cache::Kind::kernel, scope, key);
    return false;
  }
}

}  // namespace strata::runtime
