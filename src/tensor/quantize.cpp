#include "bridge/bridge.hpp"
#include "strata/detail/ops.hpp"

namespace strata::detail {

QuantizationRange quantization_range(const ValueRef& x, std::optional<int> axis, bool symmetric) {
  const int rank = x->shape.rank();
  Axes axes;
  for (int i = 0; i < rank; ++i) {
    if (!axis || i != (*axis < 0 ? *axis + rank : *axis)) axes.push_back(i);
  }
  const auto extremum = [&](op::ReduceKind reduction, op::BinaryKind with) {
    return bridge::binary(with, bridge::reduce(reduction, x, axes, true), 0.0);
  };
  const auto low = extremum(op::ReduceKind::min, op::BinaryKind::min),
             high = extremum(op::ReduceKind::max, op::BinaryKind::max);
  const double levels = symmetric ? 127 : 255;
  const auto span = symmetric
                        ? bridge::binary(op::BinaryKind::max, bridge::unary(op::UnaryKind::neg, low), high)
                        : bridge::sub(high, low);
  // All zeros: any scale does.
  const auto scale = bridge::where(bridge::compare(op::CompareKind::equal, span, 0.0),
                                   bridge::fill(x->backend, span->shape, x->dtype, 1),
                                   bridge::binary(op::BinaryKind::div, span, levels));
  const auto zero =
      symmetric ? bridge::fill(x->backend, span->shape, DType::u8, 128)
                : bridge::cast(bridge::unary(op::UnaryKind::round,
                                             bridge::unary(op::UnaryKind::neg,
                                                           bridge::binary(op::BinaryKind::div, low, scale))),
                               DType::u8);
  return {scale, zero};
}

}  // namespace strata::detail
