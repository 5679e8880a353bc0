#include <exception>
#include <mutex>

#include "codegen/llvm/lowering.hpp"
#include "codegen/llvm/machine.hpp"
#include "codegen/module_interface.hpp"
#include "codegen_revision.hpp"

namespace strata::codegen {
namespace {

bool compile_in_module(const kernel::Kernel* kernel, const Target* target, Format format,
                       const Options* options, std::string* code, std::string* problem) noexcept {
  try {
    *code = generate(*kernel, *target, format, *options);
    return true;
  } catch (const LoweringError& e) {
    *problem = e.message;
  } catch (const std::exception& e) {
    *problem = "kernel '" + kernel->name + "': " + e.what();
  }
  return false;
}

}  // namespace
}  // namespace strata::codegen

// LLVM's static objects are never destroyed: when the process ends a device's thread may still be compiling.
// The linker gives this function to all that is in the module, which stays loaded to the end.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) noexcept {
  return 0;
}

extern "C" __attribute__((visibility("default"))) const strata::codegen::ModuleInterface*
strata_codegen_module() {
  static const strata::codegen::ModuleInterface interface {
    strata::codegen::module_abi, STRATA_CODEGEN_REVISION, strata::codegen::compile_in_module
  };
  static std::once_flag once;
  std::call_once(once, strata::codegen::initialise_llvm);
  return &interface;
}
