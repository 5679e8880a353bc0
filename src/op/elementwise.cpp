#include "op/elementwise.hpp"

#include <iterator>

#include <fmt/format.h>

namespace strata::op {
namespace {

void require_same_dtype(const Site& site, DType a, DType b) {
  if (a != b) [[unlikely]] {
    dtype_error(site, fmt::format("operands are {} and {}; cast one of them: strata never converts silently",
                                  name_of(a), name_of(b)));
  }
}

[[noreturn]] void refuse_dtype(const Site& site, DType got, std::string_view wanted) {
  dtype_error(site, fmt::format("is not defined for {}; it takes {}", name_of(got), wanted));
}

}  // namespace

std::string_view name_of(UnaryKind k) {
  constexpr std::string_view names[] = {
      "neg",   "abs",   "sign", "floor",    "ceil",   "round",  "trunc",   "recip",       "sqrt",   "rsqrt",
      "exp",   "expm1", "log",  "log1p",    "sin",    "cos",    "tanh",    "sigmoid",     "erf",    "exp2",
      "log2",  "log10", "tan",  "asin",     "acos",   "atan",   "sinh",    "cosh",        "asinh",  "acosh",
      "atanh", "gelu",  "silu", "softplus", "erfinv", "lgamma", "digamma", "logical_not", "bit_not"};
  static_assert(std::size(names) == unary_count);
  return names[static_cast<int>(k)];
}
std::string_view name_of(BinaryKind k) {
  constexpr std::string_view names[] = {"add",    "sub",     "mul",        "div",        "rem",   "fmod",
                                        "pow",    "max",     "min",        "atan2",      "hypot", "bit_and",
                                        "bit_or", "bit_xor", "shift_left", "shift_right"};
  static_assert(std::size(names) == binary_count);
  return names[static_cast<int>(k)];
}
std::string_view name_of(CompareKind k) {
  constexpr std::string_view names[] = {"equal",      "not_equal", "less",
                                        "less_equal", "greater",   "greater_equal"};
  return names[static_cast<int>(k)];
}

TensorTypes infer(const Unary& op, const Site& site) {
  const auto t = site.inputs[0].dtype;
  switch (op.kind) {
    case UnaryKind::neg:
      if (!(is_float(t) || (is_int(t) && t != DType::u8)))
        refuse_dtype(site, t, "floats and signed integers");
      break;
    case UnaryKind::abs:
    case UnaryKind::sign:
      if (t == DType::boolean) refuse_dtype(site, t, "floats and integers");
      break;
    case UnaryKind::logical_not:
      if (t != DType::boolean) refuse_dtype(site, t, "bool");
      break;
    case UnaryKind::bit_not:
      if (!is_int(t)) refuse_dtype(site, t, "integers");
      break;
    default:
      if (!is_float(t)) refuse_dtype(site, t, "floats");
  }
  return TensorTypes(site.inputs[0]);
}

TensorTypes infer(const Binary& op, const Site& site) {
  const auto &a = site.inputs[0], &b = site.inputs[1];
  require_same_dtype(site, a.dtype, b.dtype);
  if (op.kind <= BinaryKind::min) {
    if (a.dtype == DType::boolean) [[unlikely]]
      refuse_dtype(site, a.dtype, "floats and integers");
  } else if (op.kind <= BinaryKind::hypot) {
    if (!is_float(a.dtype)) refuse_dtype(site, a.dtype, "floats");
  } else if (op.kind <= BinaryKind::bit_xor) {
    if (is_float(a.dtype)) refuse_dtype(site, a.dtype, "integers and bool");
  } else if (!is_int(a.dtype)) {
    refuse_dtype(site, a.dtype, "integers");
  }
  TensorType out{a.dtype, a.shape == b.shape ? a.shape : broadcast(site, a.shape, b.shape)};
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Compare& op, const Site& site) {
  const auto &a = site.inputs[0], &b = site.inputs[1];
  require_same_dtype(site, a.dtype, b.dtype);
  if (a.dtype == DType::boolean && op.kind > CompareKind::not_equal) {
    refuse_dtype(site, a.dtype, "floats and integers");
  }
  TensorType out{DType::boolean, broadcast(site, a.shape, b.shape)};
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Where&, const Site& site) {
  const auto &condition = site.inputs[0], &a = site.inputs[1], &b = site.inputs[2];
  if (condition.dtype != DType::boolean) {
    dtype_error(site, fmt::format("the condition must be bool, not {}", name_of(condition.dtype)));
  }
  require_same_dtype(site, a.dtype, b.dtype);
  TensorType out{a.dtype, broadcast(site, condition.shape, broadcast(site, a.shape, b.shape))};
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Cast& op, const Site& site) {
  return TensorTypes(TensorType{op.dtype, site.inputs[0].shape});
}

}  // namespace strata::op
