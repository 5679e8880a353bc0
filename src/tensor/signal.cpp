#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "dispatch/entry.hpp"
#include "strata/detail/functions.hpp"
#include "strata/error.hpp"

namespace strata::detail {
namespace {

using bridge::add;
using bridge::mul;
using op::FftKind;

/// `size` entries of an axis: the first ones, or zeros behind them.
ValueRef resized(const ValueRef& x, int axis, std::int64_t size) {
  const auto n = x->shape[axis];
  if (size <= n) return size == n ? x : narrow(x, axis, 0, size);
  const Dims none = Dims::filled(x->shape.rank(), 0);
  Dims after = none;
  after[axis] = size - n;
  return bridge::pad(x, none, after, 0);
}

/// The window in the middle of a frame.
ValueRef framed(const ValueRef& window, const ValueRef& x, const Frames& frames, std::string_view op) {
  const auto n = window->shape[0];
  if (frames.size < 1 || frames.hop < 1 || n > frames.size || n < 1) {
    throw ArgumentError(
        fmt::format("[{}] frames of {} points, {} apart, with a window of {}: needs at least one point, "
                    "a hop of 1 and a window that fits",
                    op, frames.size, frames.hop, n));
  }
  if (window->dtype != x->dtype) {
    throw DTypeError(fmt::format("[{}] the window is {} and the signal {}; cast one of them", op,
                                 name_of(window->dtype), name_of(x->dtype)));
  }
  const auto before = (frames.size - n) / 2;
  return bridge::pad(window, {before}, {frames.size - n - before}, 0);
}

/// Frames [.., frames, size] added up where they lie.
ValueRef overlapped(const ValueRef& x, const Frames& frames) {
  const int rank = x->shape.rank();
  const auto count = x->shape[rank - 2], total = (count - 1) * frames.hop + frames.size;
  const auto start = bridge::reshape(bridge::iota(x->backend, count, DType::i64, 0, frames.hop), {count, 1});
  const auto index = add(start, bridge::iota(x->backend, frames.size, DType::i64, 0, 1));
  Shape flat(std::span(x->shape.begin(), x->shape.size() - 1)), shape = flat;
  flat[rank - 2] = count * frames.size;
  shape[rank - 2] = total;
  return bridge::select_assign(bridge::expand(bridge::scalar_like(x, 0), shape), rank - 2,
                               bridge::reshape(index, {count * frames.size}), bridge::reshape(x, flat),
                               op::ScatterMode::add);
}

}  // namespace

ValueRef fft(FftKind kind, const ValueRef& x, int axis, std::int64_t size) {
  const int rank = x->shape.rank() - (kind == FftKind::rfft ? 0 : 1);
  axis = bridge::normalise_axis(axis, rank, op::name_of(kind));
  const auto n = x->shape[axis];
  if (kind == FftKind::irfft) {
    if (size < 1) size = 2 * (n - 1);
    return bridge::fft(kind, size < 1 ? x : resized(x, axis, size / 2 + 1), axis, size);
  }
  if (size < 1) size = n;
  return bridge::fft(kind, resized(x, axis, size), axis, size);
}

ValueRef frequencies(std::int64_t n, double spacing, bool half, DType dtype, const Device& device) {
  if (n < 1 || !(spacing > 0)) {
    throw ArgumentError(
        fmt::format("[fftfreq] of {} points {} apart: needs one point and a distance above 0", n, spacing));
  }
  auto& home = device.entry().backend();
  const auto positive = half ? n / 2 + 1 : (n + 1) / 2;
  auto counts = bridge::iota(home, positive, DType::f64, 0.0, 1.0);
  if (!half) {
    const auto negative = n - positive;
    counts = bridge::cat(
        {counts, bridge::iota(home, negative, DType::f64, -static_cast<double>(negative), 1.0)}, 0);
  }
  return bridge::cast(bridge::binary(op::BinaryKind::div, counts, static_cast<double>(n) * spacing), dtype);
}

ValueRef complex_product(const ValueRef& a, const ValueRef& b) {
  for (const auto& x : {a, b}) {
    if (x->shape.back() != 2) {
      throw ShapeError("[complex_mul] takes complex numbers, whose last axis has extent 2, not " +
                       x->shape.to_string());
    }
  }
  const auto ar = at(a, -1, 0), ai = at(a, -1, 1), br = at(b, -1, 0), bi = at(b, -1, 1);
  return stack({bridge::sub(mul(ar, br), mul(ai, bi)), add(mul(ar, bi), mul(ai, br))}, -1);
}

ValueRef cosine_window(std::span<const double> terms, std::int64_t n, bool periodic, DType dtype,
                       const Device& device) {
  if (n < 1) throw ArgumentError(fmt::format("[window] needs at least one point, not {}", n));
  auto& home = device.entry().backend();
  if (n == 1) return bridge::fill(home, {1}, dtype, 1);
  const double step = 2 * std::numbers::pi / static_cast<double>(periodic ? n : n - 1);
  auto sum = bridge::fill(home, {n}, DType::f64, terms[0]);
  for (std::size_t k = 1; k < terms.size(); ++k) {
    const auto angle = bridge::iota(home, n, DType::f64, 0.0, static_cast<double>(k) * step);
    sum = add(sum, mul(unary(op::UnaryKind::cos, angle), terms[k]));
  }
  return bridge::cast(sum, dtype);
}

ValueRef stft(const ValueRef& x, const ValueRef& window, const Frames& frames) {
  const auto weights = framed(window, x, frames, "stft");
  const int last = x->shape.rank() - 1;
  auto signal = x;
  if (frames.centred) {
    std::vector<Margin> margins(static_cast<std::size_t>(last + 1));
    margins.back() = {frames.size / 2, frames.size / 2};
    signal = pad(x, margins, PadMode::reflect, 0);
  }
  if (signal->shape[last] < frames.size) {
    throw ShapeError(fmt::format("[stft] a frame of {} points does not fit into a signal of {}", frames.size,
                                 signal->shape[last]));
  }
  const auto pieces = mul(bridge::unfold(signal, last, frames.size, frames.hop), weights);
  auto spectrum = frames.onesided ? bridge::fft(FftKind::rfft, pieces, last + 1, frames.size)
                                  : bridge::fft(FftKind::fft, stack({pieces, bridge::zeros_like(pieces)}, -1),
                                                last + 1, frames.size);
  if (frames.normalised) spectrum = mul(spectrum, 1 / std::sqrt(static_cast<double>(frames.size)));
  return bridge::transpose(spectrum, last, last + 1);
}

ValueRef istft(const ValueRef& spectrum, const ValueRef& window, const Frames& frames, std::int64_t length) {
  const auto weights = framed(window, spectrum, frames, "istft");
  const int frequencies = spectrum->shape.rank() - 3;
  const auto wanted = frames.onesided ? frames.size / 2 + 1 : frames.size;
  if (spectrum->shape[frequencies] != wanted || spectrum->shape[frequencies + 1] < 1 ||
      spectrum->shape.back() != 2) {
    throw ShapeError(fmt::format("[istft] takes [.., {}, frames, 2] for frames of {} points, not {}", wanted,
                                 frames.size, spectrum->shape.to_string()));
  }
  const auto turned = bridge::transpose(spectrum, frequencies, frequencies + 1);
  auto pieces = frames.onesided ? bridge::fft(FftKind::irfft, turned, frequencies + 1, frames.size)
                                : at(bridge::fft(FftKind::ifft, turned, frequencies + 1, frames.size), -1, 0);
  if (frames.normalised) pieces = mul(pieces, std::sqrt(static_cast<double>(frames.size)));
  const auto count = pieces->shape[frequencies];
  const auto sum = overlapped(mul(pieces, weights), frames);
  const auto weight = overlapped(bridge::expand(mul(weights, weights), {count, frames.size}), frames);
  const auto total = sum->shape[frequencies], first = frames.centred ? frames.size / 2 : 0;
  const auto covered = total - first, own = frames.centred ? covered - frames.size / 2 : covered;
  const auto kept = std::min(length < 0 ? own : length, covered);
  const auto below = narrow(weight, 0, first, kept);
  if (kept > 0) {
    const auto least =
        into_data(bridge::cast(bridge::reduce_all(op::ReduceKind::min, below), DType::f64)).as<double>()[0];
    if (!(least > 1e-11)) {
      throw ArgumentError(
          fmt::format("[istft] windows {} points apart leave a point with the weight {}; the signal "
                      "cannot be known there",
                      frames.hop, least));
    }
  }
  const auto result = bridge::div(narrow(sum, frequencies, first, kept), below);
  return length > kept ? resized(result, frequencies, length) : result;
}

}  // namespace strata::detail
