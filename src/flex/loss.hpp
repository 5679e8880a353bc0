/// Losses: a row of scores at a time, and the recursion of CTC.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

backend::Values run(const op::CrossEntropy& op, backend::Inputs inputs, const op::TensorTypes& types);
FlexRef run(const op::CrossEntropyGradient& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Ctc& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::CtcGradient& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
