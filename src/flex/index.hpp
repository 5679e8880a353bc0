/// Families that read or write at indices which are data.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

FlexRef run(const op::Gather& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Scatter& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::SliceAssign& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
