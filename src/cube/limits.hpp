/// The ends of a type's order, as constants of kernels: what a maximum or minimum starts from.
#pragma once

#include <limits>

#include "kernel/builder.hpp"

namespace strata::cube {

/// The least value of a type (floats: -infinity), or with `greatest` the greatest.
inline kernel::Val extreme(kernel::Type t, bool greatest) {
  using kernel::Scalar;
  const auto of = [&]<class T>(T) {
    return kernel::constant(t, greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
  };
  if (kernel::is_float(t.scalar)) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    return kernel::constant(t, greatest ? inf : -inf);
  }
  if (t.scalar == Scalar::i64) return of(std::int64_t{});
  if (t.scalar == Scalar::i32) return of(std::int32_t{});
  return of(std::uint8_t{});
}

}  // namespace strata::cube
