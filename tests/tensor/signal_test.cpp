// Fourier transforms, windows, spectra over time; LU and what follows from it. Values: from their
// definitions, or from NumPy 2 and SciPy 1.17.
#include <complex>
#include <numbers>

#include "tensor/function_fixture.hpp"

namespace strata {
namespace {

using namespace test;
using Complex = std::complex<double>;

class SignalTest : public FunctionFixture {
 protected:
  /// The definition, in O(n^2).
  static std::vector<Complex> transformed(const std::vector<Complex>& x, int sign) {
    const auto n = x.size();
    std::vector<Complex> y(n);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t t = 0; t < n; ++t) {
        const auto turn = static_cast<double>(k * t % n) / static_cast<double>(n);
        y[k] += x[t] * std::polar(1.0, sign * 2 * std::numbers::pi * turn);
      }
      if (sign > 0) y[k] /= static_cast<double>(n);
    }
    return y;
  }
  static std::vector<Complex> complexes(const Tensor<2>& x) {
    const auto v = x.into_data().to_doubles();
    std::vector<Complex> out;
    for (std::size_t i = 0; i < v.size(); i += 2) out.emplace_back(v[i], v[i + 1]);
    return out;
  }
  static void expect_close(const std::vector<Complex>& got, const std::vector<Complex>& wanted,
                           double bound) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(std::abs(got[i] - wanted[i]), bound) << i;
  }
};
STRATA_ON_EVERY_DEVICE(SignalTest);

TEST_P(SignalTest, TransformsOfAnyLengthEqualTheirDefinition) {
  manual_seed(3);
  // Powers of two, small factors, squares of primes, and large primes on both sides of what goes by
  // convolution.
  for (std::int64_t n :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 31, 37, 49, 64, 74, 97, 100, 101, 127, 210, 256, 257, 331}) {
    const auto x = Tensor<2>::random({n, 2}, -1, 1, device(), DType::f64);
    const auto values = complexes(x);
    const double bound = 1e-13 * static_cast<double>(n);
    expect_close(complexes(fft(x)), transformed(values, -1), bound);
    expect_close(complexes(ifft(x)), transformed(values, 1), bound);
    const auto signal = x.at(1, 0);
    auto full = values;
    for (auto& v : full) v.imag(0);
    auto half = transformed(full, -1);
    half.resize(static_cast<std::size_t>(n / 2 + 1));
    const auto spectrum = rfft(signal);
    expect_close(complexes(spectrum), half, bound);
    EXPECT_EQ(spectrum.at(0, 0).at(0, 1).item(), 0);
    EXPECT_TRUE(irfft(spectrum, 0, n).all_close(signal, 0, bound)) << n;
    if (n % 2 == 0) {
      EXPECT_EQ(spectrum.at(0, -1).at(0, 1).item(), 0);
      EXPECT_TRUE(irfft(spectrum).all_close(signal, 0, bound)) << n;
    }
  }
}

TEST_P(SignalTest, LongTransformsComeBack) {
  for (std::int64_t n : {std::int64_t{1} << 16, std::int64_t{65537}, std::int64_t{3} * 5 * 7 * 11 * 13}) {
    const auto x = Tensor<1>::random({n}, -1, 1, device(), DType::f64);
    EXPECT_TRUE(irfft(rfft(x), 0, n).all_close(x, 0, 1e-12)) << n;
    const auto z = complex(x, x.flip({0}));
    EXPECT_TRUE(ifft(fft(z)).all_close(z, 0, 1e-12)) << n;
  }
}

TEST_P(SignalTest, TransformsAlongAnyAxisOfAnyLayout) {
  const auto x = Tensor<3>::random({3, 4, 5}, -1, 1, device());
  for (int axis = 0; axis < 3; ++axis) {
    const auto moved = rfft(x.movedim(axis, 2)).movedim(2, axis);
    EXPECT_TRUE(rfft(x, axis).all_close(moved, 1e-5, 1e-6)) << axis;
    EXPECT_TRUE(irfft(rfft(x, axis), axis, x.dim(axis)).all_close(x, 1e-5, 1e-6)) << axis;
    const auto z = complex(x, x.flip({0, 1, 2}).slice({{.step = -1}}));
    EXPECT_TRUE(ifft(fft(z, axis - 3), axis).all_close(z, 1e-5, 1e-6)) << axis;
  }
  const auto same = Tensor<1>::from({1, -1}, device()).expand<2>({3, 2});
  EXPECT_EQ(floats(rfft(same)), (Floats{0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0}));
  EXPECT_EQ(rfft(Tensor<2>::zeros({0, 6}, device())).shape(), (Shape{0, 4, 2}));
  EXPECT_EQ(irfft(Tensor<3>::zeros({0, 4, 2}, device())).shape(), (Shape{0, 6}));
}

