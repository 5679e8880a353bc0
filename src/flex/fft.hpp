/// Fourier transforms of any length.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

FlexRef run(const op::Fft& op, backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::flex
