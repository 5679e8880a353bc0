#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "strata/detail/functions.hpp"
#include "strata/error.hpp"
#include "tensor/host_values.hpp"

namespace strata::detail {
namespace {

using bridge::mul;
using bridge::sub;
using op::BinaryKind;
using op::CompareKind;
using op::ReduceKind;
using op::UnaryKind;

constexpr double infinity = std::numeric_limits<double>::infinity();

ValueRef powers(const ValueRef& x, const ValueRef& magnitude, double p) {
  return p == 2 ? mul(x, x) : p == 1 ? magnitude : bridge::binary(BinaryKind::pow, magnitude, p);
}
ValueRef root(const ValueRef& x, double p) {
  return p == 2 ? bridge::unary(UnaryKind::sqrt, x) : p == 1 ? x : bridge::binary(BinaryKind::pow, x, 1 / p);
}

}  // namespace

ValueRef softmax(const ValueRef& x, int axis, bool log) { return bridge::softmax(x, axis, log); }
ValueRef norm(op::NormKind kind, const ValueRef& x, const std::vector<ValueRef>& parameters, double eps) {
  return bridge::norm(kind, x, parameters, eps);
}

ValueRef variance(const ValueRef& input, int axis, std::int64_t correction) {
  axis = bridge::normalise_axis(axis, input->shape.rank(), "var");
  const auto x = bridge::cast(input, bridge::wide(input->dtype));
  const auto centred = sub(x, bridge::reduce(ReduceKind::mean, x, {axis}, true));
  const auto sum = bridge::reduce(ReduceKind::sum, mul(centred, centred), {axis}, false);
  const auto count = static_cast<double>(std::max<std::int64_t>(x->shape[axis] - correction, 0));
  return bridge::cast(bridge::binary(BinaryKind::div, sum, count), input->dtype);
}

ValueRef log_sum_exp(const ValueRef& input, int axis) {
  axis = bridge::normalise_axis(axis, input->shape.rank(), "logsumexp");
  const auto x = bridge::cast(input, bridge::wide(input->dtype));
  // Where the maximum is infinite nothing may be subtracted: inf - inf.
  const auto top = bridge::reduce(ReduceKind::max, x, {axis}, true);
  const auto shift = bridge::where(is_finite(top), top, bridge::scalar_like(top, 0));
  const auto sum = bridge::reduce(ReduceKind::sum, unary(UnaryKind::exp, sub(x, shift)), {axis}, true);
  return bridge::cast(squeeze(bridge::add(unary(UnaryKind::log, sum), shift), axis), input->dtype);
}

ValueRef quantile(const ValueRef& x, double q, int axis) {
  axis = bridge::normalise_axis(axis, x->shape.rank(), "quantile");
  const auto n = x->shape[axis];
  if (!(q >= 0 && q <= 1)) throw ArgumentError(fmt::format("[quantile] q = {} is not in [0, 1]", q));
  if (n == 0) throw ShapeError("[quantile] over an empty axis of " + x->shape.to_string());
  const double place = q * static_cast<double>(n - 1), below = std::floor(place);
  const auto first = static_cast<std::int64_t>(below), second = std::min(first + 1, n - 1);
  const auto order = bridge::argsort(x, axis, false);
  const auto ends = bridge::select(order, axis, host_values<std::int64_t>(x, {first, second}));
  const auto values = bridge::cast(bridge::gather(x, axis, ends), bridge::wide(x->dtype));
  const auto low = at(values, axis, 0), high = at(values, axis, 1);
  auto result = bridge::add(low, mul(sub(high, low), place - below));
  // NaN sorts last: with one in the slice the quantile is NaN.
  const auto last = gather(x, axis, narrow(order, axis, n - 1, 1));
  const auto nan = squeeze(compare(CompareKind::not_equal, last, last), axis);
  result = bridge::where(nan, bridge::scalar_like(result, std::numeric_limits<double>::quiet_NaN()), result);
  return bridge::cast(result, x->dtype);
}

ValueRef vector_norm(const ValueRef& input, double p, int axis) {
  axis = bridge::normalise_axis(axis, input->shape.rank(), "norm");
  if (std::isnan(p)) throw ArgumentError("[norm] the order p is NaN");
  const auto x = bridge::cast(input, bridge::wide(input->dtype));
  const auto over = [&](ReduceKind kind, const ValueRef& v) {
    return bridge::cast(bridge::reduce(kind, v, {axis}, false), input->dtype);
  };
  const auto magnitude = unary(UnaryKind::abs, x);
  if (p == infinity) return over(ReduceKind::max, magnitude);
  if (p == -infinity) return over(ReduceKind::min, magnitude);
  if (p == 0)
    return over(ReduceKind::sum,
                bridge::cast(bridge::compare(CompareKind::not_equal, x, op::Number(0)), x->dtype));
  if (p == 1) return over(ReduceKind::sum, magnitude);
  const auto sum = bridge::reduce(ReduceKind::sum, powers(x, magnitude, p), {axis}, false);
  if (p < 0) return bridge::cast(root(sum, p), input->dtype);
  // The root has no slope at 0; there the gradient is 0.
  const auto zero = bridge::scalar_like(sum, 0);
  const auto none = bridge::compare(CompareKind::equal, sum, zero);
  const auto safe = root(bridge::where(none, bridge::scalar_like(sum, 1), sum), p);
  return bridge::cast(bridge::where(none, zero, safe), input->dtype);
}

ValueRef normalise(const ValueRef& input, double p, int axis, double eps) {
  axis = bridge::normalise_axis(axis, input->shape.rank(), "normalize");
  if (!(p > 0)) throw ArgumentError(fmt::format("[normalize] the order p = {} is not above 0", p));
  if (!(eps > 0)) throw ArgumentError(fmt::format("[normalize] eps = {} is not above 0", eps));
  const auto x = bridge::cast(input, bridge::wide(input->dtype));
  const auto magnitude = unary(UnaryKind::abs, x);
  const auto at_least = [](const ValueRef& v, double least) {
    return bridge::binary(BinaryKind::max, v, least);
  };
  ValueRef norm;
  if (p == infinity) {
    norm = bridge::reduce(ReduceKind::max, magnitude, {axis}, true);
  } else {
    // The root has no slope at 0: the bound holds before it too, as far as the dtype goes.
    const double smallest = x->dtype == DType::f64 ? std::numeric_limits<double>::min()
                                                   : static_cast<double>(std::numeric_limits<float>::min());
    const auto sum = bridge::reduce(ReduceKind::sum, powers(x, magnitude, p), {axis}, true);
    norm = root(at_least(sum, std::max(std::pow(eps, p), smallest)), p);
  }
  return bridge::cast(bridge::div(x, at_least(norm, eps)), input->dtype);
}

ValueRef covariance(const ValueRef& input, std::int64_t correction) {
  const auto x = bridge::cast(input, bridge::wide(input->dtype));
  const auto centred = sub(x, bridge::reduce(ReduceKind::mean, x, {1}, true));
  const auto count = static_cast<double>(std::max<std::int64_t>(x->shape[1] - correction, 0));
  const auto products = bridge::matmul(centred, bridge::transpose(centred));
  return bridge::cast(bridge::binary(BinaryKind::div, products, count), input->dtype);
}

ValueRef is_finite(const ValueRef& x) {
  return compare(CompareKind::less, unary(UnaryKind::abs, x), infinity);
}

ValueRef nan_to_num(const ValueRef& x, double nan, double above, double below) {
  const auto number = bridge::where(compare(CompareKind::equal, x, x), x, bridge::scalar_like(x, nan));
  const auto capped =
      bridge::where(compare(CompareKind::equal, number, infinity), bridge::scalar_like(x, above), number);
  return bridge::where(compare(CompareKind::equal, capped, -infinity), bridge::scalar_like(x, below), capped);
}

ValueRef is_close(const ValueRef& a, const ValueRef& b, double rtol, double atol, bool equal_nan) {
  const auto same = compare(CompareKind::equal, a, b);  // infinities too
  if (!is_float(a->dtype)) return same;
  const auto x = bridge::cast(a, bridge::wide(a->dtype)), y = bridge::cast(b, bridge::wide(b->dtype));
  const auto distance = unary(UnaryKind::abs, sub(x, y));
  const auto allowed = bridge::add(mul(unary(UnaryKind::abs, y), rtol), atol);
  const auto near =
      bridge::binary(BinaryKind::bit_and, compare(CompareKind::less_equal, distance, allowed), is_finite(y));
  const auto result = bridge::binary(BinaryKind::bit_or, same, near);
  if (!equal_nan) return result;
  const auto both = bridge::binary(BinaryKind::bit_and, compare(CompareKind::not_equal, a, a),
                                   compare(CompareKind::not_equal, b, b));
  return bridge::binary(BinaryKind::bit_or, result, both);
}

bool all_close(const ValueRef& a, const ValueRef& b, double rtol, double atol, bool equal_nan) {
  const auto close = is_close(a, b, rtol, atol, equal_nan);
  if (close->shape.product() == 0) return true;
  return into_data(bridge::reduce_all(ReduceKind::min, close)).as<bool>()[0];
}

}  // namespace strata::detail
