#include "fuzz/fuzzer/literals.hpp"

#include <cmath>
#include <limits>

namespace strata::fuzz {

std::string literal(double v) {
  if (std::isnan(v)) return "std::nan(\"\")";
  if (std::isinf(v)) return v < 0 ? "-HUGE_VAL" : "HUGE_VAL";
  auto text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string literal(const op::Number& n) {
  if (n.kind == op::Number::Kind::boolean) return literal(n.as_bool());
  if (n.kind == op::Number::Kind::floating) return literal(n.as_double());
  // The smallest number has no literal.
  const auto v = n.as_int();
  if (v == std::numeric_limits<std::int64_t>::min()) return "std::numeric_limits<std::int64_t>::min()";
  return fmt::format("std::int64_t{{{}}}", v);
}

}  // namespace strata::fuzz
