/// Fourier transforms of any length, windows and spectra over time. A complex tensor is a Float tensor whose
/// last axis holds real and imaginary part; `axis` counts without it. Differentiable.
#pragma once

#include "strata/arrange.hpp"
#include "strata/detail/functions.hpp"

namespace strata::inline v0 {

// ---- complex numbers

/// [..] and [..] -> [.., 2].
template <int D>
requires(D < max_rank) Tensor<D + 1> complex(const Tensor<D>& real, const Tensor<D>& imaginary) {
  return stack({real, imaginary}, D);
}
template <int D>
requires(D >= 1) Tensor<D - 1> real(const Tensor<D>& z) { return z.at(-1, 0); }
template <int D>
requires(D >= 1) Tensor<D - 1> imag(const Tensor<D>& z) { return z.at(-1, 1); }
/// The magnitude; its gradient at 0 is 0.
template <int D>
requires(D >= 1) Tensor<D - 1> complex_abs(const Tensor<D>& z) { return real(z).hypot(imag(z)); }
/// In [-pi, pi].
template <int D>
requires(D >= 1) Tensor<D - 1> complex_angle(const Tensor<D>& z) { return imag(z).atan2(real(z)); }
/// The product of complex numbers; leading axes broadcast.
template <int D, int E>
requires(D >= 1 && E >= 1) auto complex_mul(const Tensor<D>& a, const Tensor<E>& b) {
  return Tensor<(D > E ? D : E)>(detail::complex_product(a.value(), b.value()));
}

// ---- transforms. Inverses are divided by the number of points n. With n given, the axis is cut or filled
// with zeros first. Throw ArgumentError for transforms of no points.

/// [.., n, .., 2] -> the same: y[k] = sum_t x[t] exp(-2 pi i k t / n).
template <int D>
requires(D >= 2) Tensor<D> fft(const Tensor<D>& x, int axis = -1, std::int64_t n = 0) {
  return Tensor<D>(detail::fft(op::FftKind::fft, x.value(), axis, n));
}
template <int D>
requires(D >= 2) Tensor<D> ifft(const Tensor<D>& y, int axis = -1, std::int64_t n = 0) {
  return Tensor<D>(detail::fft(op::FftKind::ifft, y.value(), axis, n));
}
/// Of real numbers, the half of the spectrum that says it all: [.., n, ..] -> [.., n / 2 + 1, .., 2].
template <int D>
requires(D >= 1 && D < max_rank) Tensor<D + 1> rfft(const Tensor<D>& x, int axis = -1, std::int64_t n = 0) {
  return Tensor<D + 1>(detail::fft(op::FftKind::rfft, x.value(), axis, n));
}
/// Back to n real numbers; without n to the even number 2 (m - 1) for m frequencies.
template <int D>
requires(D >= 2) Tensor<D - 1> irfft(const Tensor<D>& y, int axis = -1, std::int64_t n = 0) {
  return Tensor<D - 1>(detail::fft(op::FftKind::irfft, y.value(), axis, n));
}

/// The frequencies of `fft` over n points that lie `spacing` apart: 0, 1, ..., -2, -1 over n * spacing.
inline Tensor<1> fftfreq(std::int64_t n, double spacing = 1, const Device& device = Device(),
                         DType dtype = DType::f32) {
  return Tensor<1>(detail::frequencies(n, spacing, false, dtype, device));
}
/// Those of `rfft`: 0, 1, ..., n / 2 over n * spacing.
inline Tensor<1> rfftfreq(std::int64_t n, double spacing = 1, const Device& device = Device(),
                          DType dtype = DType::f32) {
  return Tensor<1>(detail::frequencies(n, spacing, true, dtype, device));
}
/// Moves frequency 0 to the middle of an axis of the tensor, and back.
template <int D, class Kind>
requires(D >= 1) Tensor<D, Kind> fftshift(const Tensor<D, Kind>& x, int axis) {
  return x.roll(x.dim(axis) / 2, axis);
}
template <int D, class Kind>
requires(D >= 1) Tensor<D, Kind> ifftshift(const Tensor<D, Kind>& x, int axis) {
  return x.roll(-(x.dim(axis) / 2), axis);
}

// ---- windows of n >= 1 points. Periodic ones (for spectra) are the first n points of symmetric ones (for
// filters) of n + 1.

inline Tensor<1> hann_window(std::int64_t n, bool periodic = true, const Device& device = Device(),
                             DType dtype = DType::f32) {
  constexpr double terms[] = {0.5, -0.5};
  return Tensor<1>(detail::cosine_window(terms, n, periodic, dtype, device));
}
inline Tensor<1> hamming_window(std::int64_t n, bool periodic = true, const Device& device = Device(),
                                DType dtype = DType::f32) {
  constexpr double terms[] = {0.54, -0.46};
  return Tensor<1>(detail::cosine_window(terms, n, periodic, dtype, device));
}
inline Tensor<1> blackman_window(std::int64_t n, bool periodic = true, const Device& device = Device(),
                                 DType dtype = DType::f32) {
  constexpr double terms[] = {0.42, -0.5, 0.08};
  return Tensor<1>(detail::cosine_window(terms, n, periodic, dtype, device));
}

// ---- spectra over time

struct StftOptions {
  std::int64_t size;            ///< points of a frame
  std::int64_t hop = size / 4;  ///< from one frame to the next
  bool centred = true;          ///< frame k is about point k hop: the signal is mirrored at both ends
  bool onesided = true;         ///< size / 2 + 1 frequencies instead of all `size`
  bool normalised = false;      ///< divided by sqrt(size)
};
/// Spectra of overlapping frames, each times the window ([m], m <= size, with zeros on both sides): [.., n]
/// ->
/// [.., frequencies, frames, 2].
template <int D>
requires(D >= 1 && D + 2 <= max_rank) Tensor<D + 2> stft(const Tensor<D>& x, const Tensor<1>& window,
                                                         const StftOptions& o) {
  return Tensor<D + 2>(
      detail::stft(x.value(), window.value(), {o.size, o.hop, o.centred, o.onesided, o.normalised}));
}
/// The signal of these spectra in the sense of least squares: Griffin and Lim, "Signal estimation from
/// modified short-time Fourier transform", 1984. `length` points, or as many as the frames cover. Throws
/// ArgumentError where the windows leave a point without weight; waits for the window.
template <int D>
requires(D >= 3) Tensor<D - 2> istft(const Tensor<D>& spectrum, const Tensor<1>& window, const StftOptions& o,
                                     std::int64_t length = -1) {
  return Tensor<D - 2>(detail::istft(spectrum.value(), window.value(),
                                     {o.size, o.hop, o.centred, o.onesided, o.normalised}, length));
}

}  // namespace strata::inline v0
