#include "cube/custom_kernel.hpp"

#include <algorithm>

#include "kernel/public.hpp"
#include "runtime/misfit_check.hpp"

namespace strata::cube {
namespace {

using lang::detail::Role;

KernelKey key_of(const lang::Kernel& kernel) {
  KernelKeyHasher h("custom kernel");
  for (auto word : kernel.signature().hash) h.add(word);
  return h.key();
}

}  // namespace

backend::Values custom_kernel(CubeBackend& backend, const op::CustomKernel& op, backend::Inputs inputs,
                              const op::TensorTypes& types) {
  const auto& [kernel, grid, made, scalars] = *op.call;
  backend::Values results;
  std::vector<runtime::BufferRef> buffers;
  auto input = inputs.begin();
  for (const auto& argument : kernel.signature().arguments) {
    if (argument.role == Role::scalar) continue;
    CubeRef tensor;
    if (argument.role != Role::out) tensor = CubeRef(static_cast<CubeValue*>((input++)->get()));
    if (argument.role == Role::in) {
      tensor = backend.packed(tensor);
    } else {
      tensor = tensor ? backend.copy(*tensor) : backend.allocate(types[results.size()]);
      results.push_back(tensor);
    }
    buffers.push_back(tensor->buffer);
  }
  if (std::ranges::all_of(types, [](const auto& t) { return t.shape.product() == 0; })) return results;
  const auto& program = backend.kernels().get(key_of(kernel), [&] { return kernel.impl().ir; });
  backend.launch(program, {grid.x, grid.y, grid.z}, buffers, scalars,
                 runtime::misfit_check(kernel, buffers, backend.name()));
  return results;
}

}  // namespace strata::cube
