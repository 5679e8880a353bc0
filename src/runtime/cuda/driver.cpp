#include "runtime/cuda/driver.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include "strata/error.hpp"

namespace strata::runtime::cuda {
namespace {

struct Loaded {
  Driver functions{};
  std::string problem;  ///< empty: the driver can be used
};

Loaded load() {
  Loaded loaded;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    loaded.problem = "NVIDIA's driver (libcuda.so.1) is not installed";
    return loaded;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function && loaded.problem.empty())
      loaded.problem = fmt::format("NVIDIA's driver is too old: it has no {}", name);
  };
  auto& f = loaded.functions;
  find(f.Init, "cuInit");
  find(f.DriverGetVersion, "cuDriverGetVersion");
  find(f.DeviceGetCount, "cuDeviceGetCount");
  find(f.DeviceGet, "cuDeviceGet");
  find(f.DeviceGetName, "cuDeviceGetName");
  find(f.DeviceGetAttribute, "cuDeviceGetAttribute");
  find(f.DeviceTotalMem, "cuDeviceTotalMem_v2");
  find(f.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(f.CtxSetCurrent, "cuCtxSetCurrent");
  find(f.MemAlloc, "cuMemAlloc_v2");
  find(f.MemFree, "cuMemFree_v2");
  find(f.MemHostAlloc, "cuMemHostAlloc");
  find(f.MemFreeHost, "cuMemFreeHost");
  find(f.MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  find(f.MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  find(f.CtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  find(f.MemcpyPeerAsync, "cuMemcpyPeerAsync");
  find(f.StreamCreate, "cuStreamCreate");
  find(f.StreamSynchronize, "cuStreamSynchronize");
  find(f.EventCreate, "cuEventCreate");
  find(f.EventDestroy, "cuEventDestroy_v2");
  find(f.EventRecord, "cuEventRecord");
  find(f.EventSynchronize, "cuEventSynchronize");
  find(f.EventElapsedTime, "cuEventElapsedTime");
  find(f.LinkCreate, "cuLinkCreate_v2");
  find(f.LinkAddData, "cuLinkAddData_v2");
  find(f.LinkComplete, "cuLinkComplete");
  find(f.LinkDestroy, "cuLinkDestroy");
  find(f.ModuleLoadData, "cuModuleLoadData");
  find(f.ModuleUnload, "cuModuleUnload");
  find(f.ModuleGetFunction, "cuModuleGetFunction");
  find(f.FuncSetAttribute, "cuFuncSetAttribute");
  find(f.LaunchKernel, "cuLaunchKernel");
  find(f.GraphCreate, "cuGraphCreate");
  find(f.GraphAddKernelNode, "cuGraphAddKernelNode");
  find(f.GraphInstantiate, "cuGraphInstantiateWithFlags");
  find(f.GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams");
  find(f.GraphLaunch, "cuGraphLaunch");
  find(f.GraphExecDestroy, "cuGraphExecDestroy");
  find(f.GraphDestroy, "cuGraphDestroy");
  find(f.GetErrorName, "cuGetErrorName");
  find(f.GetErrorString, "cuGetErrorString");
  if (!loaded.problem.empty()) return loaded;
  if (const auto result = f.Init(0); result != 0) {
    const char* text = nullptr;
    f.GetErrorString(result, &text);
    loaded.problem = fmt::format("NVIDIA's driver does not start: {}", text ? text : std::to_string(result));
  }
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

const Driver& driver() {
  if (!loaded().problem.empty()) throw DeviceError("cuda: " + loaded().problem);
  return loaded().functions;
}

std::string text_of(Result result) {
  const char *name = nullptr, *text = nullptr;
  loaded().functions.GetErrorName(result, &name);
  loaded().functions.GetErrorString(result, &text);
  return fmt::format("{}: {}", name ? name : std::to_string(result), text ? text : "unknown error");
}

Availability availability(int ordinal) {
  if (!loaded().problem.empty()) return {false, "unavailable: " + loaded().problem};
  const auto& d = loaded().functions;
  int count = 0, device = 0;
  if (d.DeviceGetCount(&count) != 0) count = 0;
  if (ordinal < 0 || ordinal >= count)
    return {false, fmt::format("unavailable: this machine has {} such devices", count)};
  char name[256] = {};
  std::size_t bytes = 0;
  if (d.DeviceGet(&device, ordinal) != 0 || d.DeviceGetName(name, sizeof name, device) != 0 ||
      d.DeviceTotalMem(&bytes, device) != 0)
    return {false, "unavailable: the device does not answer"};
  return {true, fmt::format("{}, {} GiB", name, bytes >> 30)};
}

}  // namespace strata::runtime::cuda
