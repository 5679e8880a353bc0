#include "kernel/math.hpp"

#include <limits>
#include <string>

namespace strata::kernel {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void level(Val& a, Val& b) {
  if (a.lanes() == 1 && b.lanes() > 1) a = splat(a, b.lanes());
  if (b.lanes() == 1 && a.lanes() > 1) b = splat(b, a.lanes());
  if (a.type != b.type)
    Builder::current().fail("operand types " + to_string(a.type) + " and " + to_string(b.type) + " differ");
}

/// True where the sign bits differ.
Val signs_differ(Val a, Val b) { return (a ^ b) < 0; }

/// The divisor, or 1 where the machine's division would trap.
Val safe_divisor(Val b) { return select((b == 0) | (b == -1), 1, b); }

Val floor_div_signed(Val a, Val b) {
  const Val quotient = select(b == -1, -a, a / safe_divisor(b));
  const Val rest = a - quotient * b;
  const Val down = (rest != 0) & signs_differ(rest, b);
  return select(b == 0, 0, select(down, quotient - 1, quotient));
}

/// a - n b for an integer n with the result below |b|: each step takes off at least 52 bits of the quotient,
/// without rounding, since n b and the difference share their last place. `extreme`: the quotient may lie
/// beyond f64's range; then a multiple of b by a power of two is taken off.
Val float_remainder(Val a, Val b, bool extreme) {
  const Val size = abs(b);
  const auto too_large = [](Val quotient) {
    return abs(quotient) == std::numeric_limits<double>::infinity();
  };
  const auto step = [&](Val rest) {
    Val divisor = b;
    for (int i = 0; extreme && i < 2; ++i)
      divisor = select(too_large(rest / divisor), divisor * 0x1p600, divisor);
    const Val n = trunc(rest / divisor);
    return select(n == 0, rest, fma(-n, divisor, rest));
  };
  const Var rest(step(a));
  while_([&] { return any(abs(rest.get()) >= size); },
         [&] {
           const Val r = rest.get();
           rest = select(abs(r) >= size, step(r), r);
         });
  return rest;
}

Val int_pow(Val x, Val y) {
  const Var result(constant(x.type, 1)), base(x), left(y);
  while_([&] { return any(left.get() > 0); },
         [&] {
           const Val n = left.get(), factor = base.get();
           result = select(((n & 1) != 0) & (n > 0), result.get() * factor, result.get());
           base = factor * factor;
           left = n >> 1;
         });
  if (!is_signed(x.scalar())) return result;
  const Val of_minus_one = select((y & 1) == 0, constant(x.type, 1), constant(x.type, -1));
  const Val inverse = select(x == 1, 1, select(x == -1, of_minus_one, constant(x.type, 0)));
  return select(y < 0, inverse, result.get());
}

/// A value as the sum of two f64.
struct Double2 {
  Val high, low;
};
Double2 fast_two_sum(Val a, Val b) {  // |a| >= |b|
  const Val s = a + b;
  return {s, b - (s - a)};
}
Double2 product(Val a, Val b) {
  const Val p = a * b;
  return {p, fma(a, b, -p)};
}
Double2 product(Double2 a, Double2 b) {
  const Double2 p = product(a.high, b.high);
  return fast_two_sum(p.high, p.low + fma(a.high, b.low, a.low * b.high));
}

/// log(x) for finite x > 0 to about 2^-66: x = 2^k m, m in [sqrt(1/2), sqrt(2)), s = (m - 1) / (m + 1),
/// log m = 2 s + s z (2/3 + z P(z)), z = s^2, where all but P(z) is computed in two f64.
Double2 log_in_two(Val x) {
  const auto f64 = [&](double v) { return constant(x.type, v); };
  const Val subnormal = x < 0x1p-1022;
  const Val scaled = select(subnormal, x * 0x1p54, x);
  const Val word = bitcast(scaled, Scalar::i64);
  const Val k = (word - 0x3fe6a09e667f3bcdLL) >> 52;
  const Val m = bitcast(word - (k << 52), Scalar::f64);
  const Val n = convert(k, Scalar::f64) - select(subnormal, f64(54), f64(0));

  const Val below = m - 1.0;  // exact
  const Double2 above = [&] {
    const Val sum = m + 1.0;
    return Double2{sum, select(m >= 1.0, 1.0 - (sum - m), m - (sum - 1.0))};
  }();
  const Val high = below / above.high;
  const Val low = fma(-high, above.low, fma(-high, above.high, below)) / above.high;
  const Double2 s{high, low};
  const Double2 z = product(s, s);
  // minimax of (log(m) / s - 2) / z - 2/3, see fit_math.py
  Val p = f64(0.10763965919082968);
  for (const double c : {0.10456149676063121, 0.11766821428468349, 0.13333296332200978, 0.15384615763895645,
                         0.18181818179636997, 0.22222222222228502, 0.28571428571428564, 0.4})
    p = fma(p, z.high, f64(c));
  const Double2 tail = fast_two_sum(f64(0.6666666666666666), fma(p, z.high, f64(3.700743415417188e-17)));
  const Double2 series = product(product(s, z), tail);
  const Double2 twice = fast_two_sum(2.0 * s.high, series.high);
  const Double2 ln_m = fast_two_sum(twice.high, twice.low + (2.0 * s.low + series.low));
  // n ln 2, its high part exact: 11 bits of n, 42 of the constant
  constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
  const Val whole = n * ln2_high;
  const Val sum = whole + ln_m.high;
  const Val from_m = sum - whole;
  const Val error = (whole - (sum - from_m)) + (ln_m.high - from_m);
  return fast_two_sum(sum, error + (ln_m.low + n * ln2_low));
}

/// |x|^y in f64 for any y, without the cases where log |x| is not finite.
Val positive_pow(Val x, Val y) {
  const Double2 l = log_in_two(x);
  const Double2 p = product(y, l.high);
  const Val low = fma(y, l.low, p.low);
  const Val e = exp(p.high);
  // where p is infinite or its low part no number, exp alone is the answer
  const Val exact = (abs(p.high) < 800.0) & (e < infinity);
  return select(exact, fma(e, low, e), e);
}

Val float_pow(Val x, Val y) {
  const bool wide = x.scalar() == Scalar::f64;
  const Val base = convert(x, Scalar::f64), power = convert(y, Scalar::f64), size = abs(base);
  const auto f64 = [&](double v) { return constant(base.type, v); };
  Val r = wide ? positive_pow(size, power) : exp(power * log(size));
  if (wide) {  // log_in_two takes finite positive numbers only
    const Val grows = power > 0.0;
    r = select(size == 0.0, select(grows, f64(0), f64(infinity)), r);
    r = select(size == infinity, select(grows, f64(infinity), f64(0)), r);
    r = select(abs(power) == infinity, select((size > 1.0) == grows, f64(infinity), f64(0)), r);
    r = select(is_nan(base), base, select(is_nan(power), power, r));
  }
  const Val negative = bitcast(base, Scalar::i64) < 0;
  const Val whole = trunc(power) == power;
  const Val half = power * 0.5;
  const Val odd = whole & (trunc(half) != half);
  r = select(negative & odd, -r, r);
  r = select((base < 0.0) & (size < infinity) & !whole, f64(std::numeric_limits<double>::quiet_NaN()), r);
  r = select((base == -1.0) & (abs(power) == infinity), f64(1), r);
  r = select((base == 1.0) | (power == 0.0), f64(1), r);
  return convert(r, x.scalar());
}

}  // namespace

