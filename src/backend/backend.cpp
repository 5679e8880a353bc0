#include "backend/backend.hpp"

#include <algorithm>
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

std::vector<TensorData> get_all(std::vector<Future<TensorData>> futures) {
  std::vector<TensorData> results;
  for (auto& future : futures) results.push_back(future.get());
  return results;
}

ValueRef Backend::from_peer(const ValueRef&) { return {}; }

std::vector<Future<TensorData>> Backend::into_data_all(Inputs values) {
  std::vector<Future<TensorData>> results;
  for (const auto& v : values) results.push_back(into_data(v));
  return results;
}
std::vector<TensorData> Backend::read_all(Inputs values) { return get_all(into_data_all(values)); }

std::vector<Future<TensorData>> into_data_all(Inputs values) {
  std::vector<Future<TensorData>> results(values.size());
  for (std::size_t first = 0; first < values.size(); ++first) {
    if (results[first].valid()) continue;
    std::vector<std::size_t> places;  // of the values that live where this one does
    std::vector<ValueRef> together;
    for (auto i = first; i < values.size(); ++i) {
      if (&values[i]->backend != &values[first]->backend) continue;
      places.push_back(i);
      together.push_back(values[i]);
    }
    auto parts = values[first]->backend.into_data_all(together);
    for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(parts[i]);
  }
  return results;
}

std::vector<TensorData> read_all(Inputs values) {
  if (values.empty()) return {};
  auto& home = values[0]->backend;
  const bool one = std::ranges::all_of(values, [&](const auto& v) { return &v->backend == &home; });
  return one ? home.read_all(values) : get_all(into_data_all(values));
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
