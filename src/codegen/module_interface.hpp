/// What crosses the boundary between libstrata and the module with LLVM in it. Both are built from the same
/// headers by the same compiler; `module_abi` and the revision refuse anything else.
#pragma once

#include "codegen/compiler.hpp"

namespace strata::codegen {

/// Differs when the structures handed over differ.
inline constexpr std::uint64_t module_abi =
    ((((sizeof(kernel::Kernel) * 1000 + sizeof(kernel::Instruction)) * 1000 + sizeof(kernel::Memory)) * 1000 +
      sizeof(std::string)) *
         1000 +
     sizeof(Target) + sizeof(Options)) *
        100 +
    static_cast<std::uint64_t>(kernel::Opcode::comment);

struct ModuleInterface {
  std::uint64_t abi;
  const char* revision;
  /// False: `problem` says why. Throws nothing.
  bool (*compile)(const kernel::Kernel* kernel, const Target* target, Format format, const Options* options,
                  std::string* code, std::string* problem) noexcept;
};

/// The module's one symbol.
inline constexpr const char* module_entry = "strata_codegen_module";
using ModuleEntry = const ModuleInterface* (*)();

}  // namespace strata::codegen
