/// Families that move elements: all but Cat are views wherever the strides allow it.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

FlexRef run(const op::Reshape& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Permute& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Expand& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Slice& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Flip& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Unfold& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Cat& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
