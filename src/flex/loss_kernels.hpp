/// Loops of cross entropy over one contiguous row of scores.
#pragma once

#include <cstddef>

namespace strata::flex {

/// For T = float and double.
template <class T>
struct LossKernels {
  /// The largest element, and the logarithm of the sum of exp(x - largest).
  void (*log_sum)(const T* x, std::size_t n, T* top, double* logarithm);
  /// Sum of weights[i] (x[i] - top); weights may be null: all 1.
  double (*weighted)(const T* x, const T* weights, T top, std::size_t n);
  double (*sum)(const T* x, std::size_t n);
  /// out = scale exp(x - log_sum) - rest weights; weights may be null: all 1.
  void (*gradient)(const T* x, const T* weights, T log_sum, T scale, T rest, T* out, std::size_t n);
};
template <class T>
const LossKernels<T>& loss_kernels();

}  // namespace strata::flex
