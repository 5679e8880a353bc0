/// Grids of coordinates, and images [batch, channels, height, width] sampled at them or cut into patches.
#pragma once

#include <array>

#include "strata/arrange.hpp"
#include "strata/detail/functions.hpp"
#include "strata/functional.hpp"

namespace strata::inline v0 {

/// ij: axis k of the grid is that of the k-th vector. xy: the first two axes change places, as in images.
enum class Indexing : std::uint8_t { ij, xy };

/// One tensor for each vector, of the shape of the grid, that holds its coordinate: `auto [x, y] =
/// meshgrid(std::array{u, v})`.
template <class Kind, std::size_t N>
requires(N >= 1 && N <= max_rank) auto meshgrid(const std::array<Tensor<1, Kind>, N>& axes,
                                                Indexing order = Indexing::ij) {
  std::vector<detail::ValueRef> values;
  for (const auto& axis : axes) values.push_back(axis.value());
  const auto grids = detail::meshgrid(values, order == Indexing::xy);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{Tensor<static_cast<int>(N), Kind>(grids[I])...};
  }
  (std::make_index_sequence<N>());
}
/// All combinations of elements, the last vector's first to change: [product of the sizes, N].
template <class Kind, std::size_t N>
Tensor<2, Kind> cartesian_product(const std::array<Tensor<1, Kind>, N>& axes) {
  std::vector<Tensor<1, Kind>> columns;
  for (const auto& grid : meshgrid(axes)) columns.push_back(grid.flatten());
  return stack(columns, 1);
}
/// The index of every element of a tensor of this shape: [shape.., N].
template <int N>
requires(N < max_rank) Tensor<N + 1, Int> cartesian_grid(const std::int64_t (&shape)[N],
                                                         const Device& device = Device()) {
  std::vector<detail::ValueRef> axes;
  for (auto extent : shape) axes.push_back(Tensor<1, Int>::arange(0, extent, 1, device).value());
  return Tensor<N + 1, Int>(detail::stack(detail::meshgrid(axes, false), N));
}

/// Where each pixel of an image of this size is looked up under the affine maps theta [batch, 2, 3]: [batch,
/// height, width, 2], x before y, in coordinates where the image spans [-1, 1]; see `grid_sample_2d`.
inline Tensor<4> affine_grid_2d(const Tensor<3>& theta, std::int64_t height, std::int64_t width,
                                bool align_corners = false) {
  return Tensor<4>(detail::affine_grid(theta.value(), height, width, align_corners));
}

using detail::Outside;
using detail::Sampling;
struct GridSampleOptions {
  Sampling how = Sampling::bilinear;  ///< nearest: half to even; no gradient for the grid
  Outside outside = Outside::zeros;   ///< what lies around the image: 0, its border, its mirror image
  bool align_corners = false;  ///< -1 and 1 are the centres of the outermost pixels, not their far edges
};
/// x [n, c, h, w] at the points of grid [n, i, j, 2] (x before y, in [-1, 1]) -> [n, c, i, j]. Jaderberg et
/// al., "Spatial transformer networks", 2015.
inline Tensor<4> grid_sample_2d(const Tensor<4>& x, const Tensor<4>& grid, const GridSampleOptions& o = {}) {
  return Tensor<4>(detail::grid_sample(x.value(), grid.value(), o.how, o.outside, o.align_corners));
}

/// A convolution that looks beside the places of its window, between the pixels, with zeros around the image:
/// x [n, c, h, w], weight [k, c / groups, wh, ww], offset [n, p 2 wh ww, i, j] with the y and the x of each
/// tap, where p divides c and each part of the channels has its own -> [n, k, i, j]. Dai et al., "Deformable
/// convolutional networks", 2017.
inline Tensor<4> deform_conv2d(const Tensor<4>& x, const Tensor<4>& offset, const Tensor<4>& weight,
                               const ConvOptions<2>& o = {}) {
  return Tensor<4>(detail::deform_conv(x.value(), offset.value(), weight.value(), {}, o.stride.values,
                                       o.padding.values, o.dilation.values, o.groups));
}
/// With a factor for each tap: mask [n, p wh ww, i, j]. Zhu et al., "Deformable ConvNets v2", 2019.
inline Tensor<4> deform_conv2d(const Tensor<4>& x, const Tensor<4>& offset, const Tensor<4>& weight,
                               const Tensor<4>& mask, const ConvOptions<2>& o = {}) {
  return Tensor<4>(detail::deform_conv(x.value(), offset.value(), weight.value(), mask.value(),
                                       o.stride.values, o.padding.values, o.dilation.values, o.groups));
}

struct PatchOptions {
  PerAxis<2> window;
  PerAxis<2> stride = 1, padding = 0, dilation = 1;
};
/// Patches as columns (im2col): [n, c, h, w] -> [n, c wh ww, patches], padded with zeros.
template <class Kind>
Tensor<3, Kind> unfold4d(const Tensor<4, Kind>& x, const PatchOptions& o) {
  return Tensor<3, Kind>(detail::unfold_image(
      x.value(), {o.window.values, o.stride.values, o.padding.values, o.dilation.values}));
}
/// Columns added up where their patches lie (col2im): [n, c wh ww, patches] -> [n, c, h, w].
template <class Kind>
Tensor<4, Kind> fold4d(const Tensor<3, Kind>& columns, const PerAxis<2>& size, const PatchOptions& o) {
  return Tensor<4, Kind>(detail::fold_image(
      columns.value(), size.values, {o.window.values, o.stride.values, o.padding.values, o.dilation.values}));
}

}  // namespace strata::inline v0
