#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "dispatch/entry.hpp"
#include "strata/detail/ops.hpp"
#include "strata/error.hpp"
#include "tensor/host_values.hpp"

namespace strata::detail {
namespace {

/// Where a padded axis takes entry `i` (which may lie outside) from. n > 0.
std::int64_t source_of(std::int64_t i, std::int64_t n, PadMode mode) {
  switch (mode) {
    case PadMode::edge:
      return std::clamp<std::int64_t>(i, 0, n - 1);
    case PadMode::wrap:
      return ((i % n) + n) % n;
    case PadMode::symmetric: {
      const auto period = 2 * n, at = ((i % period) + period) % period;
      return at < n ? at : period - 1 - at;
    }
    case PadMode::reflect: {
      const auto period = std::max<std::int64_t>(2 * n - 2, 1), at = ((i % period) + period) % period;
      return at < n ? at : period - at;
    }
    case PadMode::constant:
      break;
  }
  return i;
}

/// Row numbers [rows, 1] and column numbers [columns] less `offset`, to compare.
std::pair<ValueRef, ValueRef> positions(backend::Backend& home, std::int64_t rows, std::int64_t columns,
                                        std::int64_t offset) {
  return {bridge::reshape(bridge::iota(home, rows, DType::i64, 0, 1), {rows, 1}),
          bridge::iota(home, columns, DType::i64, -offset, 1)};
}

}  // namespace

ValueRef unfold(const ValueRef& x, int axis, std::int64_t size, std::int64_t step) {
  return bridge::unfold(x, axis, size, step);
}

ValueRef repeat(const ValueRef& x, std::span<const std::int64_t> counts) {
  const int rank = x->shape.rank();
  if (counts.size() != static_cast<std::size_t>(rank) ||
      std::ranges::any_of(counts, [](auto c) { return c < 0; })) {
    throw ShapeError(
        fmt::format("[repeat] needs one count of at least 0 for each axis of {}", x->shape.to_string()));
  }
  auto result = x;
  for (int i = 0; i < rank; ++i) {  // axis by axis, so that rank 8 has room for the repeats
    const auto count = counts[static_cast<std::size_t>(i)];
    if (count == 1) continue;
    std::int64_t outer = 1, inner = 1;
    for (int k = 0; k < i; ++k) outer *= result->shape[k];
    for (int k = i; k < rank; ++k) inner *= result->shape[k];
    Shape shape = result->shape;
    if (__builtin_mul_overflow(shape[i], count, &shape[i])) {
      throw ShapeError(fmt::format("[repeat] {} times axis {} of {} is more than 2^63 entries", count, i,
                                   result->shape.to_string()));
    }
    const auto split = bridge::reshape(result, {outer, 1, inner});
    result = bridge::reshape(bridge::expand(split, {outer, count, inner}), shape);
  }
  return result;
}

ValueRef roll(const ValueRef& x, std::span<const std::int64_t> shifts, std::span<const int> axes) {
  if (shifts.size() != axes.size()) {
    throw ArgumentError(fmt::format("[roll] {} shifts for {} axes", shifts.size(), axes.size()));
  }
  auto result = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = bridge::normalise_axis(axes[i], x->shape.rank(), "roll");
    const auto n = x->shape[axis];
    if (n == 0) continue;
    const auto by = ((shifts[i] % n) + n) % n;
    if (by == 0) continue;
    result = bridge::cat({narrow(result, axis, n - by, by), narrow(result, axis, 0, n - by)}, axis);
  }
  return result;
}

