/// A kernel as code of a device: found in the persistent store, else compiled and stored.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

#include "codegen/compiler.hpp"
#include "runtime/client.hpp"
#include "runtime/faults.hpp"

namespace strata::runtime {

class StoredProgram : public Program {
 public:
  struct Counts {
    std::atomic<std::uint64_t> compiles{0}, cache_hits{0};
  };
  /// The first call loads the code; a failure is kept and thrown by every call. Thread-safe.
  void prepare(Counts& counts, Faults& faults);

 protected:
  using Program::Program;

  /// All that decides the code besides the kernel.
  virtual std::string scope() const = 0;
  virtual codegen::Compiled generate() const = 0;
  /// Makes the code ready to run; throws when it is damaged.
  virtual void place(std::string_view code) = 0;

 private:
  void load(Counts& counts, Faults& faults);
  bool load_stored(std::string_view scope, std::string_view key);

  std::once_flag once_;
  std::exception_ptr error_;
};

}  // namespace strata::runtime
