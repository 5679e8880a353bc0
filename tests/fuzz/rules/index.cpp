#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

/// x and an index into it along a random axis; a value made by the program now and then.
struct Indexed {
  ValueId x, index;
  int axis;
};
Indexed choose_indexed(Chooser& c) {
  const auto x = c.of_rank(1);
  const auto shape = c.type(x).shape;
  const int axis = static_cast<int>(c.below(shape.size()));
  Shape wanted = shape;
  wanted[axis] = c.extent();
  return {x, c.fresh_index(wanted, shape[axis]), axis};
}

Call choose_gather(Chooser& c) {
  const auto i = choose_indexed(c);
  return {op::Gather{i.axis}, {i.x, i.index}};
}
Errors gather_errors(const op::Gather& o, Propagation& p) {
  if (!p.certain(1)) return p.store(std::vector<double>(p.size(), undetermined));
  if (p.certain(0)) return {};
  return p.run(o, {p.error_tensor(0), p.operand_ref(1)});
}
std::string gather_literal(const op::Gather& o) { return fmt::format("op::Gather{{{}}}", o.axis); }

Call choose_scatter(Chooser& c) {
  const auto i = choose_indexed(c);
  const auto type = c.type(i.x);
  const TensorType source{type.dtype, c.type(i.index).shape};
  const auto mode =
      type.dtype == DType::boolean ? op::ScatterMode::assign : static_cast<op::ScatterMode>(c.below(5));
  const auto s = c.operand([&](const TensorType& t) { return t == source; }, [&] { return source; });
  return {op::Scatter{i.axis, mode}, {i.x, i.index, s}};
}
/// Entries take effect in a defined order, so certain operands give one result; but a GPU combines floats in
/// parts where a line has this many.
constexpr std::int64_t many_entries = 1024;

Errors scatter_errors(const op::Scatter& o, Propagation& p) {
  const bool arithmetic =
      is_float(p.dtype()) && (o.mode == op::ScatterMode::add || o.mode == op::ScatterMode::mul);
  const bool in_order = !arithmetic || p.operand(1).shape[o.axis] <= many_entries;
  if (p.certain() && in_order) return {};
  if (!p.certain(1) || !is_float(p.dtype())) return p.all_or_nothing();
  const auto through = [&](op::ScatterMode mode, const ValueRef& x, const ValueRef& source) {
    return p.doubles(p.run(op::Scatter{o.axis, mode}, {x, p.operand_ref(1), source}));
  };
  switch (o.mode) {
    case op::ScatterMode::assign:
      return p.store(through(o.mode, p.error_tensor(0), p.error_tensor(2)));
    case op::ScatterMode::max:
    case op::ScatterMode::min:
      return p.store(through(op::ScatterMode::max, p.error_tensor(0), p.error_tensor(2)));
    case op::ScatterMode::mul:
      return in_order ? p.all_or_nothing() : p.store(std::vector<double>(p.size(), undetermined));
    case op::ScatterMode::add:
      break;
  }
  const auto magnitude = [&](std::size_t i) {
    return p.run(op::Unary{op::UnaryKind::abs}, p.run(op::Cast{DType::f64}, p.operand_ref(i)));
  };
  const auto spread = through(o.mode, p.error_tensor(0), p.error_tensor(2));
  const auto sizes = through(o.mode, magnitude(0), magnitude(2));
  const auto terms = static_cast<Real>(p.operand(1).shape[o.axis]) + 1;
  auto e = p.result();
  for (std::size_t i = 0; i < e.size(); ++i) {
    const auto c = compute_dtype(p.dtype());
    if (spread[i] == 0 && in_order) {
      e[i] = 0;
    } else if (!std::isfinite(spread[i]) || !(sizes[i] < largest(c) / 2)) {
      e[i] = undetermined;
    } else {
      e[i] = bound(
          p.dtype(), Interval{e[i] - static_cast<Real>(spread[i]), e[i] + static_cast<Real>(spread[i])}, e[i],
          terms * epsilon(c) * (static_cast<Real>(sizes[i]) + spread[i]) + terms * smallest_subnormal(c));
    }
  }
  return p.store(e);
}
std::string scatter_literal(const op::Scatter& o) {
  return fmt::format("op::Scatter{{{}, op::ScatterMode::{}}}", o.axis, op::name_of(o.mode));
}

Call choose_slice_assign(Chooser& c) {
  const auto x = c.of_rank(1);
  const auto type = c.type(x);
  op::SliceAssign s;
  Shape part;
  for (auto e : type.shape) {
    const bool whole = c.chance(0.3);
    const auto start = whole || e == 0 ? 0 : c.between(0, e - 1), stop = whole ? e : c.between(start, e);
    const auto step = c.chance(0.6) ? 1 : c.between(1, 3);
    s.start.push_back(start);
    s.stop.push_back(stop);
    s.step.push_back(step);
    part.push_back(stop == start ? 0 : (stop - start - 1) / step + 1);
  }
  const TensorType source{type.dtype, part};
  return {s, {x, c.operand([&](const TensorType& t) { return t == source; }, [&] { return source; })}};
}
Errors slice_assign_errors(const op::SliceAssign& o, Propagation& p) { return p.moved(o); }
std::string slice_assign_literal(const op::SliceAssign& o) {
  return fmt::format("op::SliceAssign{{{}, {}, {}}}", literal(o.start), literal(o.stop), literal(o.step));
}
void resize_slice_assign(op::SliceAssign& o, Resize r) {
  r(o.stop);
  for (int i = 0; i < o.stop.rank(); ++i) o.start[i] = std::min(o.start[i], o.stop[i]);
}

}  // namespace

Family family(Of<op::Gather>) {
  return make_family("gather", 4, choose_gather, gather_errors, gather_literal, keep_size<op::Gather>);
}
Family family(Of<op::Scatter>) {
  return make_family("scatter", 4, choose_scatter, scatter_errors, scatter_literal, keep_size<op::Scatter>);
}
Family family(Of<op::SliceAssign>) {
  return make_family("slice_assign", 4, choose_slice_assign, slice_assign_errors, slice_assign_literal,
                     resize_slice_assign);
}

}  // namespace strata::fuzz
