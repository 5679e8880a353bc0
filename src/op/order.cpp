#include "op/order.hpp"

#include <fmt/format.h>

namespace strata::op {

std::string_view name_of(ExtremumKind k) { return k == ExtremumKind::max ? "max" : "min"; }
std::string_view name_of(CumulativeKind k) {
  constexpr std::string_view names[] = {"sum", "prod", "max", "min"};
  return names[static_cast<int>(k)];
}

TensorTypes infer(const ArgReduce& op, const Site& site) {
  const auto& in = site.inputs[0];
  require_axis(site, op.axis);
  if (in.shape[op.axis] == 0) {
    shape_error(
        site, fmt::format("over an empty axis (axis {} of {}) has no value", op.axis, in.shape.to_string()));
  }
  TensorType out{DType::i64, {}};
  for (int i = 0; i < in.shape.rank(); ++i) {
    if (i != op.axis) {
      out.shape.push_back(in.shape[i]);
    } else if (op.keep_dims) {
      out.shape.push_back(1);
    }
  }
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const ArgSort& op, const Site& site) {
  require_axis(site, op.axis);
  TensorType out{DType::i64, site.inputs[0].shape};
  if (op.count >= 0) {
    if (op.count > out.shape[op.axis]) {
      shape_error(site, fmt::format("cannot take {} elements of axis {}, which has {}", op.count, op.axis,
                                    out.shape[op.axis]));
    }
    out.shape[op.axis] = op.count;
  }
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Cumulative& op, const Site& site) {
  require_axis(site, op.axis);
  if (site.inputs[0].dtype == DType::boolean) {
    dtype_error(site, "is not defined for bool; cast to an integer type first");
  }
  return TensorTypes(site.inputs[0]);
}

}  // namespace strata::op