ValueRef move_axis(const ValueRef& x, int from, int to) {
  const int rank = x->shape.rank();
  from = bridge::normalise_axis(from, rank, "movedim");
  to = bridge::normalise_axis(to, rank, "movedim");
  std::vector<std::int64_t> order;
  for (int i = 0; i < rank; ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(order.begin() + to, from);
  return bridge::permute(x, Axes(std::span<const std::int64_t>(order)));
}

ValueRef flatten(const ValueRef& x, int first, int last) {
  const int rank = x->shape.rank();
  first = bridge::normalise_axis(first, rank, "flatten");
  last = bridge::normalise_axis(last, rank, "flatten");
  if (first > last) throw ArgumentError(fmt::format("[flatten] axis {} lies behind axis {}", first, last));
  Shape shape;
  std::int64_t merged = 1;
  for (int i = 0; i < rank; ++i) {
    if (i >= first && i <= last && __builtin_mul_overflow(merged, x->shape[i], &merged)) {
      throw ShapeError(fmt::format("[flatten] axes {} to {} of {} have more than 2^63 entries", first, last,
                                   x->shape.to_string()));
    }
    if (i == last) shape.push_back(merged);
    if (i < first || i > last) shape.push_back(x->shape[i]);
  }
  return bridge::reshape(x, shape);
}

ValueRef pad(const ValueRef& x, std::span<const Margin> margins, PadMode mode, Literal value) {
  const int rank = x->shape.rank();
  if (margins.size() > static_cast<std::size_t>(rank)) {
    throw ShapeError(
        fmt::format("[pad] {} margins for a tensor of shape {}", margins.size(), x->shape.to_string()));
  }
  Dims before = Dims::filled(rank, 0), after = before;
  for (std::size_t i = 0; i < margins.size(); ++i) {
    before[static_cast<int>(i)] = margins[i].before;
    after[static_cast<int>(i)] = margins[i].after;
  }
  if (mode == PadMode::constant) return bridge::pad(x, before, after, number(value));
  auto result = x;
  for (int i = 0; i < rank; ++i) {
    const auto n = x->shape[i];
    if (before[i] == 0 && after[i] == 0) continue;
    const auto most = mode == PadMode::reflect ? n - 1 : n;
    const bool limited = mode == PadMode::reflect || mode == PadMode::symmetric || mode == PadMode::wrap;
    if (before[i] < 0 || after[i] < 0 || n == 0 || (limited && std::max(before[i], after[i]) > most)) {
      throw ShapeError(fmt::format("[pad] margins {} and {} of axis {} of {} must lie in 0..{} in this mode",
                                   before[i], after[i], i, x->shape.to_string(), n == 0 ? 0 : most));
    }
    std::vector<std::int64_t> index;
    for (auto k = -before[i]; k < n + after[i]; ++k) index.push_back(source_of(k, n, mode));
    result = bridge::select(result, i, host_values(x, index));
  }
  return result;
}

ValueRef triangle(const ValueRef& x, bool lower, std::int64_t diagonal) {
  const int rank = x->shape.rank();
  if (rank < 2) throw ShapeError("[" + std::string(lower ? "tril" : "triu") + "] needs two axes or more");
  const auto [row, column] = positions(x->backend, x->shape[rank - 2], x->shape[rank - 1], diagonal);
  const auto kept =
      bridge::compare(lower ? op::CompareKind::less_equal : op::CompareKind::greater_equal, column, row);
  return bridge::where(
      kept, x, bridge::scalar_like(x, x->dtype == DType::boolean ? op::Number(false) : op::Number(0)));
}

ValueRef diagonal(const ValueRef& x, std::int64_t offset) {
  const int rank = x->shape.rank();
  if (rank < 2) throw ShapeError("[diagonal] needs two axes or more, not shape " + x->shape.to_string());
  const auto rows = x->shape[rank - 2], columns = x->shape[rank - 1];
  const auto first_row = std::max<std::int64_t>(-offset, 0), first_column = std::max<std::int64_t>(offset, 0);
  const auto n = std::max<std::int64_t>(std::min(rows - first_row, columns - first_column), 0);
  Shape flat, result;
  for (int i = 0; i < rank - 2; ++i) {
    flat.push_back(x->shape[i]);
    result.push_back(x->shape[i]);
  }
  flat.push_back(rows * columns);
  result.push_back(n);
  const auto line = bridge::reshape(x, flat);
  Dims start = Dims::filled(flat.rank(), 0), stop = flat, step = Dims::filled(flat.rank(), 1);
  start[rank - 2] = n == 0 ? 0 : first_row * columns + first_column;
  stop[rank - 2] = n == 0 ? 0 : start[rank - 2] + (n - 1) * (columns + 1) + 1;
  step[rank - 2] = columns + 1;
  return bridge::slice(line, start, stop, step);
}

ValueRef eye(std::int64_t rows, std::int64_t columns, DType dtype, const Device& device) {
  const auto [row, column] = positions(device.entry().backend(), rows, columns, 0);
  return bridge::cast(bridge::compare(op::CompareKind::equal, row, column), dtype);
}

ValueRef linspace(double start, double stop, std::int64_t count, DType dtype, const Device& device) {
  if (count < 0) throw ArgumentError(fmt::format("[linspace] cannot have {} elements", count));
  auto& home = device.entry().backend();
  if (count == 1) return bridge::fill(home, {1}, dtype, start);
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  return bridge::iota(home, count, dtype, start, step);
}

}  // namespace strata::detail
