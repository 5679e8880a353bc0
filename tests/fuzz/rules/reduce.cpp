#include <algorithm>
#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

using op::ReduceKind;

Call choose_reduce(Chooser& c) {
  const op::Reduce kind{static_cast<ReduceKind>(c.below(op::reduce_count)), {}, false};
  const auto fits = [&](DType t) { return type_of_result(kind, {{t, {}}}).has_value(); };
  const auto x = c.of_dtype(fits);
  return {op::Reduce{kind.kind, c.axes(c.type(x).shape.rank()), c.chance(0.4)}, {x}};
}

/// The elements that one result is made of, and their bounds.
struct Group {
  std::span<const double> x, e;
  bool all(bool (*predicate)(double)) const { return std::ranges::all_of(x, predicate); }
};

/// Sums in any order, as for matmul; the mean divides by the length, or multiplies by its reciprocal.
double sum_bound(const Group& g, DType t, bool mean, double result) {
  const auto c = compute_dtype(t);
  Real magnitude = 0, spread = 0;
  bool infinite = false;
  for (std::size_t i = 0; i < g.x.size(); ++i) {
    if (!std::isfinite(g.x[i])) {
      infinite = true;
      continue;
    }
    magnitude += std::abs(static_cast<Real>(g.x[i])) + g.e[i];
    spread += g.e[i];
  }
  if (magnitude >= largest(c) / 2) return undetermined;  // partial sums may overflow, or not
  if (infinite) return 0;
  const auto n = static_cast<Real>(g.x.size());
  Real rounding = n * epsilon(c) * magnitude + 2 * n * smallest_subnormal(c);
  if (mean && n > 0) {
    spread /= n;
    rounding = rounding / n + 2 * epsilon(c) * magnitude / n + 2 * smallest_subnormal(c);
  }
  if (spread == 0 && g.x.size() <= 1) return 0;
  return bound(t, Interval{result - spread, result + spread}, result, rounding);
}

/// n roundings of a product of n factors; on the way partial products may leave the range of normal numbers
/// in one order and not in another.
double product_bound(const Group& g, DType t, double result) {
  const auto c = compute_dtype(t);
  Real above = 1, below = 1, high = 1, exact = 1;
  bool infinite = false, zero = false, uncertain = false;
  for (std::size_t i = 0; i < g.x.size(); ++i) {
    const Real x = std::abs(static_cast<Real>(g.x[i]));
    uncertain |= g.e[i] != 0;
    zero |= x <= g.e[i];
    if (!std::isfinite(x)) {
      infinite = true;
      continue;
    }
    exact *= x;
    high *= x + g.e[i];
    above *= std::max(x + g.e[i], Real{1});
    if (x > 0) below *= std::min(x, Real{1});
  }
  if (g.x.size() <= 1) return g.x.empty() ? 0 : g.e[0];
  if (above >= largest(c) / 2) return undetermined;
  if (infinite) return uncertain || zero || below < smallest_normal(c) ? undetermined : 0;
  const auto n = static_cast<Real>(g.x.size());
  const Real rounding = n * epsilon(c) * high + 2 * n * smallest_subnormal(c) * above;
  const Real spread = high - exact;
  return bound(t, Interval{result - spread, result + spread}, result, rounding);
}

/// Of the elements that may be the extremum. `sign` is -1 for the minimum.
double extremum_bound(const Group& g, double sign, double result) {
  double low = -HUGE_VAL, high = -HUGE_VAL;
  for (std::size_t i = 0; i < g.x.size(); ++i) {
    if (std::isnan(g.x[i])) return 0;
    low = std::max(low, sign * g.x[i] - g.e[i]);
    high = std::max(high, sign * g.x[i] + g.e[i]);
  }
  if (!std::isfinite(low) || !std::isfinite(high)) return low == high ? 0 : undetermined;
  return std::max({high - sign * result, sign * result - low, 0.0}) * (1 + 0x1p-50);
}

double group_bound(const op::Reduce& o, DType t, const Group& g, double result) {
  if (std::ranges::find(g.e, undetermined) != g.e.end()) return undetermined;
  if (!is_float(t)) return 0;
  switch (o.kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      return sum_bound(g, t, o.kind == ReduceKind::mean, result);
    case ReduceKind::prod:
      return product_bound(g, t, result);
    case ReduceKind::max:
      return extremum_bound(g, 1, result);
    case ReduceKind::min:
      return extremum_bound(g, -1, result);
  }
  return undetermined;
}

Errors reduce_errors(const op::Reduce& o, Propagation& p) {
  const bool orders = o.kind == ReduceKind::max || o.kind == ReduceKind::min;
  if (p.certain() && (orders || !is_float(p.dtype()))) return {};
  // Reduced axes last: the elements of one result lie side by side.
  Axes order;
  std::int64_t length = 1;
  for (int i = 0; i < p.operand(0).shape.rank(); ++i) {
    if (!o.axes.contains(i)) order.push_back(i);
  }
  for (auto axis : o.axes) {
    order.push_back(axis);
    length *= p.operand(0).shape[static_cast<int>(axis)];
  }
  const auto x = p.doubles(p.run(op::Permute{order}, p.operand_ref(0)));
  const auto ex = p.doubles(p.run(op::Permute{order}, p.error_tensor(0)));
  auto e = p.result();
  const auto n = static_cast<std::size_t>(length);
  for (std::size_t i = 0; i < e.size(); ++i) {
    const Group group{{x.data() + i * n, n}, {ex.data() + i * n, n}};
    e[i] = group_bound(o, p.dtype(), group, e[i]);
  }
  return p.store(e);
}
std::string reduce_literal(const op::Reduce& o) {
  return fmt::format("op::Reduce{{op::ReduceKind::{}, {}, {}}}", op::name_of(o.kind), literal(o.axes),
                     literal(o.keep_dims));
}

}  // namespace

Family family(Of<op::Reduce>) {
  return make_family("reduce", 12, choose_reduce, reduce_errors, reduce_literal, keep_size<op::Reduce>);
}

}  // namespace strata::fuzz
