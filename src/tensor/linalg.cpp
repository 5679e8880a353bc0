#include <limits>

#include "bridge/bridge.hpp"
#include "strata/detail/functions.hpp"
#include "strata/error.hpp"

namespace strata::detail {

std::vector<ValueRef> lu(const ValueRef& a) {
  const auto results = bridge::linalg(op::LinalgKind::lu, {a});
  const auto& packed = results[0];
  const int rank = a->shape.rank();
  const auto k = std::min(a->shape[rank - 2], a->shape[rank - 1]);
  const auto left = narrow(packed, -1, 0, k);
  const auto ones = bridge::cast(
      bridge::compare(
          op::CompareKind::equal,
          bridge::reshape(bridge::iota(a->backend, a->shape[rank - 2], DType::i64, 0, 1), {-1, 1}),
          bridge::iota(a->backend, k, DType::i64, 0, 1)),
      a->dtype);
  return {results[1], bridge::add(triangle(left, true, -1), ones),
          triangle(narrow(packed, -2, 0, k), false, 0)};
}

ValueRef pseudo_inverse(const ValueRef& input, double rcond) {
  const int rank = input->shape.rank();
  const auto a = bridge::cast(input, bridge::wide(input->dtype));
  const auto results = bridge::linalg(op::LinalgKind::svd, {a});
  const auto &u = results[0], &s = results[1], &vt = results[2];
  if (s->shape.product() == 0) {  // nothing to invert
    Shape shape = input->shape;
    std::swap(shape[rank - 2], shape[rank - 1]);
    return bridge::fill(input->backend, shape, input->dtype, 0);
  }
  if (rcond < 0) {
    const double epsilon = a->dtype == DType::f64
                               ? std::numeric_limits<double>::epsilon()
                               : static_cast<double>(std::numeric_limits<float>::epsilon());
    rcond = static_cast<double>(std::max(a->shape[rank - 2], a->shape[rank - 1])) * epsilon;
  }
  const auto limit = bridge::mul(bridge::reduce(op::ReduceKind::max, s, {rank - 2}, true), rcond);
  const auto kept = bridge::compare(op::CompareKind::greater, s, limit);
  const auto one = bridge::scalar_like(s, 1);
  const auto inverse =
      bridge::where(kept, bridge::div(one, bridge::where(kept, s, one)), bridge::scalar_like(s, 0));
  const auto scaled = bridge::mul(bridge::transpose(vt), unsqueeze(inverse, -2));
  return bridge::cast(bridge::matmul(scaled, bridge::transpose(u)), input->dtype);
}

}  // namespace strata::detail
