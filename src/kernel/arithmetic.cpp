/// The language's arithmetic: operand types, splats, and folding of integer constants so that index
/// arithmetic stays short in dumps.
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "kernel/builder.hpp"
#include "strata/dtype.hpp"

namespace strata::kernel {
namespace {

Builder& builder() { return Builder::current(); }

std::int64_t float_bits(Scalar s, double v) {
  switch (s) {
    case Scalar::f64:
      return std::bit_cast<std::int64_t>(v);
    case Scalar::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(v));
    case Scalar::f16:
      return Float16(static_cast<float>(v)).bits;
    default:
      return BFloat16(static_cast<float>(v)).bits;
  }
}

void check_scalars(Opcode op, Val a, Val b) {
  if (a.type == b.type) return;
  builder().fail(std::string(name_of(op)) + " of " + to_string(a.type) + " and " + to_string(b.type) +
                 ": operand types must be equal");
}

/// Gives a scalar operand the lanes of the other one.
void level(Opcode op, Val& a, Val& b) {
  if (a.lanes() == 1 && b.lanes() > 1) a = splat(a, b.lanes());
  if (b.lanes() == 1 && a.lanes() > 1) b = splat(b, a.lanes());
  check_scalars(op, a, b);
}

void want(Opcode op, Val a, bool ok, const char* expected) {
  if (!ok) builder().fail(std::string(name_of(op)) + " of " + to_string(a.type) + ": expects " + expected);
}

/// Integer and boolean constants combined at build time; nullopt where the operation has no value.
std::optional<std::int64_t> fold(Opcode op, Scalar s, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  const auto wrap = [&](std::uint64_t v) { return wrap_to(s, static_cast<std::int64_t>(v)); };
  const bool is_unsigned = s == Scalar::u64;
  const auto less = [&](std::int64_t x, std::int64_t y) {
    return is_unsigned ? static_cast<std::uint64_t>(x) < static_cast<std::uint64_t>(y) : x < y;
  };
  const auto width = static_cast<std::int64_t>(8 * size_of(s));
  switch (op) {
    case Opcode::add:
      return wrap(ua + ub);
    case Opcode::sub:
      return wrap(ua - ub);
    case Opcode::mul:
      return wrap(ua * ub);
    case Opcode::div:
      if (b == 0 || b == -1) return std::nullopt;
      return is_unsigned ? wrap(ua / ub) : wrap_to(s, a / b);
    case Opcode::rem:
      if (b == 0 || b == -1) return std::nullopt;
      return is_unsigned ? wrap(ua % ub) : wrap_to(s, a % b);
    case Opcode::min:
      return less(b, a) ? b : a;
    case Opcode::max:
      return less(a, b) ? b : a;
    case Opcode::bit_and:
      return a & b;
    case Opcode::bit_or:
      return a | b;
    case Opcode::bit_xor:
      return a ^ b;
    case Opcode::shift_left:
      if (b < 0 || b >= width) return std::nullopt;
      return wrap(ua << ub);
    case Opcode::shift_right:
      if (b < 0 || b >= width) return std::nullopt;
      return is_signed(s) ? a >> b : wrap(ua >> ub);
    case Opcode::eq:
      return a == b;
    case Opcode::ne:
      return a != b;
    case Opcode::lt:
      return less(a, b);
    case Opcode::le:
      return !less(b, a);
    case Opcode::gt:
      return less(b, a);
    case Opcode::ge:
      return !less(a, b);
    default:
      return std::nullopt;
  }
}

/// x op identity, x op absorbing element.
std::optional<Val> simplify(Opcode op, Val a, Val b, std::optional<std::int64_t> ca,
                            std::optional<std::int64_t> cb) {
  switch (op) {
    case Opcode::add:
      if (ca == 0) return b;
      if (cb == 0) return a;
      break;
    case Opcode::sub:
    case Opcode::shift_left:
    case Opcode::shift_right:
      if (cb == 0) return a;
      break;
    case Opcode::mul:
      if (ca == 1) return b;
      if (cb == 1) return a;
      if (ca == 0) return a;
      if (cb == 0) return b;
      break;
    case Opcode::div:
      if (cb == 1) return a;
      break;
    case Opcode::bit_and:
      if (ca == 0) return a;
      if (cb == 0) return b;
      if (a.scalar() == Scalar::boolean && ca == 1) return b;
      if (a.scalar() == Scalar::boolean && cb == 1) return a;
      break;
    case Opcode::bit_or:
    case Opcode::bit_xor:
      if (ca == 0) return b;
      if (cb == 0) return a;
      break;
    default:
      break;
  }
  return std::nullopt;
}

Val binary(Opcode op, Val a, Val b) {
  level(op, a, b);
  const bool comparison = op >= Opcode::eq && op <= Opcode::ge;
  const Type result = comparison ? Type{Scalar::boolean, a.type.lanes} : a.type;
  if (!is_float(a.scalar())) {
    const auto ca = builder().bits_of(a), cb = builder().bits_of(b);
    if (ca && cb)
      if (const auto v = fold(op, a.scalar(), *ca, *cb)) return builder().constant(result, *v);
    if (ca || cb)
      if (const auto v = simplify(op, a, b, ca, cb)) return *v;
  }
  return builder().emit(op, result, {a.id, b.id});
}

Val unary(Opcode op, Val a, bool ok, const char* expected) {
  want(op, a, ok, expected);
  return builder().emit(op, a.type, {a.id});
}
Val float_unary(Opcode op, Val a) { return unary(op, a, is_float(a.scalar()), "floats"); }

Val reduce(Opcode op, Val v) {
  if (v.lanes() == 1) return v;
  return builder().emit(op, make_type(v.scalar()), {v.id});
}

}  // namespace

