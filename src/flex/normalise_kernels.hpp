/// Loops of softmax and norms over one contiguous row, or over columns side by side.
#pragma once

#include <cstddef>

namespace strata::flex {

/// For T = float and double. Sums of f32 are carried on in f64 from block to block.
template <class T>
struct NormaliseKernels {
  void (*softmax)(const T* x, T* out, std::size_t n);
  void (*log_softmax)(const T* x, T* out, std::size_t n);
  /// Of each column of a contiguous [n, columns] matrix.
  void (*softmax_columns)(const T* x, T* out, std::size_t n, std::size_t columns, bool log);
  /// weight and bias may be null.
  void (*layer_norm)(const T* x, const T* weight, const T* bias, T* out, std::size_t n, double eps);
  void (*rms_norm)(const T* x, const T* weight, const T* bias, T* out, std::size_t n, double eps);
};
template <class T>
const NormaliseKernels<T>& normalise_kernels();

}  // namespace strata::flex
