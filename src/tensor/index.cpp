#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "strata/detail/ops.hpp"
#include "strata/error.hpp"
#include "tensor/host_values.hpp"

namespace strata::detail {
namespace {

/// Row-major positions of the true elements of a mask; waits for it.
std::vector<std::int64_t> true_positions(const ValueRef& mask, std::string_view op) {
  if (mask->dtype != DType::boolean) {
    throw DTypeError(fmt::format("[{}] the mask must be bool, not {}", op, name_of(mask->dtype)));
  }
  const auto data = mask->backend.read(mask);
  std::vector<std::int64_t> positions;
  const auto elements = data.as<bool>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i]) positions.push_back(static_cast<std::int64_t>(i));
  }
  return positions;
}

}  // namespace

ValueRef arg_reduce(op::ExtremumKind kind, const ValueRef& x, int axis) {
  return bridge::arg_reduce(kind, x, axis, false);
}
ValueRef arg_reduce_all(op::ExtremumKind kind, const ValueRef& x) {
  return bridge::arg_reduce(kind, bridge::reshape(x, {x->shape.product()}), 0, false);
}
ValueRef argsort(const ValueRef& x, int axis, bool descending, std::int64_t count) {
  return bridge::argsort(x, axis, descending, count);
}
ValueRef cumulative(op::CumulativeKind kind, const ValueRef& x, int axis) {
  return bridge::cumulative(kind, x, axis);
}

ValueRef gather(const ValueRef& x, int axis, const ValueRef& index) { return bridge::gather(x, axis, index); }
ValueRef scatter(const ValueRef& x, int axis, const ValueRef& index, const ValueRef& source,
                 op::ScatterMode mode) {
  return bridge::scatter(x, axis, index, source, mode);
}
ValueRef select(const ValueRef& x, int axis, const ValueRef& index) { return bridge::select(x, axis, index); }
ValueRef select_assign(const ValueRef& x, int axis, const ValueRef& index, const ValueRef& source,
                       op::ScatterMode mode) {
  return bridge::select_assign(x, axis, index, source, mode);
}
ValueRef at(const ValueRef& x, int axis, std::int64_t place) {
  axis = bridge::normalise_axis(axis, x->shape.rank(), "at");
  const auto n = x->shape[axis], from = place < 0 ? place + n : place;
  if (from < 0 || from >= n) {
    throw IndexError(
        fmt::format("[at] place {} does not exist on axis {} of {}", place, axis, x->shape.to_string()));
  }
  return squeeze(narrow(x, axis, from, 1), axis);
}

ValueRef argwhere(const ValueRef& mask) {
  const auto& shape = mask->shape;
  std::vector<std::int64_t> rows;
  for (auto position : true_positions(mask, "argwhere")) {
    const auto begin = rows.size();
    rows.resize(begin + static_cast<std::size_t>(shape.rank()));
    for (int i = shape.rank() - 1; i >= 0; --i) {
      rows[begin + static_cast<std::size_t>(i)] = position % shape[i];
      position /= shape[i];
    }
  }
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const auto count = rank == 0 ? 0 : static_cast<std::int64_t>(rows.size()) / rank;
  return mask->backend.from_data(TensorData::from<std::int64_t>(rows, {count, rank}));
}

ValueRef mask_select(const ValueRef& x, const ValueRef& mask) {
  if (x->shape != mask->shape) {
    throw ShapeError(fmt::format("[mask_select] the mask {} must have the shape of x {}",
                                 mask->shape.to_string(), x->shape.to_string()));
  }
  const auto index = host_values(x, true_positions(mask, "mask_select"));
  return bridge::select(bridge::reshape(x, {x->shape.product()}), 0, index);
}

ValueRef one_hot(const ValueRef& x, std::int64_t classes, Literal on, Literal off, int axis_in, DType dtype) {
  if (classes < 1) throw ArgumentError(fmt::format("[one_hot] needs at least one class, not {}", classes));
  const int rank = x->shape.rank() + 1, axis = bridge::normalise_axis(axis_in, rank, "one_hot");
  Shape along = Shape::filled(rank, 1);
  along[axis] = classes;
  auto& home = x->backend;
  const auto numbers = bridge::reshape(bridge::iota(home, classes, DType::i64, 0, 1), along);
  const auto named = bridge::cast(unsqueeze(x, axis), DType::i64);  // there may be more classes than u8 has
  const auto own = bridge::compare(op::CompareKind::equal, named, numbers);
  return bridge::where(own, bridge::fill(home, {}, dtype, number(on)),
                       bridge::fill(home, {}, dtype, number(off)));
}

}  // namespace strata::detail