Val constant_bits(Type t, std::int64_t bits) { return builder().constant(t, bits); }

Val constant(Type t, Literal v) {
  if (is_float(t.scalar))
    return builder().constant(t, float_bits(t.scalar, v.is_float ? v.real : static_cast<double>(v.integer)));
  if (v.is_float) {
    if (v.real != std::trunc(v.real) || !(std::abs(v.real) < 0x1p63))
      builder().fail("the literal " + std::to_string(v.real) + " is no " + std::string(name_of(t.scalar)));
    return builder().constant(t, wrap_to(t.scalar, static_cast<std::int64_t>(v.real)));
  }
  return builder().constant(t, wrap_to(t.scalar, v.integer));
}

#define STRATA_BINARY(name, opcode, allowed, expected)                \
  Val name(Val a, Val b) {                                            \
    want(Opcode::opcode, a, allowed(a.scalar()), expected);           \
    return binary(Opcode::opcode, a, b);                              \
  }                                                                   \
  Val name(Val a, Literal b) { return name(a, constant(a.type, b)); } \
  Val name(Literal a, Val b) { return name(constant(b.type, a), b); }

namespace {
constexpr bool numeric(Scalar s) { return s != Scalar::boolean; }
constexpr bool bits(Scalar s) { return !is_float(s); }
constexpr bool any(Scalar) { return true; }
constexpr bool words(Scalar s) { return s == Scalar::u32 || s == Scalar::i32; }
}  // namespace

STRATA_BINARY(operator+, add, numeric, "numbers")
STRATA_BINARY(operator-, sub, numeric, "numbers")
STRATA_BINARY(operator*, mul, numeric, "numbers")
STRATA_BINARY(operator/, div, numeric, "numbers")
STRATA_BINARY(operator%, rem, is_int, "integers")
STRATA_BINARY(operator&, bit_and, bits, "integers or booleans")
STRATA_BINARY(operator|, bit_or, bits, "integers or booleans")
STRATA_BINARY(operator^, bit_xor, bits, "integers or booleans")
STRATA_BINARY(operator<<, shift_left, is_int, "integers")
STRATA_BINARY(operator>>, shift_right, is_int, "integers")
STRATA_BINARY(operator==, eq, any, "any")
STRATA_BINARY(operator!=, ne, any, "any")
STRATA_BINARY(operator<, lt, any, "any")
STRATA_BINARY(operator<=, le, any, "any")
STRATA_BINARY(operator>, gt, any, "any")
STRATA_BINARY(operator>=, ge, any, "any")
STRATA_BINARY(min, min, numeric, "numbers")
STRATA_BINARY(max, max, numeric, "numbers")
STRATA_BINARY(mul_high, mul_high, words, "u32 or i32")
#undef STRATA_BINARY

