#include "flex/flex.hpp"

#include <cstring>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include "flex/attention.hpp"
#include "flex/creation.hpp"
#include "flex/custom_kernel.hpp"
#include "flex/elementwise.hpp"
#include "flex/fft.hpp"
#include "flex/index.hpp"
#include "flex/kernels.hpp"
#include "flex/layout.hpp"
#include "flex/linalg.hpp"
#include "flex/loss.hpp"
#include "flex/matmul.hpp"
#include "flex/normalise.hpp"
#include "flex/order.hpp"
#include "flex/parallel.hpp"
#include "flex/reduce.hpp"
#include "flex/window.hpp"
#include "trace/span.hpp"

namespace strata::flex {

backend::Values Flex::execute(const op::Operation& op, backend::Inputs inputs) {
  const auto types = backend::infer(op, inputs, name());
  trace::Span span("flex", "execute");
  if (span.recording()) span.field("op", op::to_string(op)).field("result", types[0].to_string());
  return std::visit(
      [&](const auto& family) {
        if constexpr (requires { run(family, inputs, types); }) {
          return run(family, inputs, types);
        } else if constexpr (requires { run(family, inputs, types[0]); }) {
          return backend::Values(backend::ValueRef(run(family, inputs, types[0])));
        } else {
          return backend::Values(backend::ValueRef(run(family, *this, types[0])));
        }
      },
      op);
}

backend::ValueRef Flex::from_data(const TensorData& data) {
  trace::Span span("flex", "from_data");
  const op::TensorType type{data.dtype(), data.shape()};
  constexpr std::uintptr_t alignment = 64;
  if (data.byte_size() > 0 && reinterpret_cast<std::uintptr_t>(data.bytes()) % alignment == 0) {
    return FlexValue::share(*this, type, data.shared_bytes());
  }
  auto value = FlexValue::make(*this, type, "from_data");
  if (data.byte_size() > 0) std::memcpy(value->data(), data.bytes(), data.byte_size());
  return value;
}

Future<TensorData> Flex::into_data(const backend::ValueRef& value) {
  trace::Span span("flex", "into_data");
  const auto packed = contiguous(flex(value), "into_data");
  // Another owner of the value keeps the bytes: nothing writes to a value once it exists.
  std::shared_ptr<const std::byte> bytes(packed->data(), [keep = packed](const std::byte*) {});
  return make_ready_future<TensorData>(packed->dtype, packed->shape, std::move(bytes));
}

Flex& instance() {
  static auto* flex = [] {
    end_threads_before_forks();
    return new Flex;  // tensors may outlive every static object
  }();
  return *flex;
}

void execute_on_host(const op::Operation& op, std::span<const backend::HostTensor> inputs,
                     std::span<std::byte* const> outputs) {
  auto& home = instance();
  std::vector<backend::ValueRef> values;
  for (const auto& in : inputs) {
    const auto elements = static_cast<std::int64_t>(in.bytes / size_of(in.dtype));
    const std::shared_ptr<const std::byte> borrowed(std::shared_ptr<void>(), in.data);
    values.push_back(FlexValue::view_of(*FlexValue::share(home, {in.dtype, {elements}}, borrowed), in.view));
  }
  const auto results = home.execute(op, values);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto result = contiguous(flex(results[i]), "execute_on_host");
    const auto bytes = static_cast<std::size_t>(result->size()) * size_of(result->dtype);
    if (bytes > 0) std::memcpy(outputs[i], result->data(), bytes);
  }
}

std::string description() {
  const auto* version = dnnl_version();
  return fmt::format("host processor, oneDNN {}.{}.{}, Highway {}", version->major, version->minor,
                     version->patch, instruction_set());
}

}  // namespace strata::flex
