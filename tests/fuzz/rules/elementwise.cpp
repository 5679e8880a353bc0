#include <array>
#include <cmath>

#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/interval.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

using op::BinaryKind;
using op::CompareKind;
using op::UnaryKind;

/// Whether op::infer takes the operands, so that this need not be written again.
template <class Op>
bool takes(const Op& operation, DType t, std::size_t count) {
  return type_of_result(operation, std::vector<op::TensorType>(count, {t, {}})).has_value();
}
/// A kind of the first `count` that takes some dtype of the palette, and that dtype.
template <class Op, class Kind>
std::pair<Op, std::function<bool(DType)>> kind(Chooser& c, int count, std::size_t operands) {
  const Op operation{static_cast<Kind>(c.below(static_cast<std::size_t>(count)))};
  return {operation, [=](DType t) { return takes(operation, t, operands); }};
}

Call choose_unary(Chooser& c) {
  const auto [operation, fits] = kind<op::Unary, UnaryKind>(c, op::unary_count, 1);
  return {operation, {c.of_dtype(fits)}};
}
Errors unary_errors(const op::Unary& o, Propagation& p) {
  if (!is_float(p.dtype())) return p.any_of_operands();
  if (p.certain() && rounding(o.kind, p.dtype(), {0, 1}, 0) == 0) return {};
  const auto x = p.values(0), ex = p.errors(0), y = p.result();
  std::vector<double> e(p.size(), undetermined);
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (ex[i] == undetermined) continue;
    const auto range = around(x[i], ex[i]);
    const auto exact = apply(o.kind, range);
    if (exact) e[i] = bound(p.dtype(), exact, y[i], rounding(o.kind, p.dtype(), *exact, range.magnitude()));
  }
  return p.store(e);
}
std::string unary_literal(const op::Unary& o) {
  return fmt::format("op::Unary{{op::UnaryKind::{}}}", op::name_of(o.kind));
}

/// Two operands that broadcast, mostly in random order.
std::vector<ValueId> pair(Chooser& c, const std::function<bool(DType)>& fits) {
  const auto a = c.of_dtype(fits);
  const auto b = c.chance(0.08) ? a : c.partner(c.type(a), c.type(a).dtype);
  return c.chance(0.5) ? std::vector{a, b} : std::vector{b, a};
}

Call choose_binary(Chooser& c) {
  const auto [operation, fits] = kind<op::Binary, BinaryKind>(c, op::binary_count, 2);
  return {operation, pair(c, fits)};
}
Errors binary_errors(const op::Binary& o, Propagation& p) {
  if (!is_float(p.dtype())) return p.any_of_operands();
  if (p.certain() && rounding(o.kind, p.dtype(), {2, 3}, {2, 3}, {2, 3}) == 0 && o.kind != BinaryKind::div)
    return {};
  const auto a = p.values(0), ea = p.errors(0), b = p.values(1), eb = p.errors(1), y = p.result();
  std::vector<double> e(p.size(), undetermined);
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (ea[i] == undetermined || eb[i] == undetermined) continue;
    const auto left = around(a[i], ea[i]), right = around(b[i], eb[i]);
    const auto exact = apply(o.kind, left, right);
    if (exact) e[i] = bound(p.dtype(), exact, y[i], rounding(o.kind, p.dtype(), *exact, left, right));
  }
  return p.store(e);
}
std::string binary_literal(const op::Binary& o) {
  return fmt::format("op::Binary{{op::BinaryKind::{}}}", op::name_of(o.kind));
}

Call choose_compare(Chooser& c) {
  const auto [operation, fits] = kind<op::Compare, CompareKind>(c, op::compare_count, 2);
  return {operation, pair(c, fits)};
}
Errors compare_errors(const op::Compare& o, Propagation& p) {
  if (p.certain()) return {};
  const auto a = p.values(0), ea = p.errors(0), b = p.values(1), eb = p.errors(1);
  std::vector<double> e(p.size(), undetermined);
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (ea[i] == undetermined || eb[i] == undetermined) continue;
    if (decided(o.kind, around(a[i], ea[i]), around(b[i], eb[i]))) e[i] = 0;
  }
  return p.store(e);
}
std::string compare_literal(const op::Compare& o) {
  return fmt::format("op::Compare{{op::CompareKind::{}}}", op::name_of(o.kind));
}

Call choose_where(Chooser& c) {
  const auto a = c.any();
  const auto type = c.type(a);
  const auto b = c.partner(type, type.dtype);
  const auto condition = c.partner(type, DType::boolean);
  return {op::Where{}, {condition, c.chance(0.5) ? a : b, c.chance(0.5) ? b : a}};
}
Errors where_errors(const op::Where&, Propagation& p) {
  if (p.certain()) return {};
  const auto condition = p.values(0), ec = p.errors(0), a = p.values(1), ea = p.errors(1), b = p.values(2),
             eb = p.errors(2);
  std::vector<double> e(p.size());
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (ec[i] == 0) {
      e[i] = condition[i] != 0 ? ea[i] : eb[i];
      continue;
    }
    // One of the two, whichever.
    const double apart = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ? 0 : std::abs(a[i] - b[i]);
    e[i] = is_float(p.dtype()) && std::isfinite(apart) ? apart * (1 + 0x1p-50) + std::max(ea[i], eb[i])
                                                       : undetermined;
  }
  return p.store(e);
}
std::string where_literal(const op::Where&) { return "op::Where{}"; }

Call choose_cast(Chooser& c) {
  const auto x = c.any();
  return {op::Cast{c.dtype()}, {x}};
}
Errors cast_errors(const op::Cast& o, Propagation& p) {
  if (p.certain()) return {};
  const bool from_float = is_float(p.operand(0).dtype);
  const auto x = p.values(0), y = p.result();
  auto e = p.errors(0);
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e[i] == 0 || e[i] == undetermined) continue;
    const auto range = around(x[i], e[i]);
    if (is_float(o.dtype)) {
      e[i] = o.dtype == p.operand(0).dtype ? e[i] : bound(o.dtype, range, y[i], 0);
    } else {
      e[i] = from_float && decided_cast(o.dtype, range) ? 0 : undetermined;
    }
  }
  return p.store(e);
}
std::string cast_literal(const op::Cast& o) { return fmt::format("op::Cast{{{}}}", literal(o.dtype)); }

}  // namespace

Family family(Of<op::Unary>) {
  return make_family("unary", 14, choose_unary, unary_errors, unary_literal, keep_size<op::Unary>);
}
Family family(Of<op::Binary>) {
  return make_family("binary", 20, choose_binary, binary_errors, binary_literal, keep_size<op::Binary>);
}
Family family(Of<op::Compare>) {
  return make_family("compare", 6, choose_compare, compare_errors, compare_literal, keep_size<op::Compare>);
}
Family family(Of<op::Where>) {
  return make_family("where", 6, choose_where, where_errors, where_literal, keep_size<op::Where>);
}
Family family(Of<op::Cast>) {
  return make_family("cast", 6, choose_cast, cast_errors, cast_literal, keep_size<op::Cast>);
}

}  // namespace strata::fuzz
