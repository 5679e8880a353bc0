#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

template <class Op>
Errors moved(const Op& o, Propagation& p) {
  return p.moved(o);
}

/// Another shape of as many elements: axes joined, split, or extents of 1 put in and taken out.
Shape reshaped(Chooser& c, const Shape& from) {
  Shape out;
  for (int i = 0; i < from.rank(); ++i) {
    const auto e = from[i];
    if (c.chance(0.25) && out.rank() < 4) out.push_back(1);
    const bool join = !out.empty() && c.chance(0.35);
    if (join) {
      out[out.rank() - 1] *= e;
    } else if (e > 3 && c.chance(0.3) && out.rank() < 4) {
      std::int64_t factor = 2;
      while (e % factor != 0) ++factor;
      out.push_back(factor);
      out.push_back(e / factor);
    } else if (out.rank() < 6 && !(e == 1 && c.chance(0.5))) {
      out.push_back(e);
    } else if (!out.empty()) {
      out[out.rank() - 1] *= e;
    } else {
      out.push_back(e);
    }
  }
  return out;
}
Call choose_reshape(Chooser& c) {
  const auto x = c.any();
  return {op::Reshape{reshaped(c, c.type(x).shape)}, {x}};
}
std::string reshape_literal(const op::Reshape& o) {
  return fmt::format("op::Reshape{{{}}}", literal(o.shape));
}
void resize_reshape(op::Reshape& o, Resize r) { r(o.shape); }

Call choose_permute(Chooser& c) {
  const auto x = c.of_rank(2);
  std::vector<std::int64_t> order;
  for (int i = 0; i < c.type(x).shape.rank(); ++i) order.push_back(i);
  c.shuffle(order);
  return {op::Permute{Axes(std::span<const std::int64_t>(order))}, {x}};
}
std::string permute_literal(const op::Permute& o) {
  return fmt::format("op::Permute{{{}}}", literal(o.order));
}

Call choose_expand(Chooser& c) {
  const auto has_one = [&](const TensorType& t) {
    return t.shape.rank() < 5 && (t.shape.empty() || t.shape.contains(1));
  };
  const auto x = c.chance(0.8) ? c.operand(has_one,
                                           [&] {
                                             return TensorType{c.dtype(), c.broadcastable(c.shape())};
                                           })
                               : c.any();
  const auto from = c.type(x).shape;
  Shape to;
  if (from.rank() < 5 && c.chance(0.4)) to.push_back(c.extent());
  for (auto e : from) to.push_back(e == 1 && c.chance(0.7) ? c.extent() : e);
  return {op::Expand{to}, {x}};
}
std::string expand_literal(const op::Expand& o) { return fmt::format("op::Expand{{{}}}", literal(o.shape)); }
void resize_expand(op::Expand& o, Resize r) { r(o.shape); }

Call choose_slice(Chooser& c) {
  const auto x = c.of_rank(1);
  op::Slice s;
  for (auto e : c.type(x).shape) {
    const bool whole = c.chance(0.4);
    const auto start = whole ? 0 : c.between(0, e), stop = whole ? e : c.between(start, e);
    s.start.push_back(start);
    // Empty slices now and then only: everything after them is empty.
    s.stop.push_back(start == stop && start < e && !c.chance(0.1) ? start + 1 : stop);
    s.step.push_back(c.chance(0.7) ? 1 : c.between(1, 3));
  }
  return {s, {x}};
}
std::string slice_literal(const op::Slice& o) {
  return fmt::format("op::Slice{{{}, {}, {}}}", literal(o.start), literal(o.stop), literal(o.step));
}
/// What is cut away is cut before the range, so that its length stays.
void resize_slice(op::Slice& o, Resize r) {
  for (int i = 0; i < o.stop.rank(); ++i) {
    const auto old = o.stop[i];
    r(o.stop[i]);
    o.start[i] = std::max<std::int64_t>(o.start[i] - (old - o.stop[i]), 0);
  }
}

Call choose_flip(Chooser& c) {
  const auto x = c.of_rank(1);
  return {op::Flip{c.axes(c.type(x).shape.rank())}, {x}};
}
std::string flip_literal(const op::Flip& o) { return fmt::format("op::Flip{{{}}}", literal(o.axes)); }

Call choose_unfold(Chooser& c) {
  const auto x = c.operand([](const TensorType& t) { return t.shape.rank() >= 1 && t.shape.rank() <= 4; },
                           [&] {
                             return TensorType{c.dtype(), c.shape_of_rank(1 + static_cast<int>(c.below(3)))};
                           });
  const auto shape = c.type(x).shape;
  const int axis = static_cast<int>(c.below(shape.size()));
  return {op::Unfold{axis, c.between(1, std::max<std::int64_t>(1, std::min<std::int64_t>(shape[axis], 4))),
                     c.between(1, 3)},
          {x}};
}
std::string unfold_literal(const op::Unfold& o) {
  return fmt::format("op::Unfold{{{}, {}, {}}}", o.axis, o.size, o.step);
}
void resize_unfold(op::Unfold& o, Resize r) { r(o.size); }

Call choose_cat(Chooser& c) {
  const auto x = c.of_rank(1);
  const auto type = c.type(x);
  const int axis = static_cast<int>(c.below(type.shape.size()));
  const auto fits = [&](const TensorType& t) {
    if (t.dtype != type.dtype || t.shape.rank() != type.shape.rank()) return false;
    for (int i = 0; i < t.shape.rank(); ++i) {
      if (i != axis && t.shape[i] != type.shape[i]) return false;
    }
    return true;
  };
  std::vector<ValueId> operands{x};
  for (auto n = c.between(0, c.chance(0.1) ? 7 : 2); n > 0; --n) {
    operands.push_back(c.operand(fits, [&] {
      auto other = type;
      other.shape[axis] = c.extent();
      return other;
    }));
  }
  c.shuffle(operands);
  return {op::Cat{axis}, operands};
}
std::string cat_literal(const op::Cat& o) { return fmt::format("op::Cat{{{}}}", o.axis); }

}  // namespace

Family family(Of<op::Reshape>) {
  return make_family("reshape", 6, choose_reshape, moved<op::Reshape>, reshape_literal, resize_reshape);
}
Family family(Of<op::Permute>) {
  return make_family("permute", 7, choose_permute, moved<op::Permute>, permute_literal,
                     keep_size<op::Permute>);
}
Family family(Of<op::Expand>) {
  return make_family("expand", 6, choose_expand, moved<op::Expand>, expand_literal, resize_expand);
}
Family family(Of<op::Slice>) {
  return make_family("slice", 7, choose_slice, moved<op::Slice>, slice_literal, resize_slice);
}
Family family(Of<op::Flip>) {
  return make_family("flip", 6, choose_flip, moved<op::Flip>, flip_literal, keep_size<op::Flip>);
}
Family family(Of<op::Unfold>) {
  return make_family("unfold", 4, choose_unfold, moved<op::Unfold>, unfold_literal, resize_unfold);
}
Family family(Of<op::Cat>) {
  return make_family("cat", 5, choose_cat, moved<op::Cat>, cat_literal, keep_size<op::Cat>);
}

}  // namespace strata::fuzz
