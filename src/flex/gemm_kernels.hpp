/// A register-blocked product for the types oneDNN does not take.
#pragma once

#include <cstdint>

namespace strata::flex {

/// One matrix, any strides (in elements).
template <class T>
struct StridedMatrix {
  const T* data;
  std::int64_t rows, columns, row_stride, column_stride;
};

/// c = a x b, `c` row-major and contiguous; T is double, std::int64_t or std::int32_t (integers wrap).
/// `packed` holds packed_size<T>(b.rows, b.columns) elements of scratch. Threads split the rows.
template <class T>
void gemm(const StridedMatrix<T>& a, const StridedMatrix<T>& b, T* c, T* packed) noexcept;
template <class T>
std::int64_t packed_size(std::int64_t rows, std::int64_t columns) noexcept;

}  // namespace strata::flex
