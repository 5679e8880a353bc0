#include "strata/detail/ops.hpp"

#include <cmath>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "dispatch/entry.hpp"
#include "strata/error.hpp"
#include "tensor/host_values.hpp"
#include "trace/span.hpp"

namespace strata::detail {
namespace {

Axes sorted_axes(std::span<const int> axes, int rank, std::string_view op) {
  Axes out;
  for (int a : axes) {
    const int axis = bridge::normalise_axis(a, rank, op);
    if (out.contains(axis)) throw ShapeError(fmt::format("[{}] axis {} is named twice", op, a));
    out.push_back(axis);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string axes_of(const ValueRef& x, std::span<const int> axes, std::string_view op) {
  return fmt::format("[{}] axes {} of {}{}", op, fmt::join(axes, ", "), name_of(x->dtype),
                     x->shape.to_string());
}

/// Distinct axes that a tensor of this rank, x or made of x, has.
Axes distinct_axes(const ValueRef& x, std::span<const int> axes, int rank, std::string_view op) {
  Axes out;
  for (int a : axes) {
    const int axis = a < 0 ? a + rank : a;
    const bool exists = axis >= 0 && axis < rank;
    if (!exists || out.contains(axis)) {
      throw ShapeError(fmt::format("{}: axis {} {}; name each at most once, from {} to {}",
                                   axes_of(x, axes, op), a, exists ? "is named twice" : "does not exist",
                                   -rank, rank - 1));
    }
    out.push_back(axis);
  }
  return out;
}

}  // namespace

void require(const ValueRef& v, int rank, KindTag kind) {
  if (v->shape.rank() != rank) [[unlikely]] {
    throw ShapeError(
        fmt::format("a tensor of shape {} was used as one of rank {}", v->shape.to_string(), rank));
  }
  const auto actual = is_float(v->dtype) ? KindTag::floating
                      : is_int(v->dtype) ? KindTag::integer
                                         : KindTag::boolean;
  if (actual != kind) [[unlikely]] {
    constexpr std::string_view names[] = {"Float", "Int", "Bool"};
    throw DTypeError(fmt::format("a tensor of dtype {} was used as one of kind {}", name_of(v->dtype),
                                 names[static_cast<int>(kind)]));
  }
}

ValueRef from_data(const TensorData& data, const Device& device) {
  return device.entry().backend().from_data(data);
}
Future<TensorData> into_data_async(const ValueRef& v) { return v->backend.into_data(v); }
TensorData into_data(const ValueRef& v) {
  trace::Span span("tensor", "into_data");
  return v->backend.read(v);
}
std::vector<Future<TensorData>> read_all_async(const std::vector<ValueRef>& values) {
  trace::Span span("tensor", "read_all");
  return backend::into_data_all(values);
}
std::vector<TensorData> read_all(const std::vector<ValueRef>& values) {
  trace::Span span("tensor", "read_all");
  return backend::read_all(values);
}

ValueRef fill(const Shape& shape, DType dtype, Literal value, const Device& device) {
  return bridge::fill(device.entry().backend(), shape, dtype, number(value));
}

ValueRef arange(Literal start, Literal stop, Literal step, DType dtype, const Device& device) {
  const auto a = number(start), b = number(stop), s = number(step);
  if (s.as_double() == 0) throw ArgumentError("[arange] the step must not be 0");
  const double exact = (b.as_double() - a.as_double()) / s.as_double();
  if (!std::isfinite(exact) || exact > 0x1p62) {
    throw ArgumentError(fmt::format("[arange] from {} to {} by {} is not a finite number of elements",
                                    a.to_string(), b.to_string(), s.to_string()));
  }
  const auto size = exact <= 0 ? 0 : static_cast<std::int64_t>(std::ceil(exact));
  return bridge::iota(device.entry().backend(), size, dtype, a, s);
}

Device device_of(const ValueRef& v) { return Device(dispatch::entry_of(v->backend)); }

// Element-wise, matmul, reductions: straight to the bridge.

ValueRef unary(op::UnaryKind kind, const ValueRef& x) { return bridge::unary(kind, x); }
ValueRef binary(op::BinaryKind kind, const ValueRef& a, const ValueRef& b) {
  return bridge::binary(kind, a, b);
}
ValueRef binary(op::BinaryKind kind, const ValueRef& a, Literal b) {
  return bridge::binary(kind, a, number(b));
}
ValueRef binary(op::BinaryKind kind, Literal a, const ValueRef& b) {
  return bridge::binary(kind, number(a), b);
}
ValueRef compare(op::CompareKind kind, const ValueRef& a, const ValueRef& b) {
  return bridge::compare(kind, a, b);
}
ValueRef compare(op::CompareKind kind, const ValueRef& a, Literal b) {
  return bridge::compare(kind, a, number(b));
}
ValueRef where(const ValueRef& condition, const ValueRef& a, const ValueRef& b) {
  return bridge::where(condition, a, b);
}
ValueRef where(const ValueRef& condition, const ValueRef& a, Literal b) {
  return bridge::where(condition, a, bridge::scalar_like(a, number(b)));
}
ValueRef cast(const ValueRef& x, DType dtype) { return bridge::cast(x, dtype); }
ValueRef matmul(const ValueRef& a, const ValueRef& b) {
  trace::Span span("tensor", "matmul");
  return bridge::matmul(a, b);
}
ValueRef reduce(op::ReduceKind kind, const ValueRef& x, std::span<const int> axes, bool keep_dims) {
  return bridge::reduce(kind, x, sorted_axes(axes, x->shape.rank(), op::name_of(kind)), keep_dims);
}
ValueRef reduce_all(op::ReduceKind kind, const ValueRef& x) { return bridge::reduce_all(kind, x); }

// Layout.

ValueRef reshape(const ValueRef& x, const Shape& shape) { return bridge::reshape(x, shape); }
ValueRef permute(const ValueRef& x, std::span<const int> order) {
  Axes axes;
  for (int a : order) axes.push_back(bridge::normalise_axis(a, x->shape.rank(), "permute"));
  return bridge::permute(x, axes);
}
ValueRef transpose(const ValueRef& x, int axis_a, int axis_b) { return bridge::transpose(x, axis_a, axis_b); }
ValueRef expand(const ValueRef& x, const Shape& shape) { return bridge::expand(x, shape); }

namespace {

/// Ranges as a slice with positive steps and the axes that are then reversed.
struct Slicing {
  Dims start, stop, step;
  Axes backwards;
};

Slicing slicing_of(const ValueRef& x, std::span<const Range> ranges, std::string_view op) {
  const int rank = x->shape.rank();
  if (ranges.size() > static_cast<std::size_t>(rank)) {
    throw ShapeError(
        fmt::format("[{}] {} ranges for a tensor of shape {}", op, ranges.size(), x->shape.to_string()));
  }
  Slicing s{Dims::filled(rank, 0), x->shape, Dims::filled(rank, 1), {}};
  auto& [start, stop, step, backwards] = s;
  for (int i = 0; i < static_cast<int>(ranges.size()); ++i) {
    const auto& r = ranges[static_cast<std::size_t>(i)];
    const auto n = x->shape[i];
    if (r.step == 0 || r.step == INT64_MIN)
      throw ArgumentError(fmt::format("[{}] step {} of axis {}", op, r.step, i));
    const bool down = r.step < 0;
    // As in Python: ends count from the back when negative, then are clamped to what the direction can reach.
    const auto clamp = [&](std::int64_t v, std::int64_t open) {
      if (v == Range::begin || v == Range::end) return open;
      if (v < 0) v += n;
      return std::clamp<std::int64_t>(v, down ? -1 : 0, down ? n - 1 : n);
    };
    const auto from = clamp(r.start, down ? n - 1 : 0), to = clamp(r.stop, down ? -1 : n);
    const auto stride = down ? -r.step : r.step;
    const auto distance = down ? from - to : to - from;
    const auto count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
    if (count == 0) {
      start[i] = stop[i] = 0;
    } else if (down) {
      start[i] = from - (count - 1) * stride;
      stop[i] = from + 1;
      backwards.push_back(i);
    } else {
      start[i] = from;
      stop[i] = from + (count - 1) * stride + 1;
    }
    step[i] = count > 1 ? stride : 1;
  }
  return s;
}

}  // namespace

ValueRef slice(const ValueRef& x, std::span<const Range> ranges) {
  const auto s = slicing_of(x, ranges, "slice");
  const auto taken = bridge::slice(x, s.start, s.stop, s.step);
  return s.backwards.empty() ? taken : bridge::flip(taken, s.backwards);
}
ValueRef slice_assign(const ValueRef& x, std::span<const Range> ranges, const ValueRef& source) {
  const auto s = slicing_of(x, ranges, "slice_assign");
  const auto turned = s.backwards.empty() ? source : bridge::flip(source, s.backwards);
  return bridge::slice_assign(x, s.start, s.stop, s.step, turned);
}
ValueRef slice_fill(const ValueRef& x, std::span<const Range> ranges, Literal value) {
  const auto s = slicing_of(x, ranges, "slice_fill");
  Shape shape;
  for (int i = 0; i < x->shape.rank(); ++i) {
    shape.push_back(s.stop[i] == s.start[i] ? 0 : (s.stop[i] - s.start[i] - 1) / s.step[i] + 1);
  }
  const auto source = bridge::expand(bridge::scalar_like(x, number(value)), shape);
  return bridge::slice_assign(x, s.start, s.stop, s.step, source);
}

ValueRef narrow(const ValueRef& x, int axis_in, std::int64_t start, std::int64_t length) {
  const int axis = bridge::normalise_axis(axis_in, x->shape.rank(), "narrow");
  Dims first = Dims::filled(x->shape.rank(), 0), last = x->shape;
  if (start < 0 || length < 0 || start > x->shape[axis] || length > x->shape[axis] - start) {
    throw ShapeError(fmt::format("[narrow] {} entries from {} on do not exist on axis {} of {}", length,
                                 start, axis_in, x->shape.to_string()));
  }
  first[axis] = start;
  last[axis] = start + length;
  return bridge::slice(x, first, last, Dims::filled(x->shape.rank(), 1));
}

ValueRef flip(const ValueRef& x, std::span<const int> axes) {
  return bridge::flip(x, sorted_axes(axes, x->shape.rank(), "flip"));
}
ValueRef cat(const std::vector<ValueRef>& xs, int axis) { return bridge::cat(xs, axis); }
ValueRef stack(const std::vector<ValueRef>& xs, int axis) {
  if (xs.empty()) throw ArgumentError("[stack] needs at least one tensor");
  const int at = bridge::normalise_axis(axis, xs[0]->shape.rank() + 1, "stack");
  std::vector<ValueRef> raised;
  for (const auto& x : xs) raised.push_back(unsqueeze(x, at));
  return bridge::cat(raised, at);
}
ValueRef squeeze(const ValueRef& x, std::span<const int> axes) {
  const auto gone = distinct_axes(x, axes, x->shape.rank(), "squeeze");
  Shape shape;
  for (int i = 0; i < x->shape.rank(); ++i) {
    if (!gone.contains(i)) {
      shape.push_back(x->shape[i]);
    } else if (x->shape[i] != 1) {
      throw ShapeError(
          fmt::format("{}: axis {} has extent {}, not 1", axes_of(x, axes, "squeeze"), i, x->shape[i]));
    }
  }
  return bridge::reshape(x, shape);
}
ValueRef squeeze(const ValueRef& x, int axis) { return squeeze(x, {&axis, 1}); }
ValueRef unsqueeze(const ValueRef& x, std::span<const int> axes) {
  const int rank = x->shape.rank() + static_cast<int>(axes.size());
  const auto added = distinct_axes(x, axes, rank, "unsqueeze");
  Shape shape;
  for (int i = 0, from = 0; i < rank; ++i) shape.push_back(added.contains(i) ? 1 : x->shape[from++]);
  return bridge::reshape(x, shape);
}
ValueRef unsqueeze(const ValueRef& x, int axis) { return unsqueeze(x, {&axis, 1}); }

}  // namespace strata::detail
