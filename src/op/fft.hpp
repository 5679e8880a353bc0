/// Discrete Fourier transforms along one axis. A complex tensor is a float tensor with one more axis, the
/// last, of extent 2: real and imaginary part.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"

namespace strata::op {

/// y[k] = sum_t x[t] exp(-2 pi i k t / n), n = `size` >= 1 of any factors; the inverses have the other sign
/// and are divided by n. `axis` counts without the axis of complex parts.
///   fft, ifft: [.., n, .., 2] -> the same.
///   rfft: [.., n, ..] -> [.., n / 2 + 1, .., 2], the half that determines the rest (y[n - k] is conjugate to
///   y[k]).
///   irfft: [.., n / 2 + 1, .., 2] -> [.., n, ..]; the imaginary parts of y[0] and, for even n, y[n / 2] are
///   not read.
/// Floats, computed in f64 and rounded once.
struct Fft {
  FftKind kind{};
  int axis = 0;
  std::int64_t size = 1;
  bool operator==(const Fft&) const = default;
};

TensorTypes infer(const Fft&, const Site&);

}  // namespace strata::op