Val scale_exponent(Val x, Val n) {
  const Scalar wanted = x.scalar() == Scalar::f64 ? Scalar::i64 : Scalar::i32;
  want(Opcode::scale_exponent, x, x.scalar() == Scalar::f32 || x.scalar() == Scalar::f64, "f32 or f64");
  want(Opcode::scale_exponent, n, n.scalar() == wanted, "an exponent of i32 (for f32) or i64 (for f64)");
  if (x.lanes() == 1 && n.lanes() > 1) x = splat(x, n.lanes());
  if (n.lanes() == 1 && x.lanes() > 1) n = splat(n, x.lanes());
  want(Opcode::scale_exponent, n, n.lanes() == x.lanes(), "as many exponents as values");
  return builder().emit(Opcode::scale_exponent, x.type, {x.id, n.id});
}
Val scale_exponent(Val x, Literal n) {
  return scale_exponent(x,
                        constant({x.scalar() == Scalar::f64 ? Scalar::i64 : Scalar::i32, x.type.lanes}, n));
}
Val scale_exponent(Literal x, Val n) {
  return scale_exponent(constant({n.scalar() == Scalar::i64 ? Scalar::f64 : Scalar::f32, n.type.lanes}, x),
                        n);
}

Val operator-(Val a) {
  if (!is_float(a.scalar()))
    if (const auto c = builder().bits_of(a); c && numeric(a.scalar()))
      return builder().constant(
          a.type, wrap_to(a.scalar(), static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(*c))));
  return unary(Opcode::neg, a, numeric(a.scalar()), "numbers");
}
Val operator!(Val a) {
  if (a.scalar() == Scalar::boolean) return a ^ constant(a.type, 1);
  return ~a;
}
Val operator~(Val a) {
  if (const auto c = builder().bits_of(a); c && is_int(a.scalar()))
    return builder().constant(a.type, wrap_to(a.scalar(), ~*c));
  return unary(Opcode::bit_not, a, is_int(a.scalar()), "integers");
}

Val abs(Val a) { return unary(Opcode::abs, a, numeric(a.scalar()), "numbers"); }
Val sqrt(Val a) { return float_unary(Opcode::sqrt, a); }
Val floor(Val a) { return float_unary(Opcode::floor, a); }
Val ceil(Val a) { return float_unary(Opcode::ceil, a); }
Val rint(Val a) { return float_unary(Opcode::rint, a); }
Val trunc(Val a) { return float_unary(Opcode::trunc, a); }
Val exp(Val a) { return float_unary(Opcode::exp, a); }
Val log(Val a) { return float_unary(Opcode::log, a); }
Val tanh(Val a) { return float_unary(Opcode::tanh, a); }
Val sin(Val a) { return float_unary(Opcode::sin, a); }
Val cos(Val a) { return float_unary(Opcode::cos, a); }
Val log1p(Val a) { return float_unary(Opcode::log1p, a); }
Val expm1(Val a) { return float_unary(Opcode::expm1, a); }
Val erf(Val a) { return float_unary(Opcode::erf, a); }
Val exp2_fast(Val a) { return float_unary(Opcode::exp2_fast, a); }
Val recip_fast(Val a) { return float_unary(Opcode::recip_fast, a); }
Val is_nan(Val a) {
  want(Opcode::is_nan, a, is_float(a.scalar()), "floats");
  return builder().emit(Opcode::is_nan, {Scalar::boolean, a.type.lanes}, {a.id});
}

