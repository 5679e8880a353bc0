/// Places relocatable objects of the host code generator in memory, without LLVM.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compiler.hpp"

namespace strata::codegen {

/// One x86-64 ELF object in memory: its sections in one mapping, writable while they are placed, then read
/// and execute only. Unmapped on destruction; entries are valid until then. Moves, does not copy.
class LoadedObject {
 public:
  /// Throws RuntimeError, naming what is wrong, when `object` is damaged, needs a symbol from outside or a
  /// relocation other than PC32, PLT32 and 64, when there is no memory, or when this is not an x86-64
  /// machine.
  explicit LoadedObject(std::string_view object);
  ~LoadedObject();
  LoadedObject(LoadedObject&& o) noexcept;
  LoadedObject& operator=(LoadedObject&& o) noexcept;

  /// The function called `name`. Throws RuntimeError when there is none.
  HostKernel entry(std::string_view name) const;
  std::size_t bytes() const { return size_; }

 private:
  struct Symbol {
    std::string name;
    std::size_t offset;
  };
  char* base_ = nullptr;
  std::size_t size_ = 0;
  std::vector<Symbol> functions_;
};

/// Names the object expects from outside, comma-separated; empty when it stands alone. Throws RuntimeError as
/// above.
std::string undefined_symbols(std::string_view object);

}  // namespace strata::codegen
