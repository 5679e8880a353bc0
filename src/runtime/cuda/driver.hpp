/// NVIDIA's driver, found when it is first asked for: building needs nothing of CUDA, running nothing but the
/// driver. Names, types and numbers are those of the CUDA Driver API, declared here for want of its header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strata::runtime::cuda {

using Result = int;  ///< 0: success
using Address = unsigned long long;
using Handle = void*;  ///< of a context, module, function, stream, event or linker

/// CUDA_KERNEL_NODE_PARAMS, version 1.
struct KernelNode {
  Handle function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** parameters;
  void** extra;
};

/// The functions that strata calls, each named without its "cu".
struct Driver {
  Result (*Init)(unsigned flags);
  Result (*DriverGetVersion)(int* version);
  Result (*DeviceGetCount)(int* count);
  Result (*DeviceGet)(int* device, int ordinal);
  Result (*DeviceGetName)(char* name, int length, int device);
  Result (*DeviceGetAttribute)(int* value, int attribute, int device);
  Result (*DeviceTotalMem)(std::size_t* bytes, int device);
  Result (*DevicePrimaryCtxRetain)(Handle* context, int device);
  Result (*CtxSetCurrent)(Handle context);
  Result (*CtxEnablePeerAccess)(Handle peer, unsigned flags);
  Result (*MemAlloc)(Address* address, std::size_t bytes);
  Result (*MemFree)(Address address);
  Result (*MemHostAlloc)(void** memory, std::size_t bytes, unsigned flags);
  Result (*MemFreeHost)(void* memory);
  Result (*MemcpyHtoDAsync)(Address to, const void* from, std::size_t bytes, Handle stream);
  Result (*MemcpyDtoHAsync)(void* to, Address from, std::size_t bytes, Handle stream);
  Result (*MemcpyPeerAsync)(Address to, Handle to_context, Address from, Handle from_context,
                            std::size_t bytes, Handle stream);
  Result (*StreamCreate)(Handle* stream, unsigned flags);
  Result (*StreamSynchronize)(Handle stream);
  Result (*EventCreate)(Handle* event, unsigned flags);
  Result (*EventDestroy)(Handle event);
  Result (*EventRecord)(Handle event, Handle stream);
  Result (*EventSynchronize)(Handle event);
  Result (*EventElapsedTime)(float* milliseconds, Handle start, Handle end);
  Result (*LinkCreate)(unsigned count, int* options, void** values, Handle* linker);
  Result (*LinkAddData)(Handle linker, int type, void* data, std::size_t bytes, const char* name,
                        unsigned count, int* options, void** values);
  Result (*LinkComplete)(Handle linker, void** image, std::size_t* bytes);
  Result (*LinkDestroy)(Handle linker);
  Result (*ModuleLoadData)(Handle* module, const void* image);
  Result (*ModuleUnload)(Handle module);
  Result (*ModuleGetFunction)(Handle* function, Handle module, const char* name);
  Result (*FuncSetAttribute)(Handle function, int attribute, int value);
  Result (*LaunchKernel)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                         unsigned block_y, unsigned block_z, unsigned shared_bytes, Handle stream,
                         void** parameters, void** extra);
  Result (*GraphCreate)(Handle* graph, unsigned flags);
  Result (*GraphAddKernelNode)(Handle* node, Handle graph, const Handle* before, std::size_t count,
                               const KernelNode* what);
  Result (*GraphInstantiate)(Handle* executable, Handle graph, unsigned long long flags);
  Result (*GraphExecKernelNodeSetParams)(Handle executable, Handle node, const KernelNode* what);
  Result (*GraphLaunch)(Handle executable, Handle stream);
  Result (*GraphExecDestroy)(Handle executable);
  Result (*GraphDestroy)(Handle graph);
  Result (*GetErrorName)(Result result, const char** name);
  Result (*GetErrorString)(Result result, const char** text);
};

/// Loads and initialises the driver at the first call. Throws DeviceError saying what is missing.
const Driver& driver();
/// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered".
std::string text_of(Result result);

/// Whether this machine has a device of that number, and what it is or why it is not there. Never throws.
struct Availability {
  bool available = false;
  std::string description;
};
Availability availability(int ordinal);

}  // namespace strata::runtime::cuda
