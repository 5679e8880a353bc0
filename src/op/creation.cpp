#include "op/creation.hpp"

#include <cmath>

#include <fmt/format.h>

namespace strata::op {

std::string_view name_of(Distribution d) {
  constexpr std::string_view names[] = {"uniform", "normal", "bernoulli"};
  return names[static_cast<int>(d)];
}

TensorTypes infer(const Fill& op, const Site& site) {
  TensorType out{op.dtype, op.shape};
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Iota& op, const Site& site) {
  if (op.dtype == DType::boolean) dtype_error(site, "is not defined for bool; it takes floats and integers");
  TensorType out{op.dtype, Shape{op.size}};
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Random& op, const Site& site) {
  switch (op.distribution) {
    case Distribution::uniform:
      if (op.dtype == DType::boolean) dtype_error(site, "uniform is not defined for bool; use bernoulli");
      if (!(op.a <= op.b) || !std::isfinite(op.b - op.a)) {
        argument_error(site,
                       fmt::format("uniform needs finite bounds with low <= high, got [{}, {})", op.a, op.b));
      }
      break;
    case Distribution::normal:
      if (!is_float(op.dtype))
        dtype_error(site, fmt::format("normal is not defined for {}", name_of(op.dtype)));
      if (!(op.b >= 0))
        argument_error(site, fmt::format("normal needs a standard deviation >= 0, got {}", op.b));
      break;
    case Distribution::bernoulli:
      if (!(op.a >= 0 && op.a <= 1)) {
        argument_error(site, fmt::format("bernoulli needs a probability in [0, 1], got {}", op.a));
      }
      break;
  }
  TensorType out{op.dtype, op.shape};
  check_size(site, out);
  return TensorTypes(out);
}

}  // namespace strata::op
