#include <numbers>

#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using bridge::add;
using bridge::binary;
using bridge::compare;
using bridge::div;
using bridge::mul;
using bridge::neg;
using bridge::sub;
using bridge::unary;
using op::BinaryKind;
using op::CompareKind;
using op::UnaryKind;

constexpr Saves from_input{1, false}, from_output{0, true}, nothing{};

/// The gradient where one operand of max or min wins: all of it, or half of it where the two are equal.
ValueRef where_wins(CompareKind wins, const ValueRef& x, const ValueRef& other, const ValueRef& gradient) {
  const auto zero = bridge::scalar_like(gradient, 0);
  const auto tie = bridge::where(compare(CompareKind::equal, x, other), mul(gradient, 0.5), zero);
  return bridge::where(compare(wins, x, other), gradient, tie);
}

void differentiate_order(CompareKind wins, Step& step) {
  const auto a = step.input(0), b = step.input(1);
  if (step.needs(0)) step.give_broadcast(0, where_wins(wins, a, b, step.gradient()));
  if (step.needs(1)) step.give_broadcast(1, where_wins(wins, b, a, step.gradient()));
}

/// y = a^b. No term is NaN where the true one is finite, in the first derivative and in those of this one.
void differentiate_pow(Step& step) {
  const auto& g = step.gradient();
  const auto a = step.input(0), b = step.input(1);
  const auto zero = bridge::scalar_like(a, 0), one = bridge::scalar_like(a, 1);
  const auto base_is_zero = compare(CompareKind::equal, a, zero);
  if (step.needs(0)) {
    // b a^(b-1), which at 0^0 would be 0 * infinity: any finite power gives the right 0 there.
    const auto both_zero = binary(BinaryKind::bit_and, base_is_zero, compare(CompareKind::equal, b, zero));
    const auto exponent = sub(bridge::where(both_zero, one, b), one);
    step.give_broadcast(0, mul(g, mul(b, binary(BinaryKind::pow, a, exponent))));
  }
  if (step.needs(1)) {
    // a^b ln a; 0^b is constant for b > 0, and taken as such at b = 0.
    const auto flat = binary(BinaryKind::bit_and, base_is_zero, compare(CompareKind::greater_equal, b, zero));
    const auto log = unary(UnaryKind::log, bridge::where(flat, one, a));
    step.give_broadcast(1, mul(g, mul(step.output(), log)));
  }
}

}  // namespace

Saves saves(const op::Unary& op, InputSet) {
  switch (op.kind) {
    case UnaryKind::abs:
    case UnaryKind::log:
    case UnaryKind::log1p:
    case UnaryKind::sin:
    case UnaryKind::cos:
    case UnaryKind::erf:
      return from_input;
    case UnaryKind::recip:
    case UnaryKind::sqrt:
    case UnaryKind::rsqrt:
    case UnaryKind::exp:
    case UnaryKind::expm1:
    case UnaryKind::tanh:
    case UnaryKind::sigmoid:
      return from_output;
    case UnaryKind::neg:
    case UnaryKind::sign:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::trunc:
    case UnaryKind::logical_not:
    case UnaryKind::bit_not:
      return nothing;
  }
  return nothing;
}

void differentiate(const op::Unary& op, Step& step) {
  const auto& g = step.gradient();
  switch (op.kind) {
    case UnaryKind::neg:
      return step.give(0, neg(g));
    case UnaryKind::abs:
      return step.give(0, mul(g, unary(UnaryKind::sign, step.input(0))));  // 0 at 0
    case UnaryKind::sign:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::trunc:
      return step.give(0, bridge::zeros_like(g));
    case UnaryKind::recip: {
      const auto y = step.output();
      return step.give(0, neg(mul(g, mul(y, y))));
    }
    case UnaryKind::sqrt:
      return step.give(0, div(mul(g, 0.5), step.output()));
    case UnaryKind::rsqrt: {
      const auto y = step.output();
      return step.give(0, mul(mul(g, -0.5), mul(y, mul(y, y))));
    }
    case UnaryKind::exp:
      return step.give(0, mul(g, step.output()));
    case UnaryKind::expm1:
      return step.give(0, mul(g, add(step.output(), 1)));
    case UnaryKind::log:
      return step.give(0, div(g, step.input(0)));
    case UnaryKind::log1p:
      return step.give(0, div(g, add(step.input(0), 1)));
    case UnaryKind::sin:
      return step.give(0, mul(g, unary(UnaryKind::cos, step.input(0))));
    case UnaryKind::cos:
      return step.give(0, neg(mul(g, unary(UnaryKind::sin, step.input(0)))));
    case UnaryKind::tanh: {
      const auto y = step.output();
      return step.give(0, mul(g, sub(1, mul(y, y))));
    }
    case UnaryKind::sigmoid: {
      const auto y = step.output();
      return step.give(0, mul(g, mul(y, sub(1, y))));
    }
    case UnaryKind::erf: {
      const auto x = step.input(0);
      const auto bell = mul(unary(UnaryKind::exp, neg(mul(x, x))), 2 * std::numbers::inv_sqrtpi);
      return step.give(0, mul(g, bell));
    }
    case UnaryKind::logical_not:
    case UnaryKind::bit_not:
      break;  // never float, so never recorded
  }
}

