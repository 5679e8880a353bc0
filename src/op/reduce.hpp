/// Reductions over a set of axes.
#pragma once

#include "op/common.hpp"

namespace strata::op {

/// sum, mean, prod: float and int; the result keeps the dtype. Halves accumulate in f32 and round once, f32 sums are
/// split so that the error stays near that of pairwise summation, integers wrap; integer mean floors.
/// max, min: float, int and bool (bool: any / all); NaN wins.
/// Over an empty axis: sum 0, prod 1, float mean NaN; integer mean, max and min are errors.
enum class ReduceKind : std::uint8_t { sum, mean, prod, max, min };
inline constexpr int reduce_count = 5;
std::string_view name_of(ReduceKind);

struct Reduce {
  ReduceKind kind{};
  Axes axes;               ///< ascending, distinct; empty: nothing is reduced
  bool keep_dims = false;  ///< reduced axes stay with extent 1
  bool operator==(const Reduce&) const = default;
};

TensorTypes infer(const Reduce&, const Site&);

}  // namespace strata::op
