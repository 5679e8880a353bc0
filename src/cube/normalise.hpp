/// Softmax and norms over rows on a device of many units: the units of a row hold it in registers, so that it
/// is read once and written once. Where that is not possible they are written with simpler families
/// (bridge/expand.hpp).
#pragma once

#include "cube/cube_backend.hpp"

namespace strata::cube {

/// Whether `execute_rows` computes this operation on an input of type `x`; false for other families too.
bool has_row_kernel(const Target& target, const op::Operation& op, const op::TensorType& x);
/// A Softmax over the last axis, or a Norm.
backend::Values execute_rows(CubeBackend& backend, const op::Operation& op, backend::Inputs inputs);

/// All that decides the code of a row kernel.
struct RowForm {
  enum class Kind : std::uint8_t { softmax, log_softmax, layer_norm, rms_norm };
  Kind kind{};
  DType dtype{};
  int parameters = 0;   ///< of a norm: weight, bias
  int lanes = 1;        ///< of one access
  int vectors = 1;      ///< a unit holds
  int units_x = 1;      ///< share a row
  int units_y = 1;      ///< rows of a cube
  bool aligned = true;  ///< every vector begins at a multiple of its length
  bool full = true;     ///< the units' vectors are exactly a row
};
RowForm plan_rows(const Target& target, const op::Operation& op, const op::TensorType& x, int parameters);
/// Buffers: out, x, then the parameters. Scalars: rows, columns, eps (bits of an f64), offsets of the inputs.
kernel::Kernel build_rows(const RowForm& form);

}  // namespace strata::cube
