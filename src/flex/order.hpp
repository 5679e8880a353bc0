/// Families that depend on the order of elements along one axis.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

FlexRef run(const op::ArgReduce& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::ArgSort& op, backend::Inputs inputs, const op::TensorType& type);
FlexRef run(const op::Cumulative& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
