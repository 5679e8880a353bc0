/// Numbers that the host computes for an operation, such as index lists.
#pragma once

#include <vector>

#include "bridge/bridge.hpp"
#include "strata/detail/ops.hpp"
#include "strata/tensor_data.hpp"

namespace strata::detail {

/// A rank-1 tensor on the backend of `like`.
template <class T>
ValueRef host_values(const ValueRef& like, const std::vector<T>& values) {
  return like->backend.from_data(TensorData::from<T>(values, {static_cast<std::int64_t>(values.size())}));
}

inline op::Number number(Literal v) {
  if (v.kind == Literal::Kind::floating) return v.floating;
  return v.kind == Literal::Kind::integer ? op::Number(v.integer) : op::Number(v.integer != 0);
}

}  // namespace strata::detail