Val floor_div(Val a, Val b) {
  level(a, b);
  if (is_half(a.scalar()))
    return convert(floor(convert(a, Scalar::f32) / convert(b, Scalar::f32)), a.scalar());
  if (is_float(a.scalar())) return floor(a / b);
  if (is_signed(a.scalar())) return floor_div_signed(a, b);
  return select(b == 0, 0, a / select(b == 0, 1, b));
}

Val floor_rem(Val a, Val b) {
  level(a, b);
  const Scalar s = a.scalar();
  if (is_float(s)) {
    const Val divisor = convert(b, Scalar::f64);
    const Val rest = float_remainder(convert(a, Scalar::f64), divisor, s == Scalar::f64);
    const Val other_side = (rest != 0.0) & ((rest < 0.0) != (divisor < 0.0));
    const Val moved = select(other_side, rest + divisor, rest);
    return convert(select(moved == 0.0, copy_sign(moved, divisor), moved), s);
  }
  if (!is_signed(s)) return select(b == 0, 0, a % select(b == 0, 1, b));
  const Val rest = a % safe_divisor(b);
  return select((rest != 0) & signs_differ(rest, b), rest + b, rest);
}

Val truncated_rem(Val a, Val b) {
  level(a, b);
  const Scalar s = a.scalar();
  if (is_float(s)) {
    const Val dividend = convert(a, Scalar::f64), divisor = convert(b, Scalar::f64);
    const Val rest = float_remainder(dividend, divisor, s == Scalar::f64);
    // the rounded quotient may have been one too large
    const Val other_side = (rest != 0.0) & ((rest < 0.0) != (dividend < 0.0));
    const Val moved = select(other_side, rest + copy_sign(divisor, dividend), rest);
    return convert(select(moved == 0.0, copy_sign(moved, dividend), moved), s);
  }
  // x % 1 is the 0 that x % 0 and x % -1 are
  return a % (is_signed(s) ? safe_divisor(b) : select(b == 0, 1, b));
}

