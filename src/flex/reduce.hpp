/// Reductions.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

FlexRef run(const op::Reduce& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
