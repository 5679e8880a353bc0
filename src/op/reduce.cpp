#include "op/reduce.hpp"

#include <fmt/format.h>

namespace strata::op {

std::string_view name_of(ReduceKind k) {
  constexpr std::string_view names[] = {"sum", "mean", "prod", "max", "min"};
  return names[static_cast<int>(k)];
}

TensorTypes infer(const Reduce& op, const Site& site) {
  const auto& in = site.inputs[0];
  const bool orders = op.kind == ReduceKind::max || op.kind == ReduceKind::min;
  if (in.dtype == DType::boolean && !orders) {
    dtype_error(site, "is not defined for bool; cast to an integer type first");
  }
  bool empty_axis = false;
  std::int64_t last = -1;
  for (auto axis : op.axes) {
    if (axis <= last || axis >= in.shape.rank()) {
      shape_error(site, fmt::format("axes {} are not ascending axes of a rank {} tensor", op.axes.to_string(),
                                    in.shape.rank()));
    }
    last = axis;
    empty_axis |= in.shape[static_cast<int>(axis)] == 0;
  }
  if (empty_axis && (orders || (op.kind == ReduceKind::mean && is_int(in.dtype)))) {
    shape_error(site, fmt::format("over an empty axis (axes {} of {}) has no value", op.axes.to_string(),
                                  in.shape.to_string()));
  }
  TensorType out{in.dtype, {}};
  for (int i = 0; i < in.shape.rank(); ++i) {
    if (!op.axes.contains(i)) {
      out.shape.push_back(in.shape[i]);
    } else if (op.keep_dims) {
      out.shape.push_back(1);
    }
  }
  return TensorTypes(out);
}

}  // namespace strata::op
