/// NumPy's .npy files (format versions 1 to 3; NEP 1).
#pragma once

#include <string>

#include "strata/tensor_data.hpp"

namespace strata::inline v0 {

/// Little-endian f2, f4, f8, i4, i8, u1 and bool arrays in C or Fortran order.
/// Throws IoError when the file cannot be read, ArgumentError when it is malformed or of another type.
STRATA_API TensorData load_npy(const std::string& path);
/// Throws IoError when the file cannot be written, DTypeError for bf16, which the format has no name for.
STRATA_API void save_npy(const std::string& path, const TensorData& data);

}  // namespace strata::inline v0
