/// Flex: the eager CPU backend. Everything runs on the calling thread (large operations on libgomp's workers
/// beside it) and the result is in memory when `execute` returns. Values may be shared between threads.
#pragma once

#include <string>

#include "backend/backend.hpp"
#include "backend/host.hpp"

namespace strata::flex {

class Flex final : public backend::Backend {
 public:
  /// Throws the UserErrors of op::infer; OutOfMemoryError when the result does not fit the machine;
  /// RuntimeError when oneDNN refuses a product.
  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override;
  /// Shares the bytes when they are 64-byte aligned, else copies them.
  backend::ValueRef from_data(const TensorData& data) override;
  /// Ready at once. Shares the bytes of a contiguous value.
  Future<TensorData> into_data(const backend::ValueRef& value) override;
  void sync() override {}
  std::string_view name() const override { return "flex"; }
};

/// The one instance of the process.
Flex& instance();
/// Runs `op` on memory that belongs to somebody else; see backend::HostExecute.
void execute_on_host(const op::Operation& op, std::span<const backend::HostTensor> inputs,
                     std::span<std::byte* const> outputs);

/// Libraries and instruction set, e.g. "host processor, oneDNN 2.6.3, Highway AVX3".
std::string description();

}  // namespace strata::flex
