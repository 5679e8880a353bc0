#include "op/matmul.hpp"

#include <fmt/format.h>

namespace strata::inline v0 {

std::string_view name_of(Precision precision) {
  constexpr std::string_view names[] = {"exact", "tf32", "split"};
  return names[static_cast<int>(precision)];
}

}  // namespace strata::inline v0

namespace strata::op {

TensorTypes infer(const Matmul&, const Site& site) {
  const auto &a = site.inputs[0], &b = site.inputs[1];
  if (a.dtype != b.dtype) [[unlikely]] {
    dtype_error(site, fmt::format("lhs is {} and rhs is {}; cast one of them: strata never converts silently",
                                  name_of(a.dtype), name_of(b.dtype)));
  }
  if (a.dtype == DType::boolean) [[unlikely]]
    dtype_error(site, "is not defined for bool; it takes floats and integers");
  const int ra = a.shape.rank(), rb = b.shape.rank();
  if (ra < 2 || rb < 2) [[unlikely]] {
    shape_error(site,
                fmt::format("lhs {} and rhs {}: both operands need rank 2 or more; add an axis with reshape",
                            a.shape.to_string(), b.shape.to_string()));
  }
  const auto m = a.shape[ra - 2], ka = a.shape[ra - 1], kb = b.shape[rb - 2], n = b.shape[rb - 1];
  if (ka != kb) [[unlikely]] {
    shape_error(site,
                fmt::format("lhs {} and rhs {}: inner dimensions {} and {} differ; is a transpose missing?",
                            a.shape.to_string(), b.shape.to_string(), ka, kb));
  }
  TensorType out{a.dtype, {}};
  if (ra > 2 || rb > 2) {
    out.shape = broadcast(site, Shape(std::span(a.shape.begin(), static_cast<std::size_t>(ra - 2))),
                          Shape(std::span(b.shape.begin(), static_cast<std::size_t>(rb - 2))));
  }
  out.shape.push_back(m);
  out.shape.push_back(n);
  check_size(site, out);
  return TensorTypes(out);
}

}  // namespace strata::op
