#include "backend/backend.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

namespace strata::backend {

Value::~Value() = default;
Backend::~Backend() = default;

namespace {

[[noreturn]] void mixed_devices(const op::Operation& op, Inputs inputs) {
  std::string places;
  for (const auto& v : inputs) {
    places +=
        fmt::format("{}{} on {}", places.empty() ? "" : ", ", type_of(*v).to_string(), v->backend.name());
  }
  throw DeviceError(fmt::format("[{}] operands live on different devices: {}; move one with to_device()",
                                op::name_of(op), places));
}

}  // namespace

Values execute(Backend& backend, const op::Operation& op, Inputs inputs) {
  for (const auto& v : inputs) {
    if (&v->backend != &backend) [[unlikely]]
      mixed_devices(op, inputs);
  }
  return backend.execute(op, inputs);
}

Values execute(const op::Operation& op, Inputs inputs) {
  STRATA_CHECK(!inputs.empty());
  return execute(inputs[0]->backend, op, inputs);
}

op::TensorTypes infer(const op::Operation& op, Inputs inputs, std::string_view device) {
  constexpr std::size_t usual = 4;
  if (inputs.size() <= usual) {
    std::array<op::TensorType, usual> types;
    for (std::size_t i = 0; i < inputs.size(); ++i) types[i] = type_of(*inputs[i]);
    return op::infer(op, {types.data(), inputs.size()}, device);
  }
  std::vector<op::TensorType> types;
  for (const auto& v : inputs) types.push_back(type_of(*v));
  return op::infer(op, types, device);
}

}  // namespace strata::backend
