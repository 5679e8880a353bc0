/// Element-wise families: broadcast operands are read through strides, nothing is expanded.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

/// All take the output type that op::infer gave.
FlexRef run(const op::Unary& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Binary& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Compare& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Where& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Cast& op, backend::Inputs inputs, const op::TensorType& type);

/// `v` in another dtype; itself when it has it.
inline FlexRef cast_to(const FlexValue& v, DType dtype) {
  const backend::ValueRef input(const_cast<FlexValue*>(&v));
  return run(op::Cast{dtype}, {&input, 1}, {dtype, v.shape});
}

}  // namespace strata::flex
