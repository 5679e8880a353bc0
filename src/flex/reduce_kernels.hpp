/// Loops of the reductions over contiguous elements.
#pragma once

#include <cstddef>

#include "strata/detail/kinds.hpp"

namespace strata::flex {

/// Both for T = float, double, std::int64_t, std::int32_t, std::uint8_t; mean runs as sum; NaN wins in max
/// and min.
template <class T>
struct ReduceKernels {
  T (*row)(const T* x, std::size_t n);  ///< the reduction of x
  /// accumulator[i] op= x[i + r * stride] for every row r.
  void (*columns)(const T* x, std::ptrdiff_t stride, std::size_t rows, T* accumulator, std::size_t n);
};
template <class T>
ReduceKernels<T> reduce_kernels(op::ReduceKind kind);

}  // namespace strata::flex
