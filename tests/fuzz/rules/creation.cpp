#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

bool is_number(DType t) { return t != DType::boolean; }

op::Number number(Chooser& c) {
  switch (c.below(4)) {
    case 0:
      return op::Number(c.between(-3, 300));
    case 1:
      return op::Number(c.chance(0.5));
    case 2:
      return op::Number(c.one_of(std::vector<double>{NAN, INFINITY, -0.0, 1e30, -1e-30, 0.1}));
    default:
      return op::Number(static_cast<double>(c.between(-12, 12)) / 4);
  }
}

Call choose_fill(Chooser& c) {
  // Mostly numbers that other values use: a scalar, or a shape that broadcasts.
  const auto like = c.type(c.any());
  const Shape shape = c.chance(0.5) ? Shape{} : c.broadcastable(like.shape);
  return {op::Fill{shape, like.dtype, number(c)}, {}};
}
Errors fill_errors(const op::Fill&, Propagation&) { return {}; }
std::string fill_literal(const op::Fill& o) {
  return fmt::format("op::Fill{{{}, {}, {}}}", literal(o.shape), literal(o.dtype), literal(o.value));
}
void resize_fill(op::Fill& o, Resize r) { r(o.shape); }

Call choose_iota(Chooser& c) {
  const auto dtype = c.dtype(is_number);
  const auto size = c.chance(0.1) ? c.between(0, c.largest()) : c.extent();
  if (is_float(dtype)) {
    const double start = static_cast<double>(c.between(-8, 8)) / 8,
                 step = static_cast<double>(c.between(-8, 8)) / 8;
    return {op::Iota{size, dtype, start, step}, {}};
  }
  return {op::Iota{size, dtype, c.between(-5, 5), c.between(-3, 3)}, {}};
}
/// Steps are eighths, so start + i * step is exact in f64 and rounds once.
Errors iota_errors(const op::Iota&, Propagation&) { return {}; }
std::string iota_literal(const op::Iota& o) {
  return fmt::format("op::Iota{{{}, {}, {}, {}}}", o.size, literal(o.dtype), literal(o.start),
                     literal(o.step));
}
void resize_iota(op::Iota& o, Resize r) { r(o.size); }

Call choose_random(Chooser& c) {
  op::Random r{c.shape(), c.dtype(), op::Distribution::bernoulli, 0.3, 1, c.word()};
  if (is_float(r.dtype) && c.chance(0.4)) {
    r.distribution = op::Distribution::normal;
    r.a = static_cast<double>(c.between(-2, 2));
    r.b = static_cast<double>(c.between(0, 4)) / 2;
  } else if (is_number(r.dtype) && c.chance(0.8)) {
    r.distribution = op::Distribution::uniform;
    r.a = static_cast<double>(c.between(is_float(r.dtype) ? -3 : 0, 2));
    r.b = r.a + static_cast<double>(c.between(1, 9));
  }
  return {r, {}};
}
/// uniform: a sum of two rounded terms. normal: radius <= sqrt(2 * 24 ln 2) < 6, whose logarithm and root are
/// good to 16 epsilon, times a cosine whose angle, up to 2 pi, is rounded: 8 epsilon of 2 pi.
Errors random_errors(const op::Random& o, Propagation& p) {
  if (!is_float(o.dtype) || o.distribution == op::Distribution::bernoulli) return {};
  const Real unit = epsilon(compute_dtype(o.dtype));
  const bool normal = o.distribution == op::Distribution::normal;
  const Real spread = normal ? 6 * (16 + 8 * 6.3L) * std::abs(o.b) : 2 * std::abs(o.b - o.a);
  const Real rounding = unit * (spread + 2 * std::abs(o.a));
  auto e = p.result();
  for (auto& x : e) x = bound(o.dtype, Interval{x, x}, x, rounding);
  return p.store(e);
}
std::string random_literal(const op::Random& o) {
  return fmt::format("op::Random{{{}, {}, op::Distribution::{}, {}, {}, {}u}}", literal(o.shape),
                     literal(o.dtype), op::name_of(o.distribution), literal(o.a), literal(o.b), o.seed);
}
void resize_random(op::Random& o, Resize r) { r(o.shape); }

}  // namespace

Family family(Of<op::Fill>) {
  return make_family("fill", 6, choose_fill, fill_errors, fill_literal, resize_fill);
}
Family family(Of<op::Iota>) {
  return make_family("iota", 3, choose_iota, iota_errors, iota_literal, resize_iota);
}
Family family(Of<op::Random>) {
  return make_family("random", 4, choose_random, random_errors, random_literal, resize_random);
}

}  // namespace strata::fuzz
