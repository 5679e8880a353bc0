/// Matrix products: oneDNN for f32, bf16 and (through f32) f16, own loops for tiny ones and the other dtypes.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

/// Throws RuntimeError naming the shapes when oneDNN fails.
FlexRef run(const op::Matmul& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
