/// oneDNN's matrix product behind a cache of primitives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strata/dtype.hpp"

namespace strata::flex {

/// batch x [rows, columns]; each matrix is dense along one of its axes. A batch stride of 0 repeats the
/// matrix.
struct MatrixBatch {
  const std::byte* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0, batch_stride = 0;  // in elements
  bool operator==(const MatrixBatch&) const = default;
};

/// out[i] = a[i] x b[i] for `batch` products, `out` contiguous; `dtype` is f32 or bf16. False when oneDNN has
/// no implementation for the dtype on this processor. Throws dnnl's status as RuntimeError.
bool onednn_matmul(DType dtype, std::int64_t batch, const MatrixBatch& a, const MatrixBatch& b,
                   std::byte* out);

}  // namespace strata::flex
