/// Attributes as C++ in namespace strata.
#pragma once

#include <string>

#include <fmt/format.h>

#include "op/operation.hpp"

namespace strata::fuzz {

inline std::string literal(bool v) { return v ? "true" : "false"; }
inline std::string literal(DType t) {
  return fmt::format("DType::{}", t == DType::boolean ? "boolean" : name_of(t));
}
inline std::string literal(const Dims& d) {
  std::string out;
  for (auto v : d) out += fmt::format("{}{}", out.empty() ? "" : ", ", v);
  return "{" + out + "}";
}
/// A number that reads back as the same double.
std::string literal(double v);
std::string literal(const op::Number& n);

}  // namespace strata::fuzz
