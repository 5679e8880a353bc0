#include "flex/custom_kernel.hpp"

#include "flex/flex.hpp"
#include "kernel/public.hpp"
#include "runtime/cpu/cpu_client.hpp"
#include "runtime/misfit_check.hpp"

namespace strata::flex {

using lang::detail::Role;

backend::Values run(const op::CustomKernel& op, backend::Inputs inputs, const op::TensorTypes& types) {
  const auto& [kernel, grid, made, scalars] = *op.call;
  auto& client = runtime::cpu::client();
  std::vector<runtime::BufferRef> buffers, written;
  auto input = inputs.begin();
  for (const auto& argument : kernel.signature().arguments) {
    if (argument.role == Role::scalar) continue;
    const bool given = argument.role != Role::out;
    const auto type = given ? backend::type_of(**input) : types[written.size()];
    const auto bytes = static_cast<std::size_t>(type.shape.product()) * size_of(type.dtype);
    buffers.push_back(client.allocate(bytes));
    if (argument.role != Role::in) written.push_back(buffers.back());
    if (!given) continue;
    const auto packed = contiguous(flex(*input++), kernel.name());
    if (bytes == 0) continue;
    client.write(buffers.back(), {packed->data(), [packed](const std::byte*) {}}, bytes);
  }
  bool empty = true;
  for (const auto& t : types) empty = empty && t.shape.product() == 0;
  if (!empty) {
    const std::shared_ptr<const strata::kernel::Kernel> ir(op.call, &kernel.impl().ir);
    client.launch(client.program(ir), {grid.x, grid.y, grid.z}, buffers, scalars,
                  runtime::misfit_check(kernel, buffers, "flex"));
  }
  backend::Values results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].shape.product() == 0) {
      results.push_back(FlexValue::make(instance(), types[i], kernel.name()));
      continue;
    }
    auto read = client.read(written[i]);
    client.help([&] { return read.ready(); });
    results.push_back(FlexValue::share(instance(), types[i], read.get()));
  }
  return results;
}

}  // namespace strata::flex