TEST_P(SignalTest, NumberOfPointsCutsOrFills) {
  const auto x = vector({1, 2, 3, 4});
  EXPECT_TRUE(rfft(x, 0, 2).all_close(rfft(vector({1, 2}))));
  EXPECT_TRUE(rfft(x, 0, 6).all_close(rfft(vector({1, 2, 3, 4, 0, 0}))));
  const auto z = complex(x, -x);
  EXPECT_TRUE(fft(z, 0, 3).all_close(fft(z.narrow(0, 0, 3))));
  EXPECT_TRUE(ifft(z, -1, 5).all_close(ifft(z.pad({{0, 1}}))));
  EXPECT_TRUE(irfft(z, 0, 4).all_close(irfft(z.narrow(0, 0, 3), 0, 4)));
  // Imaginary parts that no real signal has are not read.
  EXPECT_EQ(floats(irfft(Tensor<2>::from({{2, 9}, {0, 7}}, device()))), (Floats{1, 1}));
  EXPECT_EQ(floats(irfft(Tensor<2>::from({{2, nan_value}}, device()), 0, 1)), (Floats{2}));
  EXPECT_THROW(rfft(vector({})), ArgumentError);
  EXPECT_THROW(irfft(Tensor<2>::zeros({1, 2}, device())), ArgumentError);  // 0 points
  EXPECT_THROW(fft(Tensor<2>::zeros({2, 3}, device())), ShapeError);
  EXPECT_THROW(rfft(x, 1), ShapeError);
}

TEST_P(SignalTest, HalvesRoundOnce) {
  for (auto dtype : {DType::f16, DType::bf16}) {
    const auto x = Tensor<1>::random({60}, -1, 1, device(), dtype);
    EXPECT_EQ(rfft(x).dtype(), dtype);
    EXPECT_EQ(rfft(x).into_data().to_doubles(),
              rfft(x.cast(DType::f64)).cast(dtype).into_data().to_doubles());
  }
}

TEST_P(SignalTest, ComplexNumbers) {
  const auto a = Tensor<2>::from({{1, 2}, {3, -4}}, device());
  EXPECT_EQ(floats(real(a)), (Floats{1, 3}));
  EXPECT_EQ(floats(imag(a)), (Floats{2, -4}));
  expect_near(complex_abs(a), {2.2360680f, 5});
  expect_near(complex_angle(a), {1.1071487f, -0.9272952f});
  EXPECT_EQ(floats(complex_mul(a, vector({0, 1}))), (Floats{-2, 1, 4, 3}));
  EXPECT_THROW(complex_mul(a, vector({1})), ShapeError);
  // A circular convolution is a product of spectra.
  const auto x = vector({1, 2, 3, 4, 5}), shift = vector({0, 1, 0, 0, 0});
  expect_near(irfft(complex_mul(rfft(x), rfft(shift)), 0, 5), {5, 1, 2, 3, 4});
}

TEST_P(SignalTest, FrequenciesAndTheirOrder) {
  expect_near(fftfreq(4, 0.5, device()), {0, 0.5f, -1, -0.5f});
  expect_near(fftfreq(5, 1, device()), {0, 0.2f, 0.4f, -0.4f, -0.2f});
  expect_near(fftfreq(1, 1, device()), {0});
  expect_near(rfftfreq(4, 0.5, device()), {0, 0.5f, 1});
  expect_near(rfftfreq(5, 1, device()), {0, 0.2f, 0.4f});
  expect_near(fftshift(fftfreq(4, 0.25, device()), 0), {-2, -1, 0, 1});
  expect_near(fftshift(fftfreq(5, 0.2, device()), -1), {-2, -1, 0, 1, 2});
  for (std::int64_t n : {4, 5}) {
    const auto x = Tensor<1>::arange(0, static_cast<double>(n), 1, device());
    EXPECT_EQ(floats(ifftshift(fftshift(x, 0), 0)), floats(x));
  }
  EXPECT_THROW(fftfreq(0, 1, device()), ArgumentError);
  EXPECT_THROW(rfftfreq(3, 0, device()), ArgumentError);
}

