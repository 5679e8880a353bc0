/// Element-wise families. Binary, Compare and Where broadcast; operands of one op share a dtype.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"

namespace strata::op {

struct Unary {
  UnaryKind kind{};
  bool operator==(const Unary&) const = default;
};
struct Binary {
  BinaryKind kind{};
  bool operator==(const Binary&) const = default;
};
struct Compare {
  CompareKind kind{};
  bool operator==(const Compare&) const = default;
};
/// inputs: condition (bool), if_true, if_false (equal dtypes); all three broadcast.
struct Where {
  bool operator==(const Where&) const = default;
};
/// Float to integer truncates and saturates, NaN becomes 0; non-zero is true; integers wrap.
struct Cast {
  DType dtype{};
  bool operator==(const Cast&) const = default;
};

TensorTypes infer(const Unary&, const Site&);
TensorTypes infer(const Binary&, const Site&);
TensorTypes infer(const Compare&, const Site&);
TensorTypes infer(const Where&, const Site&);
TensorTypes infer(const Cast&, const Site&);

}  // namespace strata::op
