#include "op/fft.hpp"

#include <fmt/format.h>

namespace strata::op {

std::string_view name_of(FftKind k) {
  constexpr std::string_view names[] = {"fft", "ifft", "rfft", "irfft"};
  return names[static_cast<int>(k)];
}

TensorTypes infer(const Fft& op, const Site& site) {
  const auto& in = site.inputs[0];
  if (!is_float(in.dtype)) dtype_error(site, "takes floats");
  if (op.size < 1) argument_error(site, fmt::format("needs at least one point, not {}", op.size));
  TensorType out{in.dtype, in.shape};
  if (op.kind != FftKind::rfft) {
    if (in.shape.empty() || in.shape.back() != 2) {
      shape_error(site, "takes complex numbers: the last axis holds real and imaginary part");
    }
    out.shape = Shape(std::span(in.shape.begin(), in.shape.size() - 1));
  }
  if (op.axis < 0 || op.axis >= out.shape.rank()) {
    shape_error(site, fmt::format("axis {} is not an axis of {}", op.axis, out.shape.to_string()));
  }
  const auto half = op.size / 2 + 1, points = op.kind == FftKind::irfft ? half : op.size;
  if (in.shape[op.axis] != points) {
    shape_error(site, fmt::format("of {} points needs {} entries on axis {}, not {}", op.size, points,
                                  op.axis, in.shape[op.axis]));
  }
  if (op.kind == FftKind::rfft) out.shape[op.axis] = half;
  if (op.kind == FftKind::irfft) out.shape[op.axis] = op.size;
  if (op.kind != FftKind::irfft) {
    if (out.shape.rank() == max_rank) {
      shape_error(site,
                  fmt::format("has no room for an axis of complex parts beside {}", in.shape.to_string()));
    }
    out.shape.push_back(2);
  }
  check_size(site, out);
  return TensorTypes(out);
}

}  // namespace strata::op
