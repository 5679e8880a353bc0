/// What the element-wise families share: operands prepared for a result's shape, and the block loop.
#pragma once

#include <array>

#include "flex/parallel.hpp"
#include "flex/reader.hpp"

namespace strata::flex {

/// One operand, seen in the result's shape.
struct Operand {
  FlexRef packed;  // a copy, where reading through the strides would be slower
  const std::byte* data = nullptr;
  Nest nest;

  Operand(const FlexValue& v, const Shape& shape, std::string_view op) : data(v.data()) {
    if (v.shape == shape && v.contiguous()) {
      nest.rank = 1;
      nest.extent[0] = v.size();
      nest.stride[0] = 1;
      return;
    }
    const FlexValue* source = &v;
    constexpr std::int64_t worth_packing = 1 << 14;
    if (v.size() >= worth_packing && !v.contiguous()) {
      const auto stride = collapse(v.shape, v.strides()).inner_stride();
      if (stride < -1 || stride > 1) {
        packed = contiguous(v, op);
        source = packed.get();
        data = source->data();
      }
    }
    nest = collapse(shape, op::expanded(source->view(), op::Expand{shape}).strides);
  }
};

/// kernel(a, ..., out, n) over blocks; operands stored as In, the result as Out.
template <class In, class Out, std::size_t count, class Kernel>
void map_blocks(const std::array<Operand, count>& operands, FlexValue& out, Kernel kernel) noexcept {
  const auto bytes = out.size() * static_cast<std::int64_t>(count * sizeof(In) + sizeof(Out));
  bool direct = !is_half<In> && !is_half<Out>;
  for (const auto& operand : operands) direct = direct && operand.nest.contiguous() && operand.nest.rank == 1;
  if (direct) {
    parallel(out.size(), block, bytes, [&](std::int64_t begin, std::int64_t end) {
      const auto n = static_cast<std::size_t>(end - begin);
      [&]<std::size_t... i>(std::index_sequence<i...>) {
        kernel(reinterpret_cast<const Compute<In>*>(operands[i].data) + begin...,
               out.as<Compute<Out>>() + begin, n);
      }
      (std::make_index_sequence<count>());
    });
    return;
  }
  parallel(out.size(), block, bytes, [&](std::int64_t begin, std::int64_t end) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      std::array<Reader<In>, count> readers{Reader<In>(operands[i].data, operands[i].nest)...};
      Writer<Out> writer(out.data());
      for (auto first = begin; first < end; first += block) {
        const auto n = std::min(block, end - first);
        kernel(readers[i].load(first, n)..., writer.target(first), static_cast<std::size_t>(n));
        writer.store(first, n);
      }
    }
    (std::make_index_sequence<count>());
  });
}

}  // namespace strata::flex
