/// Decompositions and solutions of dense matrices, the last two axes of each operand; leading axes are a
/// batch.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"

namespace strata::op {

/// cholesky: [.., n, n] -> lower L with A = L L^T; the lower triangle of A is read.
/// solve: A [.., n, n], B [.., n, k] -> X with A X = B.     inverse: [.., n, n].     determinant: [.., n, n]
/// -> [..]. qr: [.., m, n] -> Q [.., m, k], R [.., k, n], k = min(m, n). svd: [.., m, n] -> U [.., m, k], S
/// [.., k] descending, V^T [.., k, n]. eigh: symmetric [.., n, n] (lower triangle) -> eigenvalues [.., n]
/// ascending, eigenvectors [.., n, n] in columns. lu: [.., m, n] -> L below the diagonal (its ones are left
/// out) and U on and above it [.., m, n], and the i64 order of rows [.., m] for which A[order] = L U.
/// slogdet: [.., n, n] -> sign [..] and log |det A| [..], 0 and -infinity where singular. Floats; halves are
/// computed in f32. A matrix that is singular (solve, inverse), not positive definite (cholesky), holds NaN
/// or whose iteration does not converge (svd, eigh) is a MatrixError.
struct Linalg {
  LinalgKind kind{};
  bool operator==(const Linalg&) const = default;
};

TensorTypes infer(const Linalg&, const Site&);

}  // namespace strata::op
