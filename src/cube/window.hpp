/// Pooling and convolution on devices whose units are their parallelism.
///
/// A pool and a direct convolution give each element of their result a unit, neighbours along the innermost
/// axis. Convolutions with enough channels are matrix products: of the weight and the unfolded windows of x,
/// or, transposed, of the weight and x, folded afterwards. A direct convolution of few results and long sums
/// (the gradient of a depthwise weight) gives each a whole cube. Sums have one order, whatever runs at once.
#pragma once

#include <array>
#include <vector>

#include "cube/cube_backend.hpp"
#include "kernel/builder.hpp"

namespace strata::cube::window {

backend::Values execute(CubeBackend& backend, const op::Pool& op, const CubeRef& x,
                        const op::TensorType& type);
backend::Values execute(CubeBackend& backend, const op::ArgPool& op, const CubeRef& x,
                        const op::TensorType& type);
backend::Values execute(CubeBackend& backend, const op::Conv& op, const CubeRef& x, const CubeRef& weight,
                        const op::TensorType& type);

/// Three spatial axes, outermost first; missing ones have extent and window 1.
using Triple = std::array<std::int64_t, 3>;
constexpr std::int64_t product(const Triple& t) { return t[0] * t[1] * t[2]; }

/// Entry k of the window at entry o of the result meets entry o * stride - padding + k * dilation of x;
/// transposed, (o + padding - k * dilation) / stride where that is whole.
struct Geometry {
  Triple in{1, 1, 1}, out{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, padding{}, dilation{1, 1, 1};

  /// `Op` has `stride`, `padding` and `dilation` for each axis.
  template <class Op>
  static Geometry of(const Op& op, const Shape& x, const Dims& window_extents, const Shape& result) {
    Geometry g;
    const int rank = x.rank() - 2;
    for (int i = 0; i < rank; ++i) {
      const auto k = static_cast<std::size_t>(3 - rank + i);
      g.in[k] = x[2 + i];
      g.out[k] = result[2 + i];
      g.window[k] = window_extents[i];
      g.stride[k] = op.stride[i];
      g.padding[k] = op.padding[i];
      g.dilation[k] = op.dilation[i];
    }
    return g;
  }
  /// The largest size of a position along any axis, on the way too.
  std::int64_t largest_position() const;
};

/// What of a geometry is part of a kernel's code.
struct WindowForm {
  int rank = 1;          ///< spatial axes
  Triple taps{0, 0, 0};  ///< the window, where its loops are unrolled; else 0
  kernel::Scalar index = kernel::Scalar::i64;
};
WindowForm window_form(const Geometry& g, int rank, kernel::Scalar index);
void hash_into(KernelKeyHasher& h, const WindowForm& form);
/// The arguments that WindowAxes declares.
void append_arguments(const WindowForm& form, const Geometry& g, std::vector<std::int64_t>& scalars);

/// A geometry inside a kernel.
class WindowAxes {
 public:
  using Point = std::array<kernel::Val, 3>;
  /// An entry of x: whether there is one, and its position in the flattened spatial axes (0 where not).
  struct Source {
    kernel::Val inside, position;
  };

  /// Declares its arguments.
  WindowAxes(kernel::Builder& builder, const WindowForm& form);

  kernel::Val index(std::int64_t n) const { return kernel::constant(kernel::make_type(form_.index), n); }
  /// The spatial axes of the result, taken off `digits`.
  template <class Digits>
  Point out_point(Digits& digits) const {
    return point(digits, out_);
  }
  template <class Digits>
  Point window_point(Digits& digits) const {
    return point(digits, window_);
  }
  kernel::Val in_size() const { return in_[0] * in_[1] * in_[2]; }
  kernel::Val out_size() const { return out_[0] * out_[1] * out_[2]; }
  kernel::Val taps() const { return window_[0] * window_[1] * window_[2]; }

  /// Calls body(k) for every entry of the window, the innermost axis fastest.
  template <class Body>
  void for_each_tap(Body&& body) const {
    Point k;
    loop(0, k, body);
  }
  /// The number of `k` among the entries of the window.
  kernel::Val tap_number(const Point& k) const { return (k[0] * window_[1] + k[1]) * window_[2] + k[2]; }
  Source source(const Point& o, const Point& k) const;
  /// Of the transposed convolution.
  Source transposed_source(const Point& o, const Point& k) const;
  /// How many entries of the window at `o` lie in x and its padding.
  kernel::Val counted(const Point& o) const;

 private:
  template <class Digits>
  Point point(Digits& digits, const Point& extents) const {
    Point p{index(0), index(0), index(0)};
    for (int axis = 2; axis >= first_; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      p[i] = digits.next(extents[i]);
    }
    return p;
  }
  template <class Body>
  void loop(std::size_t axis, Point& k, Body&& body) const {
    if (axis == 3) return body(static_cast<const Point&>(k));
    const auto flags = form_.taps[axis] > 0 ? kernel::unroll : kernel::no_flags;
    kernel::for_(
        index(0), window_[axis], index(1),
        [&](kernel::Val i) {
          k[axis] = i;
          loop(axis + 1, k, body);
        },
        flags);
  }
  /// Of one axis each: a position, and whether it lies in x.
  Source joined(const Point& at, const Point& inside) const;

  const WindowForm form_;
  const int first_;  ///< axis that is there
  Point in_, out_, window_, stride_, padding_, dilation_;
};

}  // namespace strata::cube::window
