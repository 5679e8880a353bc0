/// Loops over the rows of a tile of attention scores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata::flex {

/// For T = float and double. Strides are in elements.
template <class T>
struct AttentionKernels {
  /// row = -infinity where the mask is 0.
  void (*hide)(T* row, const std::uint8_t* mask, std::int64_t stride, std::size_t n);
  /// row += bias.
  void (*shift)(T* row, const T* bias, std::int64_t stride, std::size_t n);
  /// One step of the online softmax (Milakov and Gimelshein, 2018): row = exp(row - top) with the new `top`,
  /// `sum` brought up to date; returns what earlier weighted sums must be multiplied by.
  T (*step)(T* row, std::size_t n, T* top, double* sum);
  /// scores = p = exp(scores - log_sum), products = p (products - delta): the gradient of the scores.
  void (*gradient)(T* scores, T* products, std::size_t n, T log_sum, T delta);
  /// out = x times factor.
  void (*scale)(const T* x, T factor, T* out, std::size_t n);
  /// out = out times factor + x.
  void (*accumulate)(T* out, T factor, const T* x, std::size_t n);
  /// out[i] = a . b[i], rows of d elements.
  void (*dots)(const T* a, const T* b, std::int64_t row_stride, std::size_t rows, std::size_t d, T* out);
  /// out = sum of weights[i] b[i], rows of d elements.
  void (*mix)(const T* weights, const T* b, std::int64_t row_stride, std::size_t rows, std::size_t d, T* out);
};
template <class T>
const AttentionKernels<T>& attention_kernels();

}  // namespace strata::flex