Val fma(Val a, Val b, Val c) {
  want(Opcode::fma, a, is_float(a.scalar()), "floats");
  level(Opcode::fma, a, b);
  level(Opcode::fma, b, c);
  level(Opcode::fma, a, c);
  return builder().emit(Opcode::fma, a.type, {a.id, b.id, c.id});
}

Val select(Val condition, Val t, Val f) {
  want(Opcode::select, condition, condition.scalar() == Scalar::boolean, "a boolean condition");
  if (const auto c = builder().bits_of(condition);
      c && t.type == f.type && t.type.lanes == condition.type.lanes)
    return *c != 0 ? t : f;
  level(Opcode::select, t, f);
  if (condition.lanes() == 1 && t.lanes() > 1) condition = splat(condition, t.lanes());
  if (t.lanes() == 1 && condition.lanes() > 1) {
    t = splat(t, condition.lanes());
    f = splat(f, condition.lanes());
  }
  want(Opcode::select, condition, condition.lanes() == t.lanes(), "as many conditions as values");
  return builder().emit(Opcode::select, t.type, {condition.id, t.id, f.id});
}
Val select(Val condition, Literal t, Val f) { return select(condition, constant(f.type, t), f); }
Val select(Val condition, Val t, Literal f) { return select(condition, t, constant(t.type, f)); }

Val convert(Val a, Scalar to) {
  if (a.scalar() == to) return a;
  const Type result{to, a.type.lanes};
  if (const auto c = builder().bits_of(a); c && !is_float(a.scalar()) && a.scalar() != Scalar::u64) {
    if (!is_float(to)) return builder().constant(result, wrap_to(to, *c));
    if (to == Scalar::f64) return builder().constant(result, float_bits(to, static_cast<double>(*c)));
  }
  return builder().emit(Opcode::convert, result, {a.id});
}

Val bitcast(Val a, Scalar to) {
  if (a.scalar() == to) return a;
  want(Opcode::bitcast, a,
       size_of(a.scalar()) == size_of(to) && a.scalar() != Scalar::boolean && to != Scalar::boolean,
       "a type of equal size");
  return builder().emit(Opcode::bitcast, {to, a.type.lanes}, {a.id});
}

Val splat(Val a, int lanes) {
  if (lanes == 1) return a;
  want(Opcode::splat, a, a.lanes() == 1, "a scalar");
  if (const auto c = builder().bits_of(a)) return builder().constant(make_type(a.scalar(), lanes), *c);
  return builder().emit(Opcode::splat, make_type(a.scalar(), lanes), {a.id});
}

Val extract(Val v, int lane) {
  want(Opcode::extract, v, lane >= 0 && lane < v.lanes(), "a lane inside the vector");
  if (v.lanes() == 1) return v;
  return builder().emit(Opcode::extract, make_type(v.scalar()), {v.id}, lane);
}

Val insert(Val v, Val x, int lane) {
  want(Opcode::insert, v, lane >= 0 && lane < v.lanes(), "a lane inside the vector");
  want(Opcode::insert, x, x.type == make_type(v.scalar()), "a scalar of the vector's type");
  if (v.lanes() == 1) return x;
  return builder().emit(Opcode::insert, v.type, {v.id, x.id}, lane);
}

Val shuffle(Val a, Val b, std::vector<std::int32_t> lanes) {
  check_scalars(Opcode::shuffle, a, b);
  return builder().shuffle(a, b, std::move(lanes));
}

Val lane_index(Type t) {
  if (t.lanes == 1) return constant(t, 0);
  return builder().emit(Opcode::lane_index, t, {});
}

Val reduce_add(Val v) { return reduce(Opcode::reduce_add, v); }
Val reduce_mul(Val v) { return reduce(Opcode::reduce_mul, v); }
Val reduce_min(Val v) { return reduce(Opcode::reduce_min, v); }
Val reduce_max(Val v) { return reduce(Opcode::reduce_max, v); }

}  // namespace strata::kernel
