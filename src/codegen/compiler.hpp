/// Kernel IR to machine code. The work happens in a module of its own (`libstrata_codegen`, LLVM inside) that
/// is loaded when the first kernel is compiled; a process that finds its kernels in the cache never loads it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kernel/ir.hpp"

namespace strata::codegen {

/// What to produce. `object` is a relocatable object for the host; PTX is text.
enum class Format { object, assembly, llvm_ir, ptx };

struct Target {
  enum class Kind { host, ptx } kind = Kind::host;
  int compute_capability =
      80;  ///< ptx: 80, 90 ...; features of sm_90a are asked for with `architecture_specific`
  bool architecture_specific = false;
  /// host: LLVM's name of a processor to compile for, "x86-64-v3" say; empty: the one this runs on, all its
  /// features.
  std::string cpu{};
};

struct Options {
  bool dump_llvm_before_passes = false;  ///< llvm_ir only
};

struct Compiled {
  std::string code;         ///< object bytes or text
  double milliseconds = 0;  ///< whole compilation, host wall clock
};

/// Host kernels are C functions of this type, named like the kernel: run the cubes [begin, end) of the
/// linearised grid (x fastest). `buffers[i]` is the i-th global memory, `lengths[i]` its element count,
/// `scalars[i]` the i-th scalar parameter's bits (floats as their IEEE bits in the low bytes).
using HostKernel = void (*)(void* const* buffers, const std::int64_t* lengths, const std::int64_t* scalars,
                            const std::uint32_t* cube_count /*[3]*/, std::int64_t begin, std::int64_t end);

/// PTX kernels are `.entry` functions named like the kernel; parameters: one u64 pointer per global memory,
/// then one i64 length per global memory, then one 8-byte value per scalar.

/// Compiles `kernel`. Thread-safe; several threads compile in parallel.
/// Throws CompileError (naming the kernel) when the kernel is malformed or the target cannot express it,
/// RuntimeError when the module cannot be loaded (the message lists the places searched).
Compiled compile(const kernel::Kernel& kernel, const Target& target, Format format,
                 const Options& options = {});

/// True once the module with LLVM in it was loaded into this process.
bool module_loaded();

/// Identifies everything besides the kernel that decides what `compile` makes for the host: versions of LLVM
/// and of this code generator, and the features of this CPU. Does not load the module.
std::string_view host_identity();

/// Identifies the versions of LLVM and of this code generator. Does not load the module.
std::string_view generator_identity();

/// Widest vector registers of this CPU in bytes (64 with AVX-512, 32 with AVX2, else 16). Does not load the
/// module.
int host_vector_bytes();

}  // namespace strata::codegen
