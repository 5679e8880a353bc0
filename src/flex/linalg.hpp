/// Decompositions and solutions through LAPACK.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

backend::Values run(const op::Linalg& op, backend::Inputs inputs, const op::TensorTypes& types);

}  // namespace strata::flex
