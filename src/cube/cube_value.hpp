/// Tensors of the cube backend: a strided view of a device buffer.
#pragma once

#include "op/layout.hpp"
#include "runtime/client.hpp"
#include "strata/detail/value.hpp"

namespace strata::cube {

/// `strides` and `offset` count elements; strides may be 0 or negative. Several values may share a buffer.
class CubeValue final : public backend::Value {
 public:
  CubeValue(backend::Backend& home, DType type, const op::View& layout, runtime::BufferRef data)
      : Value(home, type, layout.shape),
        strides(layout.strides),
        offset(layout.offset),
        buffer(std::move(data)) {}

  const Strides strides;
  const std::int64_t offset;
  const runtime::BufferRef buffer;

  op::View view() const { return {shape, strides, offset}; }
};

}  // namespace strata::cube