Saves saves(const op::Binary& op, InputSet tracked) {
  constexpr InputSet a = 1, b = 2;
  switch (op.kind) {
    case BinaryKind::mul:
      return {(tracked & a ? b : 0) | (tracked & b ? a : 0), false};
    case BinaryKind::div:
      return {b, (tracked & b) != 0};
    case BinaryKind::rem:
      return {tracked & b ? a | b : 0, (tracked & b) != 0};
    case BinaryKind::pow:
      return {a | b, (tracked & b) != 0};
    case BinaryKind::max:
    case BinaryKind::min:
      return {a | b, false};
    case BinaryKind::add:
    case BinaryKind::sub:
    case BinaryKind::bit_and:
    case BinaryKind::bit_or:
    case BinaryKind::bit_xor:
    case BinaryKind::shift_left:
    case BinaryKind::shift_right:
      return nothing;
  }
  return nothing;
}

void differentiate(const op::Binary& op, Step& step) {
  const auto& g = step.gradient();
  switch (op.kind) {
    case BinaryKind::add:
      if (step.needs(0)) step.give_broadcast(0, g);
      if (step.needs(1)) step.give_broadcast(1, g);
      return;
    case BinaryKind::sub:
      if (step.needs(0)) step.give_broadcast(0, g);
      if (step.needs(1)) step.give_broadcast(1, neg(g));
      return;
    case BinaryKind::mul:
      if (step.needs(0)) step.give_broadcast(0, mul(g, step.input(1)));
      if (step.needs(1)) step.give_broadcast(1, mul(g, step.input(0)));
      return;
    case BinaryKind::div: {
      const auto da = div(g, step.input(1));
      if (step.needs(0)) step.give_broadcast(0, da);
      if (step.needs(1)) step.give_broadcast(1, neg(mul(da, step.output())));
      return;
    }
    case BinaryKind::rem:
      if (step.needs(0)) step.give_broadcast(0, g);
      if (step.needs(1)) {  // a rem b = a - q b with a whole q that is locally constant
        const auto q = div(sub(step.input(0), step.output()), step.input(1));
        step.give_broadcast(1, neg(mul(g, unary(UnaryKind::round, q))));
      }
      return;
    case BinaryKind::pow:
      return differentiate_pow(step);
    case BinaryKind::max:
      return differentiate_order(CompareKind::greater, step);
    case BinaryKind::min:
      return differentiate_order(CompareKind::less, step);
    case BinaryKind::bit_and:
    case BinaryKind::bit_or:
    case BinaryKind::bit_xor:
    case BinaryKind::shift_left:
    case BinaryKind::shift_right:
      break;  // never float, so never recorded
  }
}

Saves saves(const op::Where&, InputSet) { return {1, false}; }

void differentiate(const op::Where&, Step& step) {
  const auto condition = step.input(0);
  const auto& g = step.gradient();
  const auto zero = bridge::scalar_like(g, 0);
  if (step.needs(1)) step.give_broadcast(1, bridge::where(condition, g, zero));
  if (step.needs(2)) step.give_broadcast(2, bridge::where(condition, zero, g));
}

Saves saves(const op::Cast&, InputSet) { return nothing; }

void differentiate(const op::Cast&, Step& step) {
  step.give(0, bridge::cast(step.gradient(), step.input_type(0).dtype));
}

}  // namespace strata::autodiff
