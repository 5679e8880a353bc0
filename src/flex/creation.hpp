/// Families without inputs.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

FlexRef run(const op::Fill& op, backend::Backend& home, const op::TensorType& type);
FlexRef run(const op::Iota& op, backend::Backend& home, const op::TensorType& type);
FlexRef run(const op::Random& op, backend::Backend& home, const op::TensorType& type);

}  // namespace strata::flex
