#include "op/loss.hpp"

#include <fmt/format.h>

namespace strata::op {
namespace {

void require_integers(const Site& site, std::size_t input, std::string_view what) {
  const auto t = site.inputs[input].dtype;
  if (t == DType::i64 || t == DType::i32) return;
  dtype_error(site, fmt::format("{} must be i64 or i32, not {}", what, name_of(t)));
}
void require_type(const Site& site, std::size_t input, std::string_view what, const TensorType& wanted) {
  const auto& got = site.inputs[input];
  if (got.dtype != wanted.dtype) {
    dtype_error(site, fmt::format("{} is {} where {} is needed; cast it", what, name_of(got.dtype),
                                  name_of(wanted.dtype)));
  }
  if (got.shape != wanted.shape) {
    shape_error(site, fmt::format("{} has shape {} where {} is needed", what, got.shape.to_string(),
                                  wanted.shape.to_string()));
  }
}

/// Of cross entropy; `weights` is the position of that input. Returns the type of a loss of each row.
TensorType require_rows(const Site& site, double label_smoothing, std::size_t weights) {
  const auto& logits = site.inputs[0];
  if (!is_float(logits.dtype)) dtype_error(site, "takes floats");
  require_integers(site, 1, "the target");
  if (!(label_smoothing >= 0 && label_smoothing <= 1)) {
    argument_error(site, fmt::format("label_smoothing {} must lie in [0, 1]", label_smoothing));
  }
  if (logits.shape.rank() == 0) shape_error(site, "needs an axis of classes");
  TensorType rows{logits.dtype, {}};
  for (int i = 0; i < logits.shape.rank() - 1; ++i) rows.shape.push_back(logits.shape[i]);
  if (site.inputs[1].shape != rows.shape) {
    shape_error(
        site, fmt::format("the target has shape {} where logits {} need {}", site.inputs[1].shape.to_string(),
                          logits.shape.to_string(), rows.shape.to_string()));
  }
  if (site.inputs.size() > weights) {
    require_type(site, weights, "the weight", {logits.dtype, {logits.shape.back()}});
  }
  return rows;
}

void require_sequences(const Site& site, std::int64_t blank) {
  const auto& log_probs = site.inputs[0];
  if (!is_float(log_probs.dtype)) dtype_error(site, "takes floats");
  if (log_probs.shape.rank() != 3) shape_error(site, "log_probs must be [time, batch, classes]");
  const auto batch = log_probs.shape[1], classes = log_probs.shape[2];
  constexpr std::string_view names[] = {"", "targets", "input_lengths", "target_lengths"};
  for (std::size_t i = 1; i < 4; ++i) {
    require_integers(site, i, names[i]);
    const auto& shape = site.inputs[i].shape;
    if (shape.rank() != (i == 1 ? 2 : 1) || shape[0] != batch) {
      shape_error(site, fmt::format("{} {} must be [{}{}]", names[i], shape.to_string(), batch,
                                    i == 1 ? ", longest target" : ""));
    }
  }
  if (blank < 0 || blank >= classes) {
    argument_error(site, fmt::format("blank {} is not one of {} classes", blank, classes));
  }
}

}  // namespace

TensorTypes infer(const CrossEntropy& op, const Site& site) {
  const auto rows = require_rows(site, op.label_smoothing, 2);
  TensorTypes types(rows);
  types.push_back({wide(rows.dtype), rows.shape});
  return types;
}

TensorTypes infer(const CrossEntropyGradient& op, const Site& site) {
  const auto rows = require_rows(site, op.label_smoothing, 4);
  require_type(site, 2, "log_sum", {wide(rows.dtype), rows.shape});
  require_type(site, 3, "the gradient", rows);
  return TensorTypes(site.inputs[0]);
}

TensorTypes infer(const Ctc& op, const Site& site) {
  require_sequences(site, op.blank);
  return TensorTypes(TensorType{site.inputs[0].dtype, {site.inputs[0].shape[1]}});
}

TensorTypes infer(const CtcGradient& op, const Site& site) {
  require_sequences(site, op.blank);
  return TensorTypes(site.inputs[0]);
}

}  // namespace strata::op
