/// Copies between strided layouts.
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

/// Writes the elements of `source` to `target`, where index i stands at sum(i[axis] * strides[axis])
/// elements.
void copy_elements(const FlexValue& source, std::byte* target, const Strides& strides) noexcept;

}  // namespace strata::flex
