/// Conversion of one element, the rule of Cast on every device: float to integer truncates towards zero and
/// saturates, NaN becomes 0, anything but zero is true, integer to narrower integer wraps.
#pragma once

#include <cmath>
#include <limits>

#include "strata/dtype.hpp"

namespace strata::base {

template <Element To, Element From>
To convert(From x) {
  constexpr DType to = dtype_of<To>(), from = dtype_of<From>();
  if constexpr (to == from) {
    return x;
  } else if constexpr (from == DType::f16 || from == DType::bf16) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (to == DType::boolean) {
    return x != From{};
  } else if constexpr (to == DType::f16 || to == DType::bf16) {
    return To(static_cast<float>(x));
  } else if constexpr (is_float(from) && is_int(to)) {
    if (std::isnan(x)) return To{};
    constexpr auto low = static_cast<From>(std::numeric_limits<To>::min());
    const auto high = std::ldexp(From{1}, std::numeric_limits<To>::digits);  // first value too large
    if (x <= low) return std::numeric_limits<To>::min();
    if (x >= high) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace strata::base
