#include "op/attention.hpp"

#include <cmath>

#include <fmt/format.h>

namespace strata::op {
namespace {

void require_dtype(const Site& site, std::size_t input, std::string_view what, DType wanted) {
  if (site.inputs[input].dtype == wanted) return;
  dtype_error(site, fmt::format("{} is {} where {} is needed; cast it", what,
                                name_of(site.inputs[input].dtype), name_of(wanted)));
}
void require_shape(const Site& site, std::size_t input, std::string_view what, const Shape& wanted) {
  if (site.inputs[input].shape == wanted) return;
  shape_error(site, fmt::format("{} has shape {} where {} is needed", what,
                                site.inputs[input].shape.to_string(), wanted.to_string()));
}

/// Throws unless q, k, v and the mask fit; inputs from `count` on are not looked at.
void require_operands(const Site& site, std::size_t count, double scale) {
  const auto &q = site.inputs[0], &k = site.inputs[1], &v = site.inputs[2];
  if (!is_float(q.dtype)) dtype_error(site, "takes floats");
  require_dtype(site, 1, "k", q.dtype);
  require_dtype(site, 2, "v", q.dtype);
  if (!std::isfinite(scale)) argument_error(site, fmt::format("scale {} must be finite", scale));
  bool fits = q.shape.rank() == 4 && k.shape.rank() == 4 && v.shape.rank() == 4;
  fits = fits && k.shape[0] == q.shape[0] && v.shape[0] == q.shape[0] && k.shape[3] == q.shape[3] &&
         v.shape[1] == k.shape[1] && v.shape[2] == k.shape[2];
  fits = fits && (k.shape[1] == 0 ? q.shape[1] == 0 : q.shape[1] % k.shape[1] == 0);
  if (!fits) {
    shape_error(site,
                fmt::format("q {}, k {} and v {} do not fit: they must be [batch, heads, m, d], [batch, "
                            "groups, n, d] and [batch, groups, n, e] with groups dividing heads",
                            q.shape.to_string(), k.shape.to_string(), v.shape.to_string()));
  }
  if (count < 4) return;
  const auto& mask = site.inputs[3];
  if (mask.dtype != DType::boolean && mask.dtype != q.dtype) {
    dtype_error(site,
                fmt::format("the mask must be bool or {}, not {}", name_of(q.dtype), name_of(mask.dtype)));
  }
  const Shape scores{q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
  bool broadcasts = mask.shape.rank() <= 4;
  for (int i = 1; broadcasts && i <= mask.shape.rank(); ++i) {
    const auto extent = mask.shape[mask.shape.rank() - i];
    broadcasts = extent == 1 || extent == scores[4 - i];
  }
  if (!broadcasts) {
    shape_error(site, fmt::format("the mask {} does not broadcast to {}", mask.shape.to_string(),
                                  scores.to_string()));
  }
}

}  // namespace

TensorTypes infer(const Attention& op, const Site& site) {
  require_operands(site, site.inputs.size(), op.scale);
  const auto &q = site.inputs[0], &v = site.inputs[2];
  const TensorType out{q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}};
  check_size(site, out);
  TensorTypes types(out);
  types.push_back({wide(q.dtype), {q.shape[0], q.shape[1], q.shape[2]}});
  return types;
}

TensorTypes infer(const AttentionGradient& op, const Site& site) {
  const auto first = site.inputs.size() - 3;  // of what follows the operands of Attention
  require_operands(site, first, op.scale);
  const auto &q = site.inputs[0], &v = site.inputs[2];
  const Shape rows{q.shape[0], q.shape[1], q.shape[2]};
  require_dtype(site, first, "log_sum", wide(q.dtype));
  require_shape(site, first, "log_sum", rows);
  require_dtype(site, first + 1, "the gradient", q.dtype);
  require_shape(site, first + 1, "the gradient", {rows[0], rows[1], rows[2], v.shape[3]});
  require_dtype(site, first + 2, "delta", wide(q.dtype));
  require_shape(site, first + 2, "delta", rows);
  TensorTypes types(q);
  types.push_back(site.inputs[1]);
  types.push_back(v);
  return types;
}

}  // namespace strata::op
