#include <algorithm>
#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

ValueId exactly(Chooser& c, const TensorType& wanted) {
  return c.operand([&](const TensorType& t) { return t == wanted; }, [&] { return wanted; });
}

struct Operands {
  std::vector<ValueId> ids;  ///< q, k, v and perhaps a mask
  TensorType q, out;
  Shape rows;
};
Operands choose_operands(Chooser& c) {
  Operands o;
  const auto q =
      c.operand([](const TensorType& t) { return is_float(t.dtype) && t.shape.rank() == 4; },
                [&] {
                  return TensorType{c.dtype([](DType t) { return is_float(t); }), c.shape_of_rank(4)};
                });
  o.q = c.type(q);
  const auto& s = o.q.shape;
  constexpr std::int64_t most_scores = 1 << 16;  // second derivatives keep dozens of tensors of them
  const auto queries = std::max<std::int64_t>(s[0] * s[1] * s[2], 1);
  const auto n = std::min(c.extent(), std::max<std::int64_t>(most_scores / queries, 1)), e = c.extent();
  const auto groups = c.chance(0.3) ? std::min<std::int64_t>(s[1], 1) : s[1];
  const auto k = exactly(c, {o.q.dtype, {s[0], groups, n, s[3]}});
  const auto v = exactly(c, {o.q.dtype, {s[0], groups, n, e}});
  o.ids = {q, k, v};
  if (c.chance(0.4)) {
    o.ids.push_back(
        exactly(c, {c.chance(0.5) ? DType::boolean : o.q.dtype, c.broadcastable({s[0], s[1], s[2], n})}));
  }
  o.rows = {s[0], s[1], s[2]};
  o.out = {o.q.dtype, {s[0], s[1], s[2], e}};
  return o;
}
double choose_scale(Chooser& c) { return c.chance(0.7) ? 0.25 : -1; }

Call choose_attention(Chooser& c) {
  const bool causal = c.chance(0.5);
  const auto scale = choose_scale(c);
  return {op::Attention{causal, scale}, choose_operands(c).ids};
}
Call choose_gradient(Chooser& c) {
  const bool causal = c.chance(0.5);
  const auto scale = choose_scale(c);
  auto o = choose_operands(c);
  const TensorType rows{op::wide(o.q.dtype), o.rows};
  for (const auto& type : {rows, o.out, rows}) o.ids.push_back(exactly(c, type));
  return {op::AttentionGradient{causal, scale}, o.ids};
}

Real largest_of(Propagation& p, std::size_t i) {
  Real most = 0;
  for (double x : p.values(i, p.operand(i).shape))
    most = std::isnan(x) ? HUGE_VALL : std::max<Real>(most, std::abs(x));
  return most;
}
/// Of the scores, and through them of the logarithms of the weights.
Real largest_score(Propagation& p, double scale, bool mask) {
  const auto d = static_cast<Real>(p.operand(0).shape[3]);
  const bool bias = mask && p.operand(3).dtype != DType::boolean;
  return std::abs(static_cast<Real>(scale)) * d * largest_of(p, 0) * largest_of(p, 1) +
         (bias ? largest_of(p, 3) : 0);
}
/// One rounding for all elements: sums of up to `terms`, in an order that layouts decide.
Errors rounded(Propagation& p, Real terms, Real magnitude) {
  auto e = p.result();
  const auto c = compute_dtype(p.dtype());
  const Real rounding = terms * epsilon(c) * magnitude + terms * smallest_normal(c);
  const bool known = p.certain() && magnitude < largest(c) / 8;
  for (auto& x : e)
    x = known && std::isfinite(x) ? bound(p.dtype(), Interval{x, x}, x, rounding) : undetermined;
  return p.store(e);
}

Errors attention_errors(const op::Attention& o, Propagation& p) {
  if (p.size() == 0) return {};
  const auto scores = largest_score(p, o.scale, p.operand_count() > 3);
  const auto terms = static_cast<Real>(p.operand(0).shape[3] + p.operand(1).shape[2] + 32);
  return rounded(p, 2 * terms, largest_of(p, 2) * (1 + 4 * scores));
}
Errors gradient_errors(const op::AttentionGradient& o, Propagation& p) {
  if (p.size() == 0) return {};
  const auto first = p.operand_count() - 3;
  const auto scores = largest_score(p, o.scale, first > 3), log_sum = largest_of(p, first);
  if (!(scores + log_sum < 40)) return rounded(p, 1, HUGE_VALL);
  const auto& q = p.operand(0).shape;
  const auto n = static_cast<Real>(p.operand(1).shape[2]), e = static_cast<Real>(p.operand(2).shape[3]);
  const auto heads = static_cast<Real>(q[1]), m = static_cast<Real>(q[2]), d = static_cast<Real>(q[3]);
  const Real weight = std::exp(scores + log_sum) * (1 + 4 * (scores + log_sum));
  const Real product = e * largest_of(p, first + 1) * (1 + largest_of(p, 2)) + largest_of(p, first + 2);
  const Real side =
      (1 + std::abs(static_cast<Real>(o.scale))) * (1 + std::max(largest_of(p, 0), largest_of(p, 1)));
  return rounded(p, 4 * (d + e + 32), weight * product * side * (heads * m + n));
}

template <class Op>
std::string literal_of(std::string_view name, const Op& o) {
  return fmt::format("op::{}{{{}, {}}}", name, literal(o.causal), literal(o.scale));
}
std::string attention_literal(const op::Attention& o) { return literal_of("Attention", o); }
std::string gradient_literal(const op::AttentionGradient& o) { return literal_of("AttentionGradient", o); }

}  // namespace

Family family(Of<op::Attention>) {
  return make_family("attention", 4, choose_attention, attention_errors, attention_literal,
                     keep_size<op::Attention>);
}
Family family(Of<op::AttentionGradient>) {
  return make_family("attention_gradient", 3, choose_gradient, gradient_errors, gradient_literal,
                     keep_size<op::AttentionGradient>);
}

}  // namespace strata::fuzz
