#include "runtime/misfit_check.hpp"

#include <fmt/format.h>

#include "kernel/public.hpp"
#include "kernel/traits.hpp"
#include "strata/error.hpp"

namespace strata::runtime {
namespace {

/// Number among all arguments of the tensor argument that is memory `m`.
std::size_t argument_of(const lang::detail::Signature& signature, kernel::MemoryId m) {
  for (std::size_t i = 0;; ++i) {
    if (signature.arguments[i].role != lang::detail::Role::scalar && m-- == 0) return i;
  }
}

}  // namespace

CheckRef misfit_check(const lang::Kernel& kernel, std::span<const BufferRef> buffers,
                      std::string_view device) {
  std::vector<std::size_t> bytes;
  for (const auto& buffer : buffers) bytes.push_back(buffer ? buffer->bytes() : 0);
  return std::make_shared<Check>([kernel, bytes = std::move(bytes), device = std::string(device)](
                                     std::int64_t found, const Download&) {
    const auto [id, index] = lang::detail::place_of(found);
    const auto& memory = kernel.impl().ir.memories[id];
    const auto elements = id < bytes.size() ? bytes[id] / kernel::size_of(memory.scalar)
                                            : static_cast<std::size_t>(memory.length);
    const auto what = id < bytes.size() ? fmt::format("argument {}", argument_of(kernel.signature(), id))
                      : memory.space == kernel::Space::shared ? std::string("a shared array")
                                                              : std::string("a local array");
    return std::make_exception_ptr(IndexError(fmt::format(
        "[{}] the kernel uses element {} of {}, which has {} ({}); guard the access with if_ (device: {})",
        kernel.name(), index, what, elements, kernel::name_of(memory.scalar), device)));
  });
}

}  // namespace strata::runtime
