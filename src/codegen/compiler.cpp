#include "codegen/compiler.hpp"

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "codegen/module_interface.hpp"
#include "codegen/object_loader.hpp"
#include "codegen_revision.hpp"
#include "kernel/passes/fission.hpp"
#include "kernel/passes/lower_math.hpp"
#include "kernel/passes/promote_halves.hpp"
#include "kernel/verify.hpp"
#include "strata/error.hpp"

namespace strata::codegen {
namespace {

std::atomic<const ModuleInterface*> loaded_module{nullptr};

/// Folder of the library or program that contains this code.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&module_loaded), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::vector<std::string> places() {
  std::vector<std::string> list;
  const std::string file = "libstrata_codegen.so";
  if (const char* named = std::getenv("STRATA_CODEGEN_MODULE"); named != nullptr && *named != '\0')
    return {named};
  const auto folder = own_folder();
  for (const char* relative : {"/", "/../lib/", "/../lib/strata/", "/strata/"})
    list.push_back(folder + relative + file);
  return list;
}

const ModuleInterface* load_module() {
  std::string tried;
  for (const auto& place : places()) {
    void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) {
      const char* reason = dlerror();
      tried += "\n  " + place + ": " + (reason == nullptr ? "unknown error" : reason);
      continue;
    }
    const auto entry = reinterpret_cast<ModuleEntry>(dlsym(handle, module_entry));
    if (entry == nullptr) {
      tried += "\n  " + place + ": not the code generator of strata";
      continue;
    }
    const auto* m = entry();
    if (m->abi == module_abi && std::string_view(m->revision) == STRATA_CODEGEN_REVISION) return m;
    tried += "\n  " + place + ": built from other sources (" + m->revision +
             ", expected " STRATA_CODEGEN_REVISION ")";
  }
  throw RuntimeError("the code generator cannot be loaded; tried:" + tried);
}

const ModuleInterface& loaded() {
  if (const auto* m = loaded_module.load(std::memory_order_acquire)) return *m;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const auto* m = loaded_module.load(std::memory_order_acquire)) return *m;
  const auto* m = load_module();
  loaded_module.store(m, std::memory_order_release);
  return *m;
}

kernel::Kernel prepared(const kernel::Kernel& kernel, const Target& target) {
  kernel::verify(kernel);
  const bool host = target.kind == Target::Kind::host;
  auto k = kernel::lower_math(kernel::promote_halves(kernel),
                              host ? kernel::MathUnits::none : kernel::MathUnits::approximate);
  return host ? kernel::fission(std::move(k)) : k;
}

}  // namespace

bool module_loaded() { return loaded_module.load(std::memory_order_acquire) != nullptr; }

Compiled compile(const kernel::Kernel& kernel, const Target& target, Format format, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto k = prepared(kernel, target);
  const auto& module = loaded();
  Compiled result;
  std::string problem;
  if (!module.compile(&k, &target, format, &options, &result.code, &problem)) throw CompileError(problem);
  if (format == Format::object) {
    if (const auto names = undefined_symbols(result.code); !names.empty())
      throw CompileError("kernel '" + kernel.name + "': this CPU would need a library's help, namely " +
                         names);
  }
  result.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace strata::codegen
