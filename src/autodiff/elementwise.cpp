#include <limits>
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

/// 1 - x^2, exact near 1.
ValueRef one_minus_square(const ValueRef& x) { return mul(sub(1, x), add(x, 1)); }

/// x where |x| <= limit, else the limit: where a factor has vanished, so that it does not meet an infinity.
ValueRef limited(const ValueRef& x, double limit) {
  return binary(BinaryKind::max, binary(BinaryKind::min, x, limit), -limit);
}

/// y = x N(x), N the normal distribution function: N(x) + x e^(-x^2 / 2) / sqrt(2 pi).
void differentiate_gelu(Step& step) {
  const auto x = limited(step.input(0), 40);
  const auto distribution = mul(add(unary(UnaryKind::erf, mul(x, std::numbers::sqrt2 / 2)), 1), 0.5);
  const auto bell = unary(UnaryKind::exp, mul(mul(x, x), -0.5));
  const auto density = mul(bell, std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
  step.give(0, mul(step.gradient(), add(distribution, mul(x, density))));
}

/// y = x s(x), s the sigmoid: s(x) (1 + x s(-x)).
void differentiate_silu(Step& step) {
  const auto x = limited(step.input(0), 1000);
  const auto rest = mul(x, unary(UnaryKind::sigmoid, neg(x)));
  step.give(0, mul(step.gradient(), mul(unary(UnaryKind::sigmoid, x), add(rest, 1))));
}

/// The angle of (x, y) turns by (x dy - y dx) / (x^2 + y^2): taken as 0 at the origin and at infinity.
void differentiate_atan2(Step& step) {
  const auto y = step.input(0), x = step.input(1);
  const auto radius = binary(BinaryKind::hypot, y, x);
  const auto apart = [&](double v) { return compare(CompareKind::equal, radius, v); };
  const auto flat = binary(BinaryKind::bit_or, apart(0), apart(std::numeric_limits<double>::infinity()));
  const auto zero = bridge::scalar_like(x, 0), one = bridge::scalar_like(x, 1);
  const auto inner_radius =
      binary(BinaryKind::hypot, bridge::where(flat, one, y), bridge::where(flat, zero, x));
  const auto scaled = div(step.gradient(), inner_radius);
  const auto along = [&](const ValueRef& v) {
    return mul(scaled, div(bridge::where(flat, zero, v), inner_radius));
  };
  if (step.needs(0)) step.give_broadcast(0, along(x));
  if (step.needs(1)) step.give_broadcast(1, neg(along(y)));
}

/// The derivative of digamma for positive x: sum of 1 / (x + k)^2 to x >= 8, then the asymptotic series,
/// whose terms are Bernoulli numbers (Abramowitz and Stegun 6.4.12): below 2e-16 of the value off.
ValueRef positive_trigamma(const ValueRef& x) {
  constexpr double bernoulli[] = {1. / 6,  -1. / 30,     1. / 42, -1. / 30,
                                  5. / 66, -691. / 2730, 7. / 6,  -3617. / 510};
  const auto inverse_of = [](const ValueRef& v) { return unary(UnaryKind::recip, v); };
  const auto square = [](const ValueRef& v) { return mul(v, v); };
  ValueRef sum = square(inverse_of(x));
  for (int k = 1; k < 8; ++k) sum = add(sum, square(inverse_of(add(x, k))));
  const auto inverse = inverse_of(add(x, 8)), z = square(inverse);
  ValueRef series = mul(z, bernoulli[7]);
  for (int k = 6; k >= 0; --k) series = mul(z, add(series, bernoulli[k]));
  return add(sum, mul(inverse, add(add(series, mul(inverse, 0.5)), 1)));
}

/// Below 1/2 by reflection: pi^2 / sin^2(pi x) - trigamma(1 - x). Halves are computed in f32.
ValueRef trigamma(const ValueRef& of) {
  const auto x = size_of(of->dtype) < 4 ? bridge::cast(of, DType::f32) : of;
  const auto reflected = compare(CompareKind::less, x, 0.5);
  const auto value = positive_trigamma(bridge::where(reflected, sub(1, x), x));
  // sin^2 has period pi, so x is first taken to [-1/2, 1/2], where pi x is accurate
  const auto rest = sub(x, unary(UnaryKind::round, x));
  const auto angle = mul(bridge::where(reflected, rest, bridge::scalar_like(x, 0.5)), std::numbers::pi);
  const auto slope = div(bridge::scalar_like(x, std::numbers::pi), unary(UnaryKind::sin, angle));
  return bridge::cast(bridge::where(reflected, sub(mul(slope, slope), value), value), of->dtype);
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
    case UnaryKind::log2:
    case UnaryKind::log10:
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atan:
    case UnaryKind::sinh:
    case UnaryKind::cosh:
    case UnaryKind::asinh:
    case UnaryKind::acosh:
    case UnaryKind::atanh:
    case UnaryKind::gelu:
    case UnaryKind::silu:
    case UnaryKind::softplus:
    case UnaryKind::lgamma:
    case UnaryKind::digamma:
      return from_input;
    case UnaryKind::recip:
    case UnaryKind::sqrt:
    case UnaryKind::rsqrt:
    case UnaryKind::exp:
    case UnaryKind::expm1:
    case UnaryKind::tanh:
    case UnaryKind::sigmoid:
    case UnaryKind::exp2:
    case UnaryKind::tan:
    case UnaryKind::erfinv:
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
    case UnaryKind::exp2:
      return step.give(0, mul(mul(g, std::numbers::ln2), step.output()));
    case UnaryKind::log2:
      return step.give(0, div(mul(g, std::numbers::log2e), step.input(0)));
    case UnaryKind::log10:
      return step.give(0, div(mul(g, std::numbers::log10e), step.input(0)));
    case UnaryKind::tan: {
      const auto y = step.output();
      return step.give(0, mul(g, add(mul(y, y), 1)));
    }
    case UnaryKind::asin:
      return step.give(0, mul(g, unary(UnaryKind::rsqrt, one_minus_square(step.input(0)))));
    case UnaryKind::acos:
      return step.give(0, neg(mul(g, unary(UnaryKind::rsqrt, one_minus_square(step.input(0))))));
    case UnaryKind::atan: {
      const auto x = step.input(0);
      return step.give(0, div(g, add(mul(x, x), 1)));
    }
    case UnaryKind::sinh:
      return step.give(0, mul(g, unary(UnaryKind::cosh, step.input(0))));
    case UnaryKind::cosh:
      return step.give(0, mul(g, unary(UnaryKind::sinh, step.input(0))));
    case UnaryKind::asinh:  // hypot: x^2 alone overflows
      return step.give(0, div(g, binary(BinaryKind::hypot, step.input(0), 1)));
    case UnaryKind::acosh: {
      const auto x = step.input(0);
      const auto below = unary(UnaryKind::rsqrt, add(x, -1)), above = unary(UnaryKind::rsqrt, add(x, 1));
      return step.give(0, mul(g, mul(below, above)));
    }
    case UnaryKind::atanh:
      return step.give(0, div(g, one_minus_square(step.input(0))));
    case UnaryKind::gelu:
      return differentiate_gelu(step);
    case UnaryKind::silu:
      return differentiate_silu(step);
    case UnaryKind::softplus:
      return step.give(0, mul(g, unary(UnaryKind::sigmoid, step.input(0))));
    case UnaryKind::erfinv: {
      const auto y = step.output();
      const auto slope = mul(unary(UnaryKind::exp, mul(y, y)), 0.5 / std::numbers::inv_sqrtpi);
      return step.give(0, mul(g, slope));
    }
    case UnaryKind::lgamma:
      return step.give(0, mul(g, unary(UnaryKind::digamma, step.input(0))));
    case UnaryKind::digamma:
      return step.give(0, mul(g, trigamma(step.input(0))));
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
    case BinaryKind::fmod:
      return {tracked & b ? a | b : 0, (tracked & b) != 0};
    case BinaryKind::atan2:
      return {a | b, false};
    case BinaryKind::hypot:
      return {tracked, true};
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
    case BinaryKind::fmod:
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
    case BinaryKind::atan2:
      return differentiate_atan2(step);
    case BinaryKind::hypot: {  // 0 at the origin, as abs
      const auto h = step.output();
      const auto ratio =
          div(g, bridge::where(compare(CompareKind::equal, h, 0.0), bridge::scalar_like(h, 1), h));
      if (step.needs(0)) step.give_broadcast(0, mul(ratio, step.input(0)));
      if (step.needs(1)) step.give_broadcast(1, mul(ratio, step.input(1)));
      return;
    }
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
