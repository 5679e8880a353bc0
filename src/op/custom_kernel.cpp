#include "op/custom_kernel.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace strata::op {

using lang::detail::Role;

bool CustomKernel::operator==(const CustomKernel& o) const {
  const auto &a = *call, &b = *o.call;
  return call == o.call || (a.kernel.signature().hash == b.kernel.signature().hash && a.grid == b.grid &&
                            a.made == b.made && a.scalars == b.scalars);
}

TensorTypes infer(const CustomKernel& op, const Site& site) {
  const auto& arguments = op.call->kernel.signature().arguments;
  const auto count = [&](auto... roles) {
    return static_cast<std::size_t>(
        std::ranges::count_if(arguments, [&](const auto& a) { return ((a.role == roles) || ...); }));
  };
  const auto require = [&](std::size_t given, std::size_t wanted, std::string_view what) {
    if (given == wanted) return;
    argument_error(site, fmt::format("takes {} {}, got {}", wanted, what, given));
  };
  require(site.inputs.size(), count(Role::in, Role::in_out), "tensors");
  require(op.call->made.size(), count(Role::out), "shapes of results");
  require(op.call->scalars.size(), count(Role::scalar), "numbers");
  TensorTypes outputs;
  const auto results = count(Role::out, Role::in_out);
  if (results == 0 || results > max_results) {
    argument_error(site, fmt::format("writes {} tensors; a kernel has 1 to {} Out and InOut arguments",
                                     results, max_results));
  }
  bool empty = true;
  std::size_t input = 0, made = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto [role, scalar] = arguments[i];
    if (role == Role::scalar) continue;
    if (scalar >= dtype_count) {
      dtype_error(site, fmt::format("argument {} has an element type that tensors do not have", i));
    }
    const auto dtype = static_cast<DType>(scalar);
    if (role != Role::out) {
      const auto& given = site.inputs[input++];
      if (given.dtype != dtype) {
        dtype_error(site, fmt::format("argument {} is {} in the kernel, not {}; cast the tensor", i,
                                      name_of(dtype), name_of(given.dtype)));
      }
      if (role == Role::in) continue;
      outputs.push_back(given);
    } else {
      outputs.push_back({dtype, op.call->made[made++]});
      check_size(site, outputs[outputs.size() - 1]);
    }
    empty = empty && outputs[outputs.size() - 1].shape.product() == 0;
  }
  const auto [x, y, z] = op.call->grid;
  constexpr std::uint32_t most_x = 0x7fffffff, most = 65535;
  if ((x == 0 || y == 0 || z == 0) && !empty) {
    argument_error(site, fmt::format("nothing would be written by a grid of {} x {} x {} cubes", x, y, z));
  }
  if (x > most_x || y > most || z > most) {
    argument_error(site, fmt::format("a grid of {} x {} x {} cubes is more than {} x {} x {}", x, y, z,
                                     most_x, most, most));
  }
  return outputs;
}

}  // namespace strata::op
