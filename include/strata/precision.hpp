/// How precisely matrix products of f32 are computed.
#pragma once

#include <cstdint>
#include <string_view>

#include "strata/config.hpp"

namespace strata::inline v0 {

/// What a product of f32 may cost in accuracy. Errors are relative to the sum of |a| |b| over the k terms of
/// an element. A device without units for tf32 or bf16, and kernels for few rows or little work, compute
/// exactly whatever is asked; products of other dtypes never depend on it.
enum class Precision : std::uint8_t {
  /// f32 multiplications and additions: at most k 2^-24.
  exact,
  /// Operands rounded to 10 bits of mantissa (nearest, ties away from zero), sums in f32: at most
  /// 2^-10 + (k + 2) 2^-23. Magnitudes from 2^128 (1 - 2^-12) on round to infinity, those below 2^-126 may
  /// count as 0.
  tf32,
  /// Each operand as the sum of three bf16, of whose nine products the six largest are added, small ones
  /// first (Henry, Tang, Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for
  /// higher-precision computations", 2019): at most 2^-18 + k 2^-28, in practice the error of `exact`.
  ///
  /// Pieces below 2^-126 may count as 0, which shows in operands below 2^-102.
  /// Infinities, and magnitudes from 2^128 (1 - 2^-9) on, make NaN of the
  /// elements that they enter.
  split,
};

/// "exact", "tf32", "split".
STRATA_API std::string_view name_of(Precision precision);

/// While it lives, products of f32 that its thread asks for have this precision: matmul and what is made of
/// it (linear, einsum, tensordot ...). Scopes nest; one ends on the thread it began on. A gradient is
/// computed as its product was, whatever holds where `backward()` is called.
///
///     const MatmulPrecision scope(Precision::tf32);
///     const auto y = x.matmul(w);
class STRATA_API MatmulPrecision {
 public:
  explicit MatmulPrecision(Precision precision) noexcept;
  ~MatmulPrecision();
  MatmulPrecision(const MatmulPrecision&) = delete;
  MatmulPrecision& operator=(const MatmulPrecision&) = delete;
  /// Of this thread: `exact` outside all scopes.
  static Precision current() noexcept;

 private:
  const Precision outer_;
};

}  // namespace strata::inline v0
