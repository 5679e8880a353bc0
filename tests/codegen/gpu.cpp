#include "codegen/gpu.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "kernel/traits.hpp"

namespace strata::codegen::test {
namespace {

using Pointer = unsigned long long;
/// The few functions of the driver that a launch needs; the header is part of the toolkit, which is not
/// needed.
struct Driver {
  int (*init)(unsigned);
  int (*device_get)(int*, int);
  int (*context_retain)(void**, int);
  int (*context_set)(void*);
  int (*synchronize)();
  int (*module_load)(void**, const void*);
  int (*module_unload)(void*);
  int (*module_function)(void**, void*, const char*);
  int (*allocate)(Pointer*, std::size_t);
  int (*release)(Pointer);
  int (*to_device)(Pointer, const void*, std::size_t);
  int (*to_host)(void*, Pointer, std::size_t);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**);
  std::string problem;

  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
      problem = "no CUDA driver (libcuda.so.1)";
      return;
    }
    const auto find = [&](auto& f, const char* name) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(library, name));
      if (f == nullptr) problem = std::string("the CUDA driver has no ") + name;
    };
    find(init, "cuInit");
    find(device_get, "cuDeviceGet");
    find(context_retain, "cuDevicePrimaryCtxRetain");
    find(context_set, "cuCtxSetCurrent");
    find(synchronize, "cuCtxSynchronize");
    find(module_load, "cuModuleLoadData");
    find(module_unload, "cuModuleUnload");
    find(module_function, "cuModuleGetFunction");
    find(allocate, "cuMemAlloc_v2");
    find(release, "cuMemFree_v2");
    find(to_device, "cuMemcpyHtoD_v2");
    find(to_host, "cuMemcpyDtoH_v2");
    find(launch, "cuLaunchKernel");
    int device = 0;
    void* context = nullptr;
    if (problem.empty() && (init(0) != 0 || device_get(&device, 0) != 0 ||
                            context_retain(&context, device) != 0 || context_set(context) != 0))
      problem = "no CUDA device";
  }
};
const Driver& driver() {
  static const Driver d;
  return d;
}

void check(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string(what) + ": CUDA error " + std::to_string(result));
}

}  // namespace

const std::string& gpu_absent() { return driver().problem; }

void run_ptx(const kernel::Kernel& kernel, const std::string& ptx, const kernel::test::Launch& launch) {
  const auto& d = driver();
  void *module = nullptr, *function = nullptr;
  check(d.module_load(&module, ptx.c_str()), "load");
  check(d.module_function(&function, module, kernel.name.c_str()), "find the kernel");
  const std::size_t count = launch.buffers.size();
  std::vector<Pointer> memory(count);
  std::vector<std::size_t> bytes(count);
  for (std::size_t n = 0; n < count; ++n) {
    bytes[n] = static_cast<std::size_t>(launch.lengths[n]) * kernel::size_of(kernel.memories[n].scalar);
    check(d.allocate(&memory[n], bytes[n] + 1), "allocate");
    check(d.to_device(memory[n], launch.buffers[n], bytes[n]), "copy to the device");
  }
  auto lengths = launch.lengths;
  auto scalars = launch.scalars;
  std::vector<void*> parameters;
  for (auto& m : memory) parameters.push_back(&m);
  for (auto& l : lengths) parameters.push_back(&l);
  for (auto& s : scalars) parameters.push_back(&s);
  const auto &g = launch.cube_count, &c = kernel.cube_dim;
  check(d.launch(function, g[0], g[1], g[2], c[0], c[1], c[2], 0, nullptr, parameters.data(), nullptr),
        "launch");
  check(d.synchronize(), "run");
  for (std::size_t n = 0; n < count; ++n) {
    check(d.to_host(launch.buffers[n], memory[n], bytes[n]), "copy to the host");
    check(d.release(memory[n]), "release");
  }
  check(d.module_unload(module), "unload");
}

}  // namespace strata::codegen::test