Val pow(Val x, Val y) {
  level(x, y);
  return is_float(x.scalar()) ? float_pow(x, y) : int_pow(x, y);
}

Val sigmoid(Val x) {
  if (is_half(x.scalar())) return convert(sigmoid(convert(x, Scalar::f32)), x.scalar());
  const Val e = exp(-abs(x));
  return select(x >= 0, constant(x.type, 1), e) / (1 + e);
}

Val sign(Val x) {
  if (!is_signed(x.scalar()) && !is_float(x.scalar())) return select(x == 0, x, constant(x.type, 1));
  const Val zero_or_nan = is_float(x.scalar()) ? select(x == 0, 0, x) : constant(x.type, 0);
  return select(x > 0, 1, select(x < 0, constant(x.type, -1), zero_or_nan));
}

Val copy_sign(Val magnitude, Val sign_of) {
  const Scalar word = magnitude.scalar() == Scalar::f64 ? Scalar::i64 : Scalar::i32;
  const auto sign_bit = word == Scalar::i64 ? std::numeric_limits<std::int64_t>::min()
                                            : std::int64_t{std::numeric_limits<std::int32_t>::min()};
  return bitcast((bitcast(magnitude, word) & ~sign_bit) | (bitcast(sign_of, word) & sign_bit),
                 magnitude.scalar());
}

Val any(Val condition) {
  if (condition.lanes() == 1) return condition;
  return reduce_max(convert(condition, Scalar::i32)) != 0;
}

std::array<Val, 4> philox(const std::array<Val, 4>& counter, const std::array<Val, 2>& key) {
  constexpr std::uint32_t multiplier[2] = {0xD2511F53u, 0xCD9E8D57u}, weyl[2] = {0x9E3779B9u, 0xBB67AE85u};
  auto c = counter;
  auto k = key;
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      k[0] = k[0] + weyl[0];
      k[1] = k[1] + weyl[1];
    }
    const Val high0 = mul_high(c[0], multiplier[0]), low0 = c[0] * multiplier[0];
    const Val high1 = mul_high(c[2], multiplier[1]), low1 = c[2] * multiplier[1];
    c = {high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0};
  }
  return c;
}

std::array<Val, 4> philox(Val counter_low, Val counter_high, Val key_low, Val key_high) {
  const auto low = [](Val v) { return convert(v, Scalar::u32); };
  const auto high = [](Val v) { return convert(v >> 32, Scalar::u32); };
  level(counter_low, counter_high);
  return philox({low(counter_low), high(counter_low), low(counter_high), high(counter_high)},
                {splat(key_low, key_low.lanes() == 1 ? counter_low.lanes() : 1),
                 splat(key_high, key_high.lanes() == 1 ? counter_low.lanes() : 1)});
}

}  // namespace strata::kernel
