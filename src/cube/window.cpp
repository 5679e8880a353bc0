#include "cube/window.hpp"

#include <algorithm>

namespace strata::cube::window {

using kernel::Val;

namespace {

constexpr std::int64_t most_unrolled = 27;

}  // namespace

std::int64_t Geometry::largest_position() const {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto span = (window[i] - 1) * dilation[i] + 1;
    largest =
        std::max({largest, in[i] * stride[i] + padding[i] + span, out[i] * stride[i] + padding[i] + span});
  }
  return largest;
}

WindowForm window_form(const Geometry& g, int rank, kernel::Scalar index) {
  return {rank, product(g.window) <= most_unrolled ? g.window : Triple{}, index};
}

void hash_into(KernelKeyHasher& h, const WindowForm& form) {
  h.add(form.rank);
  for (auto n : form.taps) h.add(n);
  h.add(form.index);
}

void append_arguments(const WindowForm& form, const Geometry& g, std::vector<std::int64_t>& scalars) {
  for (std::size_t axis = static_cast<std::size_t>(3 - form.rank); axis < 3; ++axis) {
    scalars.insert(scalars.end(), {g.in[axis], g.out[axis]});
    if (form.taps[axis] == 0) scalars.push_back(g.window[axis]);
    scalars.insert(scalars.end(), {g.stride[axis], g.padding[axis], g.dilation[axis]});
  }
}

WindowAxes::WindowAxes(kernel::Builder& builder, const WindowForm& form)
    : form_(form), first_(3 - form.rank) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    in_[axis] = out_[axis] = window_[axis] = stride_[axis] = dilation_[axis] = index(1);
    padding_[axis] = index(0);
    if (static_cast<int>(axis) < first_) continue;
    const auto argument = [&](const char* name) {
      return builder.scalar(name + std::to_string(axis), form.index);
    };
    in_[axis] = argument("in");
    out_[axis] = argument("out");
    window_[axis] = form.taps[axis] > 0 ? index(form.taps[axis]) : argument("window");
    stride_[axis] = argument("stride");
    padding_[axis] = argument("padding");
    dilation_[axis] = argument("dilation");
  }
}

WindowAxes::Source WindowAxes::joined(const Point& at, const Point& inside) const {
  const auto first = static_cast<std::size_t>(first_);
  Val position = at[first], all = inside[first];
  for (auto axis = first + 1; axis < 3; ++axis) {
    position = position * in_[axis] + at[axis];
    all = all & inside[axis];
  }
  return {all, kernel::select(all, position, index(0))};
}

WindowAxes::Source WindowAxes::source(const Point& o, const Point& k) const {
  Point at, inside;
  for (auto axis = static_cast<std::size_t>(first_); axis < 3; ++axis) {
    at[axis] = o[axis] * stride_[axis] - padding_[axis] + k[axis] * dilation_[axis];
    inside[axis] = (at[axis] >= 0) & (at[axis] < in_[axis]);
  }
  return joined(at, inside);
}

WindowAxes::Source WindowAxes::transposed_source(const Point& o, const Point& k) const {
  Point at, inside;
  for (auto axis = static_cast<std::size_t>(first_); axis < 3; ++axis) {
    const Val scaled = o[axis] + padding_[axis] - k[axis] * dilation_[axis];
    at[axis] = scaled / stride_[axis];
    inside[axis] = (scaled >= 0) & (at[axis] * stride_[axis] == scaled) & (at[axis] < in_[axis]);
  }
  return joined(at, inside);
}

Val WindowAxes::counted(const Point& o) const {
  Val count = index(1);
  for (auto axis = static_cast<std::size_t>(first_); axis < 3; ++axis) {
    const Val room = in_[axis] + padding_[axis] * 2 - o[axis] * stride_[axis];  // to the end of the padding
    count = count * kernel::min(window_[axis], (room + dilation_[axis] - 1) / dilation_[axis]);
  }
  return count;
}

}  // namespace strata::cube::window
