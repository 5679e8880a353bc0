/// Softmax and norms, a row at a time.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

FlexRef run(const op::Softmax& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Norm& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
