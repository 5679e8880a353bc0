#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "dispatch/entry.hpp"
#include "strata/detail/functions.hpp"
#include "strata/error.hpp"

namespace strata::detail {

ValueRef raised(const ValueRef& x, int rank) {
  Shape shape;
  if (x->shape.rank() == 1 && rank > 1) shape.push_back(1);
  for (auto extent : x->shape) shape.push_back(extent);
  while (shape.rank() < rank) shape.push_back(1);
  return bridge::reshape(x, shape);
}

std::vector<ValueRef> split(const ValueRef& x, std::span<const std::int64_t> sizes, int axis) {
  axis = bridge::normalise_axis(axis, x->shape.rank(), "split");
  std::int64_t total = 0;
  bool fits = true;
  for (auto size : sizes) fits = fits && size >= 0 && !__builtin_add_overflow(total, size, &total);
  if (!fits || total != x->shape[axis]) {
    throw ShapeError(
        fmt::format("[split] the sizes must be at least 0 and add up to the {} entries of axis {} of {}",
                    x->shape[axis], axis, x->shape.to_string()));
  }
  std::vector<ValueRef> parts;
  std::int64_t first = 0;
  for (auto size : sizes) {
    parts.push_back(narrow(x, axis, first, size));
    first += size;
  }
  return parts;
}

std::vector<ValueRef> chunk(const ValueRef& x, std::int64_t count, int axis) {
  axis = bridge::normalise_axis(axis, x->shape.rank(), "chunk");
  if (count < 1) throw ArgumentError(fmt::format("[chunk] cannot make {} pieces", count));
  const auto n = x->shape[axis], size = std::max<std::int64_t>(n / count + (n % count != 0), 1);
  std::vector<ValueRef> parts;
  for (std::int64_t first = 0; first < n || parts.empty(); first += size) {
    parts.push_back(narrow(x, axis, first, std::min(size, n - first)));
  }
  return parts;
}

std::vector<ValueRef> unbind(const ValueRef& x, int axis) {
  axis = bridge::normalise_axis(axis, x->shape.rank(), "unbind");
  std::vector<ValueRef> entries;
  for (std::int64_t i = 0; i < x->shape[axis]; ++i) entries.push_back(at(x, axis, i));
  return entries;
}

ValueRef repeat_along(const ValueRef& x, std::int64_t count, int axis) {
  axis = bridge::normalise_axis(axis, x->shape.rank(), "repeat");
  Dims counts = Dims::filled(x->shape.rank(), 1);
  counts[axis] = count;
  return repeat(x, std::span<const std::int64_t>(counts.begin(), counts.size()));
}

ValueRef mask(op::CompareKind kind, std::int64_t rows, std::int64_t columns, std::int64_t diagonal,
              const Device& device) {
  if (rows < 0 || columns < 0) throw ShapeError(fmt::format("[mask] of {} x {} elements", rows, columns));
  auto& home = device.entry().backend();
  return bridge::compare(kind, bridge::iota(home, columns, DType::i64, -diagonal, 1),
                         bridge::reshape(bridge::iota(home, rows, DType::i64, 0, 1), {rows, 1}));
}

ValueRef diagonal_matrix(const ValueRef& x, std::int64_t offset) {
  const int rank = x->shape.rank();
  const auto n = x->shape[rank - 1];
  std::int64_t size = 0, elements = 0, step = 0;
  if (offset == INT64_MIN || __builtin_add_overflow(n, std::abs(offset), &size) ||
      __builtin_mul_overflow(size, size, &elements) || __builtin_add_overflow(size, 1, &step)) {
    throw ShapeError(
        fmt::format("[diag] {} beside diagonal {} makes no matrix", x->shape.to_string(), offset));
  }
  // In a flattened matrix the elements of a diagonal are evenly spaced.
  Shape flat = x->shape, shape = x->shape;
  flat[rank - 1] = elements;
  shape[rank - 1] = size;
  shape.push_back(size);
  Dims start = Dims::filled(rank, 0), stop = flat, steps = Dims::filled(rank, 1);
  start[rank - 1] = n == 0 ? 0 : offset < 0 ? -offset * size : offset;
  stop[rank - 1] = n == 0 ? 0 : start[rank - 1] + (n - 1) * step + 1;
  steps[rank - 1] = n == 0 ? 1 : step;
  const auto number = x->dtype == DType::boolean ? op::Number(false) : op::Number(0);
  const auto zeros = bridge::expand(bridge::scalar_like(x, number), flat);
  return bridge::reshape(bridge::slice_assign(zeros, start, stop, steps, x), shape);
}

}  // namespace strata::detail
