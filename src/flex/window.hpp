/// Convolution and pooling.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

FlexRef run(const op::Conv& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Pool& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::ArgPool& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
