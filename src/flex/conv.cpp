#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "flex/conv_onednn.hpp"
#include "flex/elementwise.hpp"
#include "flex/index.hpp"
#include "flex/parallel.hpp"
#include "flex/window.hpp"

namespace strata::flex {
namespace {

/// Three spatial axes, the missing ones with extent and window 1.
struct Geometry {
  using Triple = std::array<std::int64_t, 3>;
  Triple in{1, 1, 1}, out{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, padding{}, dilation{1, 1, 1};
  std::int64_t groups, batch, in_channels, out_channels;  // channels of one group
  bool transposed;

  Geometry(const op::Conv& op, const Shape& x, const Shape& weight, const Shape& result)
      : groups(op.groups),
        batch(x[0]),
        in_channels(x[1] / op.groups),
        out_channels(result[1] / op.groups),
        transposed(op.transposed) {
    const int rank = x.rank() - 2;
    for (int i = 0; i < rank; ++i) {
      const auto k = static_cast<std::size_t>(3 - rank + i);
      in[k] = x[2 + i];
      out[k] = result[2 + i];
      window[k] = weight[2 + i];
      stride[k] = op.stride[i];
      padding[k] = op.padding[i];
      dilation[k] = op.dilation[i];
    }
  }
  static std::int64_t size(const Triple& t) { return t[0] * t[1] * t[2]; }
  /// Which entry of x meets entry `k` of the window at entry `o` of the result; -1: none, or padding.
  std::int64_t source(std::size_t axis, std::int64_t o, std::int64_t k) const {
    auto at = o * (transposed ? 1 : stride[axis]) + (transposed ? padding[axis] : -padding[axis]);
    at += (transposed ? -1 : 1) * k * dilation[axis];
    if (transposed) {
      if (at < 0 || at % stride[axis] != 0) return -1;
      at /= stride[axis];
    }
    return at >= 0 && at < in[axis] ? at : -1;
  }
};

/// One result at a time, for dtypes and machines that oneDNN does not serve.
template <class T>
T convolve_at(const Geometry& g, const T* x, const T* weight, std::int64_t weight_step,
              const Geometry::Triple& o) {
  T sum = 0;
  const auto plane = Geometry::size(g.in), taps = Geometry::size(g.window);
  for (std::int64_t kz = 0; kz < g.window[0]; ++kz) {
    const auto z = g.source(0, o[0], kz);
    for (std::int64_t ky = 0; z >= 0 && ky < g.window[1]; ++ky) {
      const auto y = g.source(1, o[1], ky);
      for (std::int64_t kx = 0; y >= 0 && kx < g.window[2]; ++kx) {
        const auto at = g.source(2, o[2], kx);
        if (at < 0) continue;
        const T* from = x + (z * g.in[1] + y) * g.in[2] + at;
        const T* with = weight + (kz * g.window[1] + ky) * g.window[2] + kx;
        for (std::int64_t c = 0; c < g.in_channels; ++c)
          sum += from[c * plane] * with[c * weight_step * taps];
      }
    }
  }
  return sum;
}

template <class T>
void convolve_directly(const Geometry& g, const T* x, const T* weight, T* out) {
  const auto plane = Geometry::size(g.out), taps = Geometry::size(g.window);
  const auto planes = g.batch * g.groups * g.out_channels;
  const auto work = planes * plane * taps * g.in_channels * static_cast<std::int64_t>(sizeof(T));
  parallel(planes, 1, work, [&](std::int64_t begin, std::int64_t end) {
    for (auto p = begin; p < end; ++p) {
      const auto k = p % g.out_channels, group = p / g.out_channels % g.groups,
                 n = p / (g.out_channels * g.groups);
      const T* from = x + (n * g.groups + group) * g.in_channels * Geometry::size(g.in);
      // [out, in, taps], transposed [in, out, taps], of this group.
      const T* with = weight + group * g.in_channels * g.out_channels * taps +
                      k * (g.transposed ? 1 : g.in_channels) * taps;
      T* to = out + p * plane;
      for (std::int64_t z = 0; z < g.out[0]; ++z) {
        for (std::int64_t y = 0; y < g.out[1]; ++y) {
          for (std::int64_t c = 0; c < g.out[2]; ++c) {
            *to++ = convolve_at(g, from, with, g.transposed ? g.out_channels : 1, {z, y, c});
          }
        }
      }
    }
  });
}

/// The exponent's bits of each element in a word of eight bytes.
std::uint64_t exponents(DType t) {
  return t == DType::bf16 ? 0x7f807f807f807f80 : t == DType::f32 ? 0x7f8000007f800000 : 0x7ff0000000000000;
}

/// True when no element is infinite or NaN. An exponent of ones carries into the sign bit, and nowhere else,
/// when its lowest bit is added once more.
bool all_finite(const FlexValue& v) {
  constexpr std::int64_t words = 32;  // a fixed number, so that compilers vectorise
  using Words = std::array<std::uint64_t, words>;
  const auto exponent = exponents(v.dtype), lowest = exponent & ~(exponent << 1),
             signs = (exponent << 1) & ~exponent;
  const auto bytes = v.size() * static_cast<std::int64_t>(size_of(v.dtype));
  std::atomic<bool> finite = true;
  parallel(bytes, 1 << 15, bytes, [&](std::int64_t at, std::int64_t end) {
    std::uint64_t carried = 0;
    for (; at < end; at += sizeof(Words)) {
      Words part{};
      std::memcpy(part.data(), v.data() + at, std::min(sizeof(Words), static_cast<std::size_t>(end - at)));
      for (auto word : part) carried |= (word & exponent) + lowest;
    }
    if (carried & signs) finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

/// x with the padding of `op` written out.
FlexRef padded(const op::Conv& op, const FlexValue& x) {
  Shape shape = x.shape;
  op::SliceAssign place{Dims::filled(shape.rank(), 0), x.shape, Dims::filled(shape.rank(), 1)};
  for (int i = 2; i < shape.rank(); ++i) {
    place.start[i] = op.padding[i - 2];
    place.stop[i] = place.start[i] + x.shape[i];
    shape[i] += 2 * op.padding[i - 2];
  }
  const auto zeros = FlexValue::make(x.backend, {x.dtype, shape}, "conv");
  if (zeros->size() > 0)
    std::memset(zeros->data(), 0, static_cast<std::size_t>(zeros->size()) * size_of(x.dtype));
  const backend::ValueRef inputs[] = {zeros, backend::ValueRef(const_cast<FlexValue*>(&x))};
  return run(place, inputs, {x.dtype, shape});
}

FlexRef convolve(const op::Conv& op, const FlexRef& x, const FlexRef& weight, const op::TensorType& type) {
  // A padding zero times an infinite weight is NaN, which no kernel that skips padding would give.
  if (!op.transposed && std::ranges::any_of(op.padding, [](auto p) { return p > 0; }) &&
      !all_finite(*weight)) {
    op::Conv unpadded = op;
    unpadded.padding = Dims::filled(op.padding.rank(), 0);
    return convolve(unpadded, padded(op, *x), weight, type);
  }
  auto out = FlexValue::make(x->backend, type, "conv");
  if (out->size() == 0) return out;
  if (x->shape[1] == 0) {
    std::memset(out->data(), 0, static_cast<std::size_t>(out->size()) * size_of(type.dtype));
    return out;
  }
  const Geometry g(op, x->shape, weight->shape, type.shape);
  if (type.dtype == DType::f64) {
    convolve_directly(g, x->as<double>(), weight->as<double>(), out->as<double>());
    return out;
  }
  // Kernels for bf16 fill up groups of channels with neighbours times zero, which infinities and NaN survive.
  const bool served = type.dtype != DType::bf16 || (all_finite(*x) && all_finite(*weight));
  if (served && onednn_conv(op, x->type(), weight->type(), type, x->data(), weight->data(), out->data()))
    return out;
  if (type.dtype != DType::f32) {
    return cast_to(
        *convolve(op, cast_to(*x, DType::f32), cast_to(*weight, DType::f32), {DType::f32, type.shape}),
        type.dtype);
  }
  convolve_directly(g, x->as<float>(), weight->as<float>(), out->as<float>());
  return out;
}

}  // namespace

FlexRef run(const op::Conv& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto x = contiguous(flex(inputs[0]), "conv"), weight = contiguous(flex(inputs[1]), "conv");
  if (type.dtype == DType::f16) {
    return cast_to(
        *convolve(op, cast_to(*x, DType::f32), cast_to(*weight, DType::f32), {DType::f32, type.shape}),
        DType::f16);
  }
  return convolve(op, x, weight, type);
}

}  // namespace strata::flex
