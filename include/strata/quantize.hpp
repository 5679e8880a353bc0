/// Affine quantisation to 8 bits (Jacob et al., "Quantization and Training of Neural Networks for Efficient
/// Integer-Arithmetic-Only Inference", 2018): an element is stored as q in 0 ... 255 and stands for
/// (q - zero_point) * scale.
#pragma once

#include <optional>

#include "strata/custom_gradient.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

/// A quarter of the memory of f32. Scale and zero point broadcast against the values.
template <int D>
struct Quantized {
  Tensor<D, Int> values;      ///< u8
  Tensor<D> scale;            ///< of the dtype that was quantised
  Tensor<D, Int> zero_point;  ///< u8

  Tensor<D> dequantize() const {
    return (values.to_float(scale.dtype()) - zero_point.to_float(scale.dtype())) * scale;
  }
};

struct QuantizeOptions {
  std::optional<int> axis = {};  ///< a scale for each entry of this axis; none: one for the whole tensor
  bool symmetric = false;        ///< zero_point is 128 and the range reaches as far below 0 as above
};

/// Rounds x / scale half to even and clamps to the range; NaN becomes 0.
template <int D>
Quantized<D> quantize(const Tensor<D>& x, const Tensor<D>& scale, const Tensor<D, Int>& zero_point) {
  const auto q = (x / scale).round() + zero_point.to_float(x.dtype());
  return {q.clamp(0, 255).to_int(DType::u8), scale, zero_point};
}
/// With the smallest range that holds all elements and 0, so that 0 stays exact.
template <int D>
Quantized<D> quantize(const Tensor<D>& x, const QuantizeOptions& options = {}) {
  const auto range = detail::quantization_range(x.value(), options.axis, options.symmetric);
  return quantize(x, Tensor<D>(range.scale), Tensor<D, Int>(range.zero_point));
}
/// x as its quantised form gives it back, for training; the gradient passes where nothing was clamped.
template <int D>
Tensor<D> fake_quantize(const Tensor<D>& x, const Tensor<D>& scale, const Tensor<D, Int>& zero_point) {
  return custom_gradient(
      [](const Tensor<D>& v, const Tensor<D>& s, const Tensor<D>& zero) {
        return quantize(v, s, zero.to_int(DType::u8)).dequantize();
      },
      [](const Tensor<D>& g, const Tensor<D>&, const Tensor<D>& v, const Tensor<D>& s,
         const Tensor<D>& zero) {
        const auto q = (v / s).round() + zero;
        const auto inside = q.greater_equal(0) & q.less_equal(255);
        return std::tuple(g.mask_fill(!inside, 0), Tensor<D>::zeros_like(s), Tensor<D>::zeros_like(zero));
      },
      x, scale.detach(), zero_point.to_float(x.dtype()));
}

}  // namespace strata::inline v0
