#include "op/normalise.hpp"

#include <fmt/format.h>

namespace strata::op {

std::string_view name_of(NormKind k) { return k == NormKind::layer ? "layer_norm" : "rms_norm"; }

TensorTypes infer(const Softmax& op, const Site& site) {
  require_axis(site, op.axis);
  if (!is_float(site.inputs[0].dtype)) dtype_error(site, "takes floats");
  return TensorTypes(site.inputs[0]);
}

TensorTypes infer(const Norm& op, const Site& site) {
  const auto& x = site.inputs[0];
  if (!is_float(x.dtype)) dtype_error(site, "takes floats");
  if (x.shape.rank() == 0) shape_error(site, "needs an axis to normalise over");
  if (!(op.eps >= 0)) argument_error(site, fmt::format("eps {} must not be negative", op.eps));
  for (const auto& parameter : site.inputs.subspan(1)) {
    if (parameter.dtype != x.dtype) {
      dtype_error(site, fmt::format("x is {} but a parameter {}; cast one of them", name_of(x.dtype),
                                    name_of(parameter.dtype)));
    }
    if (parameter.shape != Shape{x.shape.back()}) {
      shape_error(site, fmt::format("a parameter has shape {} where [{}] is needed",
                                    parameter.shape.to_string(), x.shape.back()));
    }
  }
  return TensorTypes(x);
}

}  // namespace strata::op
