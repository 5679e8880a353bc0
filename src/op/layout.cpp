#include "op/layout.hpp"

#include <fmt/format.h>

namespace strata::op {
namespace {

void require_rank(const Site& site, const Dims& attribute, std::string_view name) {
  if (attribute.rank() != site.inputs[0].shape.rank()) {
    shape_error(site, fmt::format("{} {} needs one entry for each of the {} axes", name,
                                  attribute.to_string(), site.inputs[0].shape.rank()));
  }
}

}  // namespace

TensorTypes infer(const Reshape& op, const Site& site) {
  const auto& in = site.inputs[0];
  TensorType out{in.dtype, op.shape};
  check_size(site, out);
  if (in.shape.product() != op.shape.product()) {
    shape_error(site, fmt::format("cannot view {} elements of {} as {} ({} elements)", in.shape.product(),
                                  in.shape.to_string(), op.shape.to_string(), op.shape.product()));
  }
  return TensorTypes(out);
}

TensorTypes infer(const Permute& op, const Site& site) {
  require_rank(site, op.order, "order");
  const auto& in = site.inputs[0];
  unsigned seen = 0;
  TensorType out{in.dtype, op.order};
  for (int i = 0; i < op.order.rank(); ++i) {
    const auto axis = op.order[i];
    if (axis < 0 || axis >= in.shape.rank() || (seen >> axis & 1)) {
      shape_error(site, fmt::format("order {} is not a permutation of 0..{}", op.order.to_string(),
                                    in.shape.rank() - 1));
    }
    seen |= 1u << axis;
    out.shape[i] = in.shape[static_cast<int>(axis)];
  }
  return TensorTypes(out);
}

TensorTypes infer(const Expand& op, const Site& site) {
  const auto& in = site.inputs[0];
  TensorType out{in.dtype, op.shape};
  check_size(site, out);
  const int lead = op.shape.rank() - in.shape.rank();
  bool fits = lead >= 0;
  for (int i = 0; fits && i < in.shape.rank(); ++i) {
    fits = in.shape[i] == 1 || in.shape[i] == op.shape[lead + i];
  }
  if (!fits) {
    shape_error(site, fmt::format("{} does not broadcast to {}: every extent must be equal or 1",
                                  in.shape.to_string(), op.shape.to_string()));
  }
  return TensorTypes(out);
}

TensorTypes infer(const Slice& op, const Site& site) {
  require_rank(site, op.start, "start");
  require_rank(site, op.stop, "stop");
  require_rank(site, op.step, "step");
  const auto& in = site.inputs[0];
  TensorType out{in.dtype, in.shape};
  for (int i = 0; i < in.shape.rank(); ++i) {
    const auto start = op.start[i], stop = op.stop[i], step = op.step[i];
    if (start < 0 || start > stop || stop > in.shape[i]) {
      shape_error(site,
                  fmt::format("range {}..{} of axis {} is not inside 0..{}", start, stop, i, in.shape[i]));
    }
    if (step < 1) argument_error(site, fmt::format("step {} of axis {} must be at least 1", step, i));
    out.shape[i] = stop == start ? 0 : (stop - start - 1) / step + 1;
  }
  return TensorTypes(out);
}

TensorTypes infer(const Flip& op, const Site& site) {
  const auto& in = site.inputs[0];
  std::int64_t last = -1;
  for (auto axis : op.axes) {
    if (axis <= last || axis >= in.shape.rank()) {
      shape_error(site, fmt::format("axes {} are not ascending axes of a rank {} tensor", op.axes.to_string(),
                                    in.shape.rank()));
    }
    last = axis;
  }
  return TensorTypes(in);
}

TensorTypes infer(const Unfold& op, const Site& site) {
  require_axis(site, op.axis);
  const auto& in = site.inputs[0];
  const auto extent = in.shape[op.axis];
  if (op.size < 1 || op.step < 1) {
    argument_error(site, fmt::format("size {} and step {} must be at least 1", op.size, op.step));
  }
  if (op.size > extent) {
    shape_error(
        site, fmt::format("windows of {} do not fit axis {} of {}", op.size, op.axis, in.shape.to_string()));
  }
  TensorType out = in;
  out.shape[op.axis] = (extent - op.size) / op.step + 1;
  out.shape.push_back(op.size);
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Cat& op, const Site& site) {
  const auto& first = site.inputs[0];
  if (op.axis < 0 || op.axis >= first.shape.rank()) {
    shape_error(site, fmt::format("axis {} is not an axis of a rank {} tensor", op.axis, first.shape.rank()));
  }
  TensorType out = first;
  out.shape[op.axis] = 0;
  for (const auto& in : site.inputs) {
    if (in.dtype != first.dtype) {
      dtype_error(site,
                  fmt::format("operands are {} and {}; cast one of them: strata never converts silently",
                              name_of(first.dtype), name_of(in.dtype)));
    }
    bool fits = in.shape.rank() == first.shape.rank();
    for (int i = 0; fits && i < in.shape.rank(); ++i) fits = i == op.axis || in.shape[i] == first.shape[i];
    if (!fits) {
      shape_error(site, fmt::format("{} and {} differ outside axis {}", first.shape.to_string(),
                                    in.shape.to_string(), op.axis));
    }
    if (__builtin_add_overflow(out.shape[op.axis], in.shape[op.axis], &out.shape[op.axis])) {
      shape_error(site, fmt::format("the extents along axis {} add up to more than 2^63", op.axis));
    }
  }
  check_size(site, out);
  return TensorTypes(out);
}

View permuted(const View& v, const Permute& op) {
  View out = v;
  for (int i = 0; i < op.order.rank(); ++i) {
    out.shape[i] = v.shape[static_cast<int>(op.order[i])];
    out.strides[i] = v.strides[static_cast<int>(op.order[i])];
  }
  return out;
}

View expanded(const View& v, const Expand& op) {
  View out{op.shape, Strides::filled(op.shape.rank(), 0), v.offset};
  const int lead = op.shape.rank() - v.shape.rank();
  for (int i = 0; i < v.shape.rank(); ++i) {
    out.strides[lead + i] = v.shape[i] == 1 && op.shape[lead + i] != 1 ? 0 : v.strides[i];
  }
  return out;
}

View sliced(const View& v, const Slice& op) {
  View out = v;
  for (int i = 0; i < v.shape.rank(); ++i) {
    const auto length = op.stop[i] - op.start[i];
    out.shape[i] = length == 0 ? 0 : (length - 1) / op.step[i] + 1;
    if (length > 0) out.offset += op.start[i] * v.strides[i];  // an empty range may start one past the end
    out.strides[i] = v.strides[i] * op.step[i];
  }
  return out;
}

View flipped(const View& v, const Flip& op) {
  View out = v;
  for (auto a : op.axes) {
    const int axis = static_cast<int>(a);
    if (v.shape[axis] > 0) out.offset += (v.shape[axis] - 1) * v.strides[axis];
    out.strides[axis] = -v.strides[axis];
  }
  return out;
}

bool is_contiguous(const View& v) {
  if (v.shape.contains(0)) return true;
  std::int64_t expected = 1;
  for (int i = v.shape.rank() - 1; i >= 0; --i) {
    if (v.shape[i] != 1 && v.strides[i] != expected) return false;
    expected *= v.shape[i];
  }
  return true;
}

View unfolded(const View& v, const Unfold& op) {
  View out = v;
  const auto stride = v.strides[op.axis];
  out.shape[op.axis] = (v.shape[op.axis] - op.size) / op.step + 1;
  out.strides[op.axis] = stride * op.step;
  out.shape.push_back(op.size);
  out.strides.push_back(stride);
  return out;
}

bool reshaped(const View& v, const Shape& to, View& out) {
  out = {to, contiguous_strides(to), v.offset};
  if (is_contiguous(v)) return true;
  // Match groups of axes with equal element counts; inside a group the input must be contiguous (as in
  // NumPy).
  Shape from;
  Strides strides;
  for (int i = 0; i < v.shape.rank(); ++i) {
    if (v.shape[i] == 1) continue;
    from.push_back(v.shape[i]);
    strides.push_back(v.strides[i]);
  }
  int i = 0, j = 0;
  while (i < from.rank() || j < to.rank()) {
    if (i == from.rank()) {  // only extents of 1 are left
      out.strides[j++] = 1;
      continue;
    }
    std::int64_t a = from[i], b = j < to.rank() ? to[j] : 1;
    ++i;
    const int j0 = j++;
    while (a != b) {
      if (a < b) {
        if (strides[i - 1] != strides[i] * from[i]) return false;
        a *= from[i++];
      } else {
        b *= to[j++];
      }
    }
    std::int64_t stride = strides[i - 1];
    for (int k = j - 1; k >= j0; --k) {
      out.strides[k] = stride;
      stride *= to[k];
    }
  }
  return true;
}

}  // namespace strata::op
