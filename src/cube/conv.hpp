/// Convolution: the ways to compute it, and their kernels.
#pragma once

#include "cube/window.hpp"

namespace strata::cube::window {

enum class ConvMethod : std::uint8_t {
  direct,    ///< one unit an element of the result
  by_cubes,  ///< one cube an element
  product,   ///< matrix products
};
/// How to compute a convolution.
struct ConvPlan {
  ConvMethod method = ConvMethod::direct;
  std::int64_t workspace = 0;  ///< bytes that the matrices of `product` made at a time may take
};
ConvPlan plan_conv(const Target& target, const op::Conv& op, const op::TensorType& x,
                   const op::TensorType& weight, const op::TensorType& type);
/// No extent of `type` is 0. Every convolution can be computed in every way.
CubeRef convolve(CubeBackend& backend, const ConvPlan& plan, const op::Conv& op, const CubeRef& x,
                 const CubeRef& weight, const op::TensorType& type);

/// A sum over the window for each element of the result [n, k, ...]: directly, or of products made before.
struct ConvForm {
  bool transposed = false;
  bool fold = false;        ///< sums the products [n, k, window..., in...] (a transposed convolution)
  bool whole_cube = false;  ///< the units of a cube share the sum of one element
  DType in{}, out{};
  int units = 1;
  WindowForm window;
};
KernelKey conv_key(const ConvForm& form);
/// Buffers: output, x and the weight (both row-major), or output and products. Arguments: elements to
/// compute, channels of a group of x and of the output, groups, offsets of output and inputs, those of the
/// window.
kernel::Kernel build_conv(const ConvForm& form);

/// Writes the windows of x [n, c, ...] as a matrix for each group of channels: [g, c / g * window,
/// positions], where positions are some of [n, out...]. `swapped`: [g, positions, c / g * window]; then the
/// geometry has window and result, stride and dilation exchanged, and n and c / g stand for each other, so
/// that whichever is longer lies along memory.
struct UnfoldForm {
  DType dtype{};
  int units = 1;
  WindowForm window;
};
KernelKey unfold_key(const UnfoldForm& form);
/// Buffers: output, x (row-major). Arguments: g * rows * columns; rows; the first column and their number;
/// elements of x from one group, one row and one column to the next; the offset of x; those of the window.
/// A column is one of [outer, out...], rows stand for the channels or images.
kernel::Kernel build_unfold(const UnfoldForm& form);

}  // namespace strata::cube::window
