/// A kernel as machine code of this CPU.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include "codegen/compiler.hpp"
#include "codegen/object_loader.hpp"
#include "runtime/client.hpp"
#include "runtime/faults.hpp"

namespace strata::runtime::cpu {

class CpuProgram final : public Program {
 public:
  CpuProgram(std::shared_ptr<const kernel::Kernel> ir, const kernel::Hash128& hash)
      : Program(std::move(ir), hash) {}

  struct Counts {
    std::atomic<std::uint64_t> compiles{0}, cache_hits{0};
  };
  /// The entry point. The first call loads the code from the persistent store, else compiles and stores it; a
  /// failure is kept and thrown by every call. Thread-safe.
  codegen::HostKernel entry(Counts& counts, Faults& faults);

 private:
  void load(Counts& counts, Faults& faults);
  bool load_stored(std::string_view scope, std::string_view key);
  void place(std::string_view object);

  std::once_flag once_;
  std::unique_ptr<codegen::LoadedObject> object_;
  codegen::HostKernel entry_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace strata::runtime::cpu