TEST_P(SignalTest, Windows) {
  expect_near(hann_window(4, true, device()), {0, 0.5f, 1, 0.5f});
  expect_near(hann_window(5, false, device()), {0, 0.5f, 1, 0.5f, 0});
  expect_near(hamming_window(4, true, device()), {0.08f, 0.54f, 1, 0.54f});
  expect_near(hamming_window(3, false, device()), {0.08f, 1, 0.08f});
  expect_near(blackman_window(4, true, device()), {0, 0.34f, 1, 0.34f});
  expect_near(blackman_window(5, false, device()), {0, 0.34f, 1, 0.34f, 0});
  EXPECT_EQ(floats(hann_window(1, false, device())), (Floats{1}));
  EXPECT_EQ(hann_window(3, true, device(), DType::bf16).dtype(), DType::bf16);
  EXPECT_THROW(hann_window(0, true, device()), ArgumentError);
}

TEST_P(SignalTest, SpectraOverTimeAndBack) {
  const auto x = Tensor<2>::random({2, 50}, -1, 1, device(), DType::f64);
  const auto window = hann_window(8, true, device(), DType::f64);
  const StftOptions o{.size = 8};
  const auto spectrum = stft(x, window, o);
  EXPECT_EQ(spectrum.shape(), (Shape{2, 5, 26, 2}));
  // Frame 3 is about point 6.
  EXPECT_TRUE(spectrum.at(2, 3).all_close(rfft(x.narrow(1, 2, 8) * window), 0, 1e-12));
  EXPECT_TRUE(istft(spectrum, window, o, 50).all_close(x, 0, 1e-12));
  EXPECT_EQ(istft(spectrum, window, o).shape(), (Shape{2, 50}));
  EXPECT_EQ(istft(spectrum, window, o, 20).shape(), (Shape{2, 20}));
  EXPECT_EQ(istft(spectrum, window, o, 60).narrow(1, 54, 6).abs().max().item(), 0);
  StftOptions p{.size = 9, .hop = 3, .centred = false, .onesided = false, .normalised = true};
  const auto short_window = Tensor<1>::ones({6}, device(), DType::f64);
  const auto whole = stft(x, short_window, p);
  EXPECT_EQ(whole.shape(), (Shape{2, 9, 14, 2}));
  const auto padded = short_window.pad({{1, 2}});
  const auto frame = x.narrow(1, 3, 9) * padded / 3;
  EXPECT_TRUE(whole.at(2, 1).all_close(fft(complex(frame, frame * 0)), 0, 1e-12));
  EXPECT_THROW(istft(whole, short_window, p), ArgumentError);  // the first point is under no window
  p.centred = true;
  EXPECT_TRUE(istft(stft(x, short_window, p), short_window, p, 50).all_close(x, 0, 1e-12));
  EXPECT_THROW(stft(x, Tensor<1>::ones({9}, device(), DType::f64), o), ArgumentError);
  EXPECT_THROW(stft(x, window, {.size = 8, .hop = 0}), ArgumentError);
  EXPECT_THROW(stft(x.cast(DType::f32), window, o), DTypeError);
  EXPECT_THROW(stft(x.narrow(1, 0, 5), window, {.size = 8, .centred = false}), ShapeError);
  EXPECT_THROW(istft(spectrum.narrow(1, 0, 4), window, o), ShapeError);
}

class SignalGradientTest : public OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(SignalGradientTest);

TEST_P(SignalGradientTest, AgreeWithDifferences) {
  const auto d = device();
  expect_gradient<1>(d, {5}, [](const auto& x) { return complex_abs(rfft(x, 0, 8)); });
  expect_gradient<2>(d, {4, 2}, [](const auto& z) { return irfft(complex_mul(z, z), 0, 5); });
  expect_gradient<1>(d, {12}, [](const auto& x) {
    return stft(x, hann_window(6, true, x.device(), DType::f64), {.size = 6, .hop = 2});
  });
  expect_gradient<3>(d, {4, 4, 2}, [](const auto& z) {
    return istft(z, hann_window(6, true, z.device(), DType::f64), {.size = 6, .hop = 2}, 9);
  });
  expect_gradient<1>(d, {4}, [](const auto& window) {
    return istft(
        Tensor<1>::linspace(0, 1, 24, window.device(), DType::f64).cos().template reshape<3>({3, 4, 2}),
        window + 2, {.size = 4, .hop = 2});
  });
}

}  // namespace
}  // namespace strata
