#include "strata/launch.hpp"

#include <fmt/format.h>

#include "backend/backend.hpp"
#include "dispatch/entry.hpp"

namespace strata::detail {
namespace {

/// One unit along x for each of `elements`.
lang::Grid grid_over(std::int64_t elements, const lang::Kernel& kernel) {
  constexpr std::int64_t most = 0x7fffffff;
  const std::int64_t units = kernel.signature().cube.x, cubes = (elements + units - 1) / units;
  if (cubes > most) {
    throw ArgumentError(
        fmt::format("[{}] {} elements need {} cubes of {} units along x, more than {}; give a grid",
                    kernel.name(), elements, cubes, units, most));
  }
  return {static_cast<std::uint32_t>(cubes), 1, 1};
}

const Shape& first_result(const lang::Kernel& kernel, const LaunchArguments& arguments) {
  std::size_t tensor = 0;
  for (const auto& [role, scalar] : kernel.signature().arguments) {
    if (role == lang::detail::Role::out) return arguments.made[0];
    if (role == lang::detail::Role::in_out) return arguments.tensors[tensor]->shape;
    tensor += role == lang::detail::Role::in;
  }
  throw ArgumentError(fmt::format("[{}] the kernel has no Out or InOut argument", kernel.name()));
}

}  // namespace

std::vector<ValueRef> launch(const lang::Kernel& kernel, const lang::Grid* grid, LaunchArguments arguments,
                             const Device* device) {
  const auto size = grid ? *grid : grid_over(first_result(kernel, arguments).product(), kernel);
  const op::CustomKernel op{std::make_shared<op::CustomKernel::Call>(
      op::CustomKernel::Call{kernel, size, std::move(arguments.made), std::move(arguments.scalars)})};
  const auto& tensors = arguments.tensors;
  if (tensors.empty() && !device) {
    throw DeviceError(fmt::format(
        "[{}] no argument is a tensor: name the device in launch(device, kernel, ...)", kernel.name()));
  }
  auto& home = device ? device->entry().backend() : tensors[0]->backend;
  const auto values = backend::execute(home, op, tensors);
  return {values.begin(), values.end()};
}

}  // namespace strata::detail
