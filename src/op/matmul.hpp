/// Matrix product.
#pragma once

#include "op/common.hpp"
#include "strata/precision.hpp"

namespace strata::op {

/// [..., m, k] x [..., k, n] -> [..., m, n]; leading axes broadcast as in NumPy. Both operands have rank >= 2
/// and one dtype, float or int. Halves accumulate in f32 and round once; integers wrap. `precision` is for
/// f32.
struct Matmul {
  Precision precision = Precision::exact;
  bool operator==(const Matmul&) const = default;
};

TensorTypes infer(const Matmul&, const Site&);

}  // namespace strata::op
