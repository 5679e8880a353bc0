// A transform is linear: its gradient is the adjoint transform.
#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using op::FftKind;

/// g times `ends` at frequency 0 and, for even n, n / 2, which stand for themselves in half a spectrum, and
/// times `inside` at the others, which stand for two.
ValueRef weighted(const ValueRef& g, const op::Fft& op, double ends, double inside) {
  const auto half = op.size / 2 + 1;
  std::vector<double> weights(static_cast<std::size_t>(half), inside);
  weights.front() = ends;
  if (op.size % 2 == 0) weights.back() = ends;
  Shape shape = Shape::filled(g->shape.rank() - op.axis, 1);
  shape[0] = half;
  return bridge::mul(g, g->backend.from_data(TensorData::from<double>(weights, shape).convert(g->dtype)));
}

}  // namespace

Saves saves(const op::Fft&, InputSet) { return {}; }

void differentiate(const op::Fft& op, Step& step) {
  // The scale joins in the wide dtype: times n alone a half may overflow.
  const auto dtype = step.gradient()->dtype;
  const auto g = bridge::cast(step.gradient(), bridge::wide(dtype));
  const auto n = static_cast<double>(op.size);
  const auto give = [&](const ValueRef& x) { step.give(0, bridge::cast(x, dtype)); };
  switch (op.kind) {
    case FftKind::fft:
      return give(bridge::mul(bridge::fft(FftKind::ifft, g, op.axis, op.size), n));
    case FftKind::ifft:
      return give(bridge::mul(bridge::fft(FftKind::fft, g, op.axis, op.size), 1 / n));
    case FftKind::rfft:
      return give(bridge::fft(FftKind::irfft, weighted(g, op, n, n / 2), op.axis, op.size));
    case FftKind::irfft:
      return give(weighted(bridge::fft(FftKind::rfft, g, op.axis, op.size), op, 1 / n, 2 / n));
  }
}

}  // namespace strata::autodiff
