#include "flex/fft.hpp"

#include <algorithm>
#include <bit>
#include <complex>
#include <numbers>
#include <thread>
#include <vector>

#include <kissfft/kissfft.hh>

#include "base/convert.hpp"
#include "flex/parallel.hpp"
#include "op/fft.hpp"

namespace strata::flex {
namespace {

using Complex = std::complex<double>;
using op::FftKind;

std::size_t largest_factor(std::size_t n) {
  std::size_t largest = 1;
  for (std::size_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

/// The unscaled transform of n complex points. kissfft multiplies the work by each prime factor of n; past a
/// few dozen a convolution of a length that is a power of two is quicker, and O(n log n) for any n:
/// Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970.
class Transform {
 public:
  Transform(std::size_t n, bool inverse)
      : n_(n), plan_(direct(n) ? n : convolution(n), direct(n) && inverse) {
    if (direct(n)) return;
    const auto m = convolution(n);
    chirp_.resize(n);
    filter_.resize(m);
    padded_.resize(m);
    spectrum_.resize(m);
    for (std::size_t k = 0, square = 0; k < n; ++k) {  // k^2 modulo 2 n: exact, however large k
      const auto angle = std::numbers::pi * static_cast<double>(square) / static_cast<double>(n);
      chirp_[k] = std::polar(1.0, inverse ? angle : -angle);
      square = (square + 2 * k + 1) % (2 * n);
    }
    for (std::size_t k = 0; k < n; ++k) padded_[k] = padded_[(m - k) % m] = std::conj(chirp_[k]);
    plan_.transform(padded_.data(), filter_.data());
    for (auto& f : filter_) f /= static_cast<double>(m);
  }

  void run(const Complex* in, Complex* out) {
    if (chirp_.empty()) return plan_.transform(in, out);
    std::fill(padded_.begin(), padded_.end(), Complex{});
    for (std::size_t k = 0; k < n_; ++k) padded_[k] = in[k] * chirp_[k];
    plan_.transform(padded_.data(), spectrum_.data());
    // The inverse transform is the conjugate of that of the conjugate.
    for (std::size_t k = 0; k < filter_.size(); ++k) padded_[k] = std::conj(spectrum_[k] * filter_[k]);
    plan_.transform(padded_.data(), spectrum_.data());
    for (std::size_t k = 0; k < n_; ++k) out[k] = std::conj(spectrum_[k]) * chirp_[k];
  }

 private:
  static bool direct(std::size_t n) { return largest_factor(n) <= 32; }
  static std::size_t convolution(std::size_t n) { return std::bit_ceil(2 * n - 1); }

  const std::size_t n_;
  const kissfft<double> plan_;
  std::vector<Complex> chirp_, filter_, padded_, spectrum_;
};

/// Transforms of single lines with memory of their own, so that each thread may have one. Real lines of even
/// length go through a complex transform of half as many points: the even ones real, the odd ones imaginary.
class Line {
 public:
  Line(FftKind kind, std::size_t n)
      : kind_(kind),
        n_(n),
        halved_((kind == FftKind::rfft || kind == FftKind::irfft) && n % 2 == 0),
        points_(halved_ ? n / 2 : n),
        transform_(points_, kind == FftKind::ifft || kind == FftKind::irfft),
        in_(points_ + 1),
        out_(points_ + 1) {
    if (!halved_) return;
    for (std::size_t k = 0; k < points_; ++k) {
      twiddles_.push_back(
          std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
    }
  }

  template <class T>
  void run(const T* x, T* y) {
    switch (kind_) {
      case FftKind::fft:
      case FftKind::ifft:
        load_complex(x, n_);
        transform_.run(in_.data(), out_.data());
        return store_complex(y, n_, kind_ == FftKind::fft ? 1 : 1 / static_cast<double>(n_));
      case FftKind::rfft:
        halved_ ? load_complex(x, points_) : load_real(x);
        transform_.run(in_.data(), out_.data());
        if (halved_) untangle();
        out_[0].imag(0);
        return store_complex(y, n_ / 2 + 1, 1);
      case FftKind::irfft:
        load_complex(x, n_ / 2 + 1);
        in_[0].imag(0);
        halved_ ? tangle() : mirror();
        transform_.run(in_.data(), out_.data());
        return halved_ ? store_complex(y, points_, 1 / static_cast<double>(n_)) : store_real(y);
    }
  }

 private:
  template <class T>
  void load_complex(const T* x, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      in_[k] = {base::convert<double>(x[2 * k]), base::convert<double>(x[2 * k + 1])};
  }
  template <class T>
  void load_real(const T* x) {
    for (std::size_t k = 0; k < n_; ++k) in_[k] = base::convert<double>(x[k]);
  }
  template <class T>
  void store_complex(T* y, std::size_t count, double scale) const {
    for (std::size_t k = 0; k < count; ++k) {
      y[2 * k] = base::convert<T>(out_[k].real() * scale);
      y[2 * k + 1] = base::convert<T>(out_[k].imag() * scale);
    }
  }
  template <class T>
  void store_real(T* y) const {
    for (std::size_t k = 0; k < n_; ++k) y[k] = base::convert<T>(out_[k].real() / static_cast<double>(n_));
  }

  /// The spectrum of n real points from that of n / 2 complex ones.
  void untangle() {
    const auto h = points_;
    const auto first = out_[0];
    out_[0] = first.real() + first.imag();
    out_[h] = first.real() - first.imag();
    for (std::size_t k = 1; 2 * k <= h; ++k) {
      const auto a = out_[k], b = std::conj(out_[h - k]);
      const auto even = (a + b) * 0.5, odd = (a - b) * twiddles_[k] * Complex(0, -0.5);
      out_[k] = even + odd;
      out_[h - k] = std::conj(even - odd);
    }
  }
  /// The inverse of `untangle`, times 2.
  void tangle() {
    const auto h = points_;
    const double first = in_[0].real(), last = in_[h].real();
    in_[0] = {first + last, first - last};
    for (std::size_t k = 1; 2 * k <= h; ++k) {
      const auto a = in_[k], b = std::conj(in_[h - k]);
      const auto even = a + b, odd = (a - b) * std::conj(twiddles_[k]) * Complex(0, 1);
      in_[k] = even + odd;
      in_[h - k] = std::conj(even - odd);
    }
  }
  /// The other half of the spectrum of an odd number of real points.
  void mirror() {
    for (std::size_t k = 1; 2 * k < n_; ++k) in_[n_ - k] = std::conj(in_[k]);
  }

  const FftKind kind_;
  const std::size_t n_;
  const bool halved_;
  const std::size_t points_;
  Transform transform_;
  std::vector<Complex> in_, out_, twiddles_;
};

/// 0 .. rank - 1 with `from` moved to `to`.
Axes moved(int rank, int from, int to) {
  std::vector<std::int64_t> order;
  for (int i = 0; i < rank; ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(order.begin() + to, from);
  return Axes(std::span<const std::int64_t>(order));
}

/// x with `axis` last, but for the axis of complex parts, and everything dense.
FlexRef lines_of(const FlexValue& x, int axis, bool is_complex, std::string_view op) {
  const int rank = x.shape.rank(), last = rank - (is_complex ? 2 : 1);
  if (axis == last) return contiguous(x, op);
  return contiguous(*FlexValue::view_of(x, op::permuted(x.view(), {moved(rank, axis, last)})), op);
}

template <class T>
void transform(const op::Fft& op, const T* x, T* y, std::int64_t lines, std::int64_t in, std::int64_t out) {
  const auto n = static_cast<std::size_t>(op.size);
  const auto bytes = lines * op.size * static_cast<std::int64_t>(sizeof(Complex));
  const auto threads = static_cast<std::int64_t>(std::max(std::thread::hardware_concurrency(), 1u));
  const auto workers = bytes < parallel_bytes ? 1 : std::min(lines, threads);
  std::vector<Line> own;  // made here: making one may run out of memory, which no parallel loop may
  own.reserve(static_cast<std::size_t>(workers));
  own.emplace_back(op.kind, n);
  while (own.size() < static_cast<std::size_t>(workers)) own.push_back(own.front());
  parallel(workers, 1, bytes, [&](std::int64_t begin, std::int64_t end) {
    for (auto worker = begin; worker < end; ++worker) {
      for (auto i = lines * worker / workers; i < lines * (worker + 1) / workers; ++i)
        own[static_cast<std::size_t>(worker)].run(x + i * in, y + i * out);
    }
  });
}

}  // namespace

FlexRef run(const op::Fft& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  const bool from_complex = op.kind != FftKind::rfft, to_complex = op.kind != FftKind::irfft;
  const auto name = name_of(op.kind);
  const auto source = lines_of(x, op.axis, from_complex, name);
  const int rank = type.shape.rank(), last = rank - (to_complex ? 2 : 1);
  const auto order = moved(rank, op.axis, last);
  op::TensorType dense{type.dtype, {}};
  for (auto axis : order) dense.shape.push_back(type.shape[static_cast<int>(axis)]);
  auto result = FlexValue::make(x.backend, dense, name);
  if (result->size() > 0) {
    const auto out = type.shape[op.axis] * (to_complex ? 2 : 1),
               in = x.shape[op.axis] * (from_complex ? 2 : 1);
    visit_dtype(x.dtype, [&]<class T>() {
      if constexpr (is_float(dtype_of<T>()))
        transform(op, source->as<T>(), result->as<T>(), result->size() / out, in, out);
    });
  }
  return op.axis == last
             ? result
             : FlexValue::view_of(*result, op::permuted(result->view(), {moved(rank, last, op.axis)}));
}

}  // namespace strata::flex
