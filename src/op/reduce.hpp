/// Reductions over a set of axes.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"

namespace strata::op {

struct Reduce {
  ReduceKind kind{};
  Axes axes;               ///< ascending, distinct; empty: nothing is reduced
  bool keep_dims = false;  ///< reduced axes stay with extent 1
  bool operator==(const Reduce&) const = default;
};

TensorTypes infer(const Reduce&, const Site&);

}  // namespace strata::op
