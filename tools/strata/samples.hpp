/// One example of every operation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "op/operation.hpp"

namespace strata::tool {

using Types = std::vector<op::TensorType>;

inline constexpr DType all_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                                       DType::i64, DType::i32, DType::u8,  DType::boolean};

/// One operation with operands it takes, for a dtype.
struct Sample {
  std::function<op::Operation(DType)> op;
  std::function<Types(DType)> inputs;
};
std::vector<Sample> samples();

/// As the table of operations names it: "cast to f32", "scatter add".
std::string row_name(const op::Operation& operation);

}  // namespace strata::tool
