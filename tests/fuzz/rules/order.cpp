#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

int axis_of(Chooser& c, ValueId x) { return static_cast<int>(c.below(c.type(x).shape.size())); }

Call choose_arg_reduce(Chooser& c) {
  const auto x = c.of_rank(1);
  const auto kind = c.chance(0.5) ? op::ExtremumKind::max : op::ExtremumKind::min;
  return {op::ArgReduce{kind, axis_of(c, x), c.chance(0.4)}, {x}};
}
Errors arg_reduce_errors(const op::ArgReduce& o, Propagation& p) { return p.lines(o.axis); }
std::string arg_reduce_literal(const op::ArgReduce& o) {
  return fmt::format("op::ArgReduce{{op::ExtremumKind::{}, {}, {}}}", op::name_of(o.kind), o.axis,
                     literal(o.keep_dims));
}

Call choose_arg_sort(Chooser& c) {
  const auto x = c.of_rank(1);
  const int axis = axis_of(c, x);
  const auto n = c.type(x).shape[axis];
  return {op::ArgSort{axis, c.chance(0.5), c.chance(0.5) ? -1 : c.between(0, n)}, {x}};
}
Errors arg_sort_errors(const op::ArgSort& o, Propagation& p) { return p.lines(o.axis); }
std::string arg_sort_literal(const op::ArgSort& o) {
  return fmt::format("op::ArgSort{{{}, {}, {}}}", o.axis, literal(o.descending), o.count);
}
void resize_arg_sort(op::ArgSort& o, Resize r) {
  if (o.count >= 0) r(o.count);
}

Call choose_cumulative(Chooser& c) {
  const auto x =
      c.operand([](const TensorType& t) { return t.dtype != DType::boolean && t.shape.rank() >= 1; },
                [&] {
                  return TensorType{c.dtype([](DType t) { return t != DType::boolean; }),
                                    c.shape_of_rank(1 + static_cast<int>(c.below(3)))};
                });
  return {op::Cumulative{static_cast<op::CumulativeKind>(c.below(4)), axis_of(c, x)}, {x}};
}

/// Walks one line: what may differ after each element where parts of the line are summed or multiplied in any
/// order.
class Running {
 public:
  Running(op::CumulativeKind kind, DType t) : kind_(kind), dtype_(t) {}

  double next(double x, double e, double result) {
    unknown_ |= e == undetermined;
    uncertain_ |= e != 0;
    if (unknown_) return undetermined;
    ++length_;
    return kind_ == op::CumulativeKind::sum    ? sum(x, e, result)
           : kind_ == op::CumulativeKind::prod ? product(x, e, result)
                                               : extremum(e);
  }

 private:
  double sum(double x, double e, double result) {
    infinite_ |= !std::isfinite(x);
    if (std::isfinite(x)) magnitude_ += std::abs(static_cast<Real>(x)) + e;
    spread_ += e;
    const auto c = compute_dtype(dtype_);
    if (magnitude_ >= largest(c) / 2) return undetermined;  // partial sums may overflow, or not
    if (infinite_) return uncertain_ ? undetermined : 0;
    const Real rounding =
        length_ < 2 ? 0 : length_ * epsilon(c) * magnitude_ + 2 * length_ * smallest_subnormal(c);
    return bound(dtype_, Interval{result - spread_, result + spread_}, result, rounding);
  }
  /// Roundings, also of a running type that may be wider.
  double product(double x, double e, double result) {
    infinite_ |= !std::isfinite(x);
    if (infinite_) return uncertain_ ? undetermined : length_ < 2 ? 0 : undetermined;
    high_ *= std::abs(static_cast<Real>(x)) + e;
    exact_ *= std::abs(static_cast<Real>(x));
    above_ *= std::max<Real>(std::abs(static_cast<Real>(x)) + e, 1);
    const auto c = compute_dtype(dtype_);
    if (above_ >= largest(c) / 2) return undetermined;
    const Real rounding =
        length_ < 2 ? 0 : length_ * epsilon(c) * high_ + 2 * length_ * smallest_subnormal(c) * above_;
    const Real spread = high_ - exact_;
    return bound(dtype_, Interval{result - spread, result + spread}, result, rounding);
  }
  double extremum(double e) { return worst_ = std::max(worst_, e); }

  const op::CumulativeKind kind_;
  const DType dtype_;
  Real magnitude_ = 0, spread_ = 0, high_ = 1, exact_ = 1, above_ = 1, length_ = 0;
  double worst_ = 0;
  bool unknown_ = false, uncertain_ = false, infinite_ = false;
};

Errors cumulative_errors(const op::Cumulative& o, Propagation& p) {
  const bool orders = o.kind == op::CumulativeKind::max || o.kind == op::CumulativeKind::min;
  if (p.size() == 0 || (p.certain() && (orders || !is_float(p.dtype())))) return {};
  if (!is_float(p.dtype())) return p.all_or_nothing();
  const auto x = p.values(0), ex = p.errors(0);
  auto e = p.result();
  const auto n = static_cast<std::size_t>(p.shape()[o.axis]);
  std::size_t inner = 1;
  for (int i = o.axis + 1; i < p.shape().rank(); ++i) inner *= static_cast<std::size_t>(p.shape()[i]);
  for (std::size_t line = 0; line < e.size() / n; ++line) {
    Running running(o.kind, p.dtype());
    for (std::size_t k = 0; k < n; ++k) {
      const auto at = (line / inner * n + k) * inner + line % inner;
      e[at] = running.next(x[at], ex[at], e[at]);
    }
  }
  return p.store(e);
}
std::string cumulative_literal(const op::Cumulative& o) {
  return fmt::format("op::Cumulative{{op::CumulativeKind::{}, {}}}", op::name_of(o.kind), o.axis);
}

}  // namespace

Family family(Of<op::ArgReduce>) {
  return make_family("arg_reduce", 4, choose_arg_reduce, arg_reduce_errors, arg_reduce_literal,
                     keep_size<op::ArgReduce>);
}
Family family(Of<op::ArgSort>) {
  return make_family("arg_sort", 4, choose_arg_sort, arg_sort_errors, arg_sort_literal, resize_arg_sort);
}
Family family(Of<op::Cumulative>) {
  return make_family("cumulative", 5, choose_cumulative, cumulative_errors, cumulative_literal,
                     keep_size<op::Cumulative>);
}

}  // namespace strata::fuzz
