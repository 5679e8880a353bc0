#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

/// [batch, channels, ...] with one or two spatial axes.
ValueId image(Chooser& c, bool floats) {
  const auto good = [floats](DType t) { return t != DType::boolean && (!floats || is_float(t)); };
  return c.operand(
      [&](const TensorType& t) { return good(t.dtype) && (t.shape.rank() == 3 || t.shape.rank() == 4); },
      [&] {
        return TensorType{c.dtype(good), c.shape_of_rank(3 + static_cast<int>(c.below(2)))};
      });
}
Dims each(Chooser& c, int rank, std::int64_t low, std::int64_t high) {
  Dims d;
  for (int i = 0; i < rank; ++i) d.push_back(c.between(low, high));
  return d;
}

Call choose_conv(Chooser& c) {
  const auto x = image(c, true);
  const auto type = c.type(x);
  const int rank = type.shape.rank() - 2;
  const auto channels = type.shape[1];
  op::Conv o{each(c, rank, 1, 2), each(c, rank, 0, 2), each(c, rank, 1, 2), 1, c.chance(0.3), {}};
  if (channels > 0 && channels % 2 == 0 && c.chance(0.3)) o.groups = 2;
  const auto out = c.between(1, 3);
  TensorType weight{type.dtype,
                    o.transposed ? Shape{channels, out} : Shape{out * o.groups, channels / o.groups}};
  for (int i = 0; i < rank; ++i) weight.shape.push_back(c.between(1, 3));
  return {o, {x, c.operand([&](const TensorType& t) { return t == weight; }, [&] { return weight; })}};
}

/// Sums of products in any order, as for matmul.
Errors conv_errors(const op::Conv& o, Propagation& p) {
  if (p.size() == 0) return {};
  const auto magnitude = [&](std::size_t i) {
    return p.run(op::Unary{op::UnaryKind::abs}, p.run(op::Cast{DType::f64}, p.operand_ref(i)));
  };
  const auto convolved = [&](const ValueRef& x, const ValueRef& w) { return p.doubles(p.run(o, {x, w})); };
  const auto x = magnitude(0), w = magnitude(1), ex = p.error_tensor(0), ew = p.error_tensor(1);
  const auto size = convolved(x, w), by_x = convolved(ex, w), by_w = convolved(x, ew),
             both = convolved(ex, ew);
  const auto terms = static_cast<Real>(p.operand(1).shape.product()) + 2;
  const auto c = compute_dtype(p.dtype());
  auto e = p.result();
  for (std::size_t i = 0; i < e.size(); ++i) {
    const Real spread = static_cast<Real>(by_x[i]) + by_w[i] + both[i];
    if (!std::isfinite(spread) || !std::isfinite(size[i]) || size[i] + spread >= largest(c) / 2) {
      e[i] = undetermined;
      continue;
    }
    Real rounding = terms * epsilon(c) * (size[i] + spread) + 2 * terms * smallest_subnormal(c);
    if (p.dtype() == DType::bf16) rounding += terms * smallest_normal(c) * (1 + static_cast<Real>(size[i]));
    e[i] = bound(p.dtype(), Interval{e[i] - spread, e[i] + spread}, e[i], rounding);
  }
  return p.store(e);
}
std::string conv_literal(const op::Conv& o) {
  return fmt::format("op::Conv{{{}, {}, {}, {}, {}, {}}}", literal(o.stride), literal(o.padding),
                     literal(o.dilation), o.groups, literal(o.transposed), literal(o.extra));
}

struct Windows {
  Dims window, stride, padding, dilation;
  bool ceil_mode;
};
Windows choose_windows(Chooser& c, const TensorType& type) {
  const int rank = type.shape.rank() - 2;
  Windows w{each(c, rank, 1, 3), each(c, rank, 1, 3), {}, each(c, rank, 1, 2), c.chance(0.3)};
  for (int i = 0; i < rank; ++i)
    w.padding.push_back(c.between(0, ((w.window[i] - 1) * w.dilation[i] + 1) / 2));
  return w;
}

Call choose_pool(Chooser& c) {
  const auto x = image(c, false);
  const auto type = c.type(x);
  const auto w = choose_windows(c, type);
  const auto kind = is_float(type.dtype) && c.chance(0.5) ? op::PoolKind::mean : op::PoolKind::max;
  return {op::Pool{kind, w.window, w.stride, w.padding, w.dilation, w.ceil_mode, c.chance(0.5)}, {x}};
}
Errors pool_errors(const op::Pool& o, Propagation& p) {
  if (p.size() == 0 || (p.certain() && o.kind == op::PoolKind::max)) return {};
  if (!is_float(p.dtype())) return p.all_or_nothing();
  const auto spread = p.doubles(p.run(o, p.error_tensor(0)));
  if (o.kind == op::PoolKind::max) return p.store(spread);
  const auto x = p.run(op::Cast{DType::f64}, p.operand_ref(0));
  const auto size = p.doubles(p.run(o, p.run(op::Unary{op::UnaryKind::abs}, x)));
  const auto c = compute_dtype(p.dtype());
  const Real terms = static_cast<Real>(o.window.product()) + 2;
  auto e = p.result();
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (!std::isfinite(size[i]) || !std::isfinite(spread[i]) || size[i] * terms >= largest(c) / 2) {
      e[i] = undetermined;
      continue;
    }
    const Real rounding =
        terms * epsilon(c) * (static_cast<Real>(size[i]) + spread[i]) + 2 * terms * smallest_subnormal(c);
    e[i] =
        bound(p.dtype(), Interval{e[i] - static_cast<Real>(spread[i]), e[i] + static_cast<Real>(spread[i])},
              e[i], rounding);
  }
  return p.store(e);
}
std::string pool_literal(const op::Pool& o) {
  return fmt::format("op::Pool{{op::PoolKind::{}, {}, {}, {}, {}, {}, {}}}",
                     o.kind == op::PoolKind::max ? "max" : "mean", literal(o.window), literal(o.stride),
                     literal(o.padding), literal(o.dilation), literal(o.ceil_mode), literal(o.count_padding));
}

Call choose_arg_pool(Chooser& c) {
  const auto x = image(c, false);
  const auto w = choose_windows(c, c.type(x));
  return {op::ArgPool{w.window, w.stride, w.padding, w.dilation, w.ceil_mode}, {x}};
}
Errors arg_pool_errors(const op::ArgPool&, Propagation& p) { return p.all_or_nothing(); }
std::string arg_pool_literal(const op::ArgPool& o) {
  return fmt::format("op::ArgPool{{{}, {}, {}, {}, {}}}", literal(o.window), literal(o.stride),
                     literal(o.padding), literal(o.dilation), literal(o.ceil_mode));
}

}  // namespace

Family family(Of<op::Conv>) {
  return make_family("conv", 4, choose_conv, conv_errors, conv_literal, keep_size<op::Conv>);
}
Family family(Of<op::Pool>) {
  return make_family("pool", 4, choose_pool, pool_errors, pool_literal, keep_size<op::Pool>);
}
Family family(Of<op::ArgPool>) {
  return make_family("arg_pool", 3, choose_arg_pool, arg_pool_errors, arg_pool_literal,
                     keep_size<op::ArgPool>);
}

}  // namespace strata::fuzz
