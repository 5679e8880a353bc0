#include "flex/elementwise.hpp"
#include "flex/moving_kernels.hpp"
#include "flex/operands.hpp"

namespace strata::flex {
namespace {

/// Elements only move, so a type stands for every dtype of its size.
template <class U>
void select(const Operand& condition, const Operand& a, const Operand& b, FlexValue& out) {
  const auto kernel = select_kernel<U>();
  const auto bytes = out.size() * static_cast<std::int64_t>(1 + 3 * sizeof(U));
  parallel(out.size(), block, bytes, [&](std::int64_t begin, std::int64_t end) {
    Reader<std::uint8_t> mask(condition.data, condition.nest);
    Reader<U> if_true(a.data, a.nest), if_false(b.data, b.nest);
    for (auto first = begin; first < end; first += block) {
      const auto n = std::min(block, end - first);
      const auto* m = mask.load(first, n);
      const U *x = if_true.load(first, n), *y = if_false.load(first, n);
      kernel(m, x, y, out.as<U>() + first, static_cast<std::size_t>(n));
    }
  });
}

}  // namespace

FlexRef run(const op::Where&, backend::Inputs inputs, const op::TensorType& type) {
  auto out = FlexValue::make(inputs[0]->backend, type, "where");
  const Operand condition(flex(inputs[0]), type.shape, "where");
  const Operand a(flex(inputs[1]), type.shape, "where"), b(flex(inputs[2]), type.shape, "where");
  switch (size_of(type.dtype)) {
    case 1:
      select<std::uint8_t>(condition, a, b, *out);
      break;
    case 2:
      select<std::uint16_t>(condition, a, b, *out);
      break;
    case 4:
      select<std::uint32_t>(condition, a, b, *out);
      break;
    default:
      select<std::uint64_t>(condition, a, b, *out);
  }
  return out;
}

}  // namespace strata::flex
