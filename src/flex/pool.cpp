#include <algorithm>
#include <array>
#include <limits>

#include "base/convert.hpp"
#include "flex/parallel.hpp"
#include "flex/reader.hpp"
#include "flex/window.hpp"

namespace strata::flex {
namespace {

/// Pooling over three spatial axes, the missing ones with extent and window 1.
struct Geometry {
  std::array<std::int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, padding{},
      dilation{1, 1, 1};

  template <class Op>
  Geometry(const Op& op, const Shape& x, const Shape& result) {
    const int rank = op.window.rank();
    for (int i = 0; i < rank; ++i) {
      const auto k = static_cast<std::size_t>(3 - rank + i);
      in[k] = x[2 + i];
      out[k] = result[2 + i];
      window[k] = op.window[i];
      stride[k] = op.stride[i];
      padding[k] = op.padding[i];
      dilation[k] = op.dilation[i];
    }
  }
  std::int64_t in_size() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_size() const { return out[0] * out[1] * out[2]; }
};

/// The entries of one axis that window `o` covers: begin + i * dilation for i in [0, count).
struct Span {
  std::int64_t begin, count;
  Span(const Geometry& g, std::size_t axis, std::int64_t o) {
    const auto at = o * g.stride[axis] - g.padding[axis], step = g.dilation[axis];
    const auto skipped = at < 0 ? (step - 1 - at) / step : 0;
    begin = at + skipped * step;
    count = std::clamp<std::int64_t>((g.in[axis] - 1 - begin) / step + 1, 0, g.window[axis] - skipped);
    if (begin >= g.in[axis]) count = 0;
  }
};

/// How many entries of one axis a mean divides by.
std::int64_t counted(const Geometry& g, std::size_t axis, std::int64_t o, std::int64_t inside,
                     bool with_padding) {
  if (!with_padding) return inside;
  const auto at = o * g.stride[axis] - g.padding[axis];
  const auto room = g.in[axis] + g.padding[axis] - at;  // to the end of the right padding
  return std::min(g.window[axis], (room + g.dilation[axis] - 1) / g.dilation[axis]);
}

/// Calls f(output position, depth span, row span, column span, counted elements) for every window of a plane.
template <class F>
void for_each_window(const Geometry& g, bool with_padding, F&& f) {
  std::int64_t at = 0;
  for (std::int64_t z = 0; z < g.out[0]; ++z) {
    const Span depth(g, 0, z);
    const auto nz = counted(g, 0, z, depth.count, with_padding);
    for (std::int64_t y = 0; y < g.out[1]; ++y) {
      const Span row(g, 1, y);
      const auto nyz = nz * counted(g, 1, y, row.count, with_padding);
      for (std::int64_t x = 0; x < g.out[2]; ++x) {
        const Span column(g, 2, x);
        f(at++, depth, row, column, nyz * counted(g, 2, x, column.count, with_padding));
      }
    }
  }
}

/// Calls f(position in the plane) for the elements of one window.
template <class F>
void for_each_element(const Geometry& g, const Span& depth, const Span& row, const Span& column, F&& f) {
  for (std::int64_t i = 0; i < depth.count; ++i) {
    for (std::int64_t j = 0; j < row.count; ++j) {
      const auto line =
          ((depth.begin + i * g.dilation[0]) * g.in[1] + row.begin + j * g.dilation[1]) * g.in[2];
      for (std::int64_t k = 0; k < column.count; ++k) f(line + column.begin + k * g.dilation[2]);
    }
  }
}

template <class S>
Compute<S> computed(S x) {
  if constexpr (is_half<S>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}

/// The position of the largest element of a window, the first of equal ones; NaN is largest.
template <class S>
std::int64_t largest(const S* plane, const Geometry& g, const Span& depth, const Span& row,
                     const Span& column) {
  std::int64_t best = -1;
  for_each_element(g, depth, row, column, [&](std::int64_t at) {
    if (best < 0) {
      best = at;
      return;
    }
    const auto top = computed(plane[best]), v = computed(plane[at]);
    if (top == top && (v > top || v != v)) best = at;
  });
  return best;
}

/// f(plane of x, plane of the result) for all batches and channels.
template <class S, class R, class F>
void for_each_plane(const FlexValue& x, FlexValue& out, const Geometry& g, F&& f) {
  const auto window = g.window[0] * g.window[1] * g.window[2];
  const auto planes = x.shape[0] * x.shape[1];
  parallel(planes, std::max<std::int64_t>(block / g.in_size(), 1),
           planes * g.out_size() * window * static_cast<std::int64_t>(sizeof(S)),
           [&](std::int64_t begin, std::int64_t end) {
             for (auto p = begin; p < end; ++p)
               f(x.as<S>() + p * g.in_size(), out.as<R>() + p * g.out_size());
           });
}

/// Calls f(first output of the row, tap's first element of x, outputs [begin, end) it reaches) for every row
/// of outputs and every tap of the window that meets an element there: the loop over outputs is innermost and
/// dense.
template <class F>
void for_each_tap(const Geometry& g, F&& f) {
  std::int64_t at = 0;
  for (std::int64_t z = 0; z < g.out[0]; ++z) {
    const Span depth(g, 0, z);
    for (std::int64_t y = 0; y < g.out[1]; ++y, at += g.out[2]) {
      const Span row(g, 1, y);
      for (std::int64_t i = 0; i < depth.count; ++i) {
        for (std::int64_t j = 0; j < row.count; ++j) {
          const auto line =
              ((depth.begin + i * g.dilation[0]) * g.in[1] + row.begin + j * g.dilation[1]) * g.in[2];
          for (std::int64_t k = 0; k < g.window[2]; ++k) {
            // Output x reads column x * stride + shift, which must lie in [0, in).
            const auto shift = k * g.dilation[2] - g.padding[2], stride = g.stride[2];
            const auto begin = shift < 0 ? (stride - 1 - shift) / stride : 0;
            const auto end = shift >= g.in[2] ? 0 : std::min((g.in[2] - 1 - shift) / stride + 1, g.out[2]);
            f(at, line + shift, begin, end);
          }
        }
      }
    }
  }
}

template <class S>
void max_pool(const FlexValue& x, const Geometry& g, FlexValue& out) {
  using C = Compute<S>;
  constexpr C lowest =
      std::is_floating_point_v<C> ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
  for_each_plane<S, S>(x, out, g, [&](const S* plane, S* result) {
    std::fill(result, result + g.out_size(), static_cast<S>(lowest));
    for_each_tap(g, [&](std::int64_t first, std::int64_t source, std::int64_t begin, std::int64_t end) {
      for (auto o = begin; o < end; ++o) {
        const C best = computed(result[first + o]), v = computed(plane[source + o * g.stride[2]]);
        result[first + o] = static_cast<S>(v > best || v != v ? v : best);
      }
    });
  });
}

template <class S>
void mean_pool(const FlexValue& x, const Geometry& g, bool with_padding, FlexValue& out) {
  for_each_plane<S, S>(x, out, g, [&](const S* plane, S* result) {
    for_each_window(
        g, with_padding,
        [&](std::int64_t o, const Span& depth, const Span& row, const Span& column, std::int64_t count) {
          Compute<S> sum = 0;
          for_each_element(g, depth, row, column, [&](std::int64_t at) { sum += computed(plane[at]); });
          result[o] = static_cast<S>(sum / static_cast<Compute<S>>(count));
        });
  });
}

}  // namespace

FlexRef run(const op::Pool& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto x = contiguous(flex(inputs[0]), name_of(op.kind));
  auto out = FlexValue::make(x->backend, type, name_of(op.kind));
  if (out->size() == 0) return out;
  const Geometry g(op, x->shape, type.shape);
  visit_dtype(type.dtype, [&]<class S>() {
    if constexpr (!std::is_same_v<S, bool>) {
      if (op.kind == op::PoolKind::max) return max_pool<S>(*x, g, *out);
      if constexpr (!std::is_integral_v<S>) mean_pool<S>(*x, g, op.count_padding, *out);
    }
  });
  return out;
}

FlexRef run(const op::ArgPool& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto x = contiguous(flex(inputs[0]), "arg_max_pool");
  auto out = FlexValue::make(x->backend, type, "arg_max_pool");
  if (out->size() == 0) return out;
  const Geometry g(op, x->shape, type.shape);
  visit_dtype(x->dtype, [&]<class S>() {
    if constexpr (!std::is_same_v<S, bool>) {
      for_each_plane<S, std::int64_t>(*x, *out, g, [&](const S* plane, std::int64_t* result) {
        for_each_window(g, false,
                        [&](std::int64_t o, const Span& depth, const Span& row, const Span& column, auto) {
                          result[o] = largest(plane, g, depth, row, column);
                        });
      });
    }
  });
  return out;
}

}  // namespace strata::flex
