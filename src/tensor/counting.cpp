#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "strata/detail/functions.hpp"
#include "strata/error.hpp"
#include "tensor/host_values.hpp"

namespace strata::detail {
namespace {

using bridge::add;
using bridge::mul;
using op::BinaryKind;
using op::CompareKind;
using op::ScatterMode;

ValueRef flat(const ValueRef& x) { return bridge::reshape(x, {x->shape.product()}); }
ValueRef both(const ValueRef& a, const ValueRef& b) { return bridge::binary(BinaryKind::bit_and, a, b); }
ValueRef is_number(const ValueRef& x) { return bridge::compare(CompareKind::equal, x, x); }
ValueRef not_of(const ValueRef& x) { return bridge::unary(op::UnaryKind::logical_not, x); }
ValueRef part(const ValueRef& x, std::int64_t first, std::int64_t last) {
  return bridge::slice(x, {first}, {last}, {1});
}
/// What an index may be for bridge::gather.
ValueRef index_of(const ValueRef& x) { return x->dtype == DType::u8 ? bridge::cast(x, DType::i64) : x; }

/// Whether a stands before b in ascending order; with `equal` also whether it may.
ValueRef before(const ValueRef& a, const ValueRef& b, bool equal) {
  if (a->dtype == DType::boolean)
    return before(bridge::cast(a, DType::u8), bridge::cast(b, DType::u8), equal);
  const auto less = bridge::compare(equal ? CompareKind::less_equal : CompareKind::less, a, b);
  if (!is_float(a->dtype)) return less;
  // NaN is above all numbers and equal to itself.
  const auto below_nan = equal ? not_of(is_number(b)) : both(is_number(a), not_of(is_number(b)));
  return bridge::binary(BinaryKind::bit_or, less, below_nan);
}

/// The places that a [.., axes] index names on the first axes of x, row-major in the product of these axes.
/// Each is checked against its own axis: a gather from 0, 1, 2 ... gives it back or throws.
ValueRef linear_places(const ValueRef& x, const ValueRef& index_in, int axes, std::string_view op) {
  const int last = index_in->shape.rank() - 1;
  if (index_in->shape[last] != axes) {
    throw ShapeError(
        fmt::format("[{}] the last axis of the index {} must have {} entries, one for each axis that it "
                    "names of {}",
                    op, index_in->shape.to_string(), axes, x->shape.to_string()));
  }
  const auto index = bridge::cast(index_in, DType::i64);
  std::int64_t count = 1;
  for (int i = 0; i < last; ++i) count *= index->shape[i];
  auto places = bridge::expand(bridge::scalar_like(index, 0), {count});
  for (int i = 0; i < axes; ++i) {
    const auto n = x->shape[i];
    const auto entry = bridge::reshape(narrow(index, last, i, 1), {count});
    const auto place = bridge::select(bridge::iota(x->backend, n, DType::i64, 0, 1), 0, entry);
    places = add(mul(places, op::Number(n)), place);
  }
  return places;
}

/// x as [product of the first axes, product of the others].
ValueRef blocks(const ValueRef& x, int axes) {
  Shape shape{1, 1};
  for (int i = 0; i < x->shape.rank(); ++i) shape[i < axes ? 0 : 1] *= x->shape[i];
  return bridge::reshape(x, shape);
}

/// The extents of the index but its last, then those of x that it does not name.
Shape nd_shape(const ValueRef& x, const ValueRef& index, int axes) {
  Shape shape(std::span(index->shape.begin(), index->shape.size() - 1));
  for (int i = axes; i < x->shape.rank(); ++i) shape.push_back(x->shape[i]);
  return shape;
}

}  // namespace

UniqueValues unique(const ValueRef& x) {
  const auto all = flat(x);
  const auto n = all->shape[0];
  const auto order = bridge::argsort(all, 0, false);
  const auto sorted = bridge::gather(all, 0, order);
  // The first of equal ones differs from its neighbour.
  const auto left = part(sorted, 0, std::max<std::int64_t>(n - 1, 0)),
             right = part(sorted, std::min<std::int64_t>(n, 1), n);
  auto differs = bridge::compare(CompareKind::not_equal, left, right);
  if (is_float(x->dtype)) {
    differs = both(differs, bridge::binary(BinaryKind::bit_or, is_number(left), is_number(right)));
  }
  const auto first =
      n == 0 ? differs : bridge::cat({bridge::fill(x->backend, {1}, DType::boolean, true), differs}, 0);
  const auto flags = first->backend.read(first);
  std::vector<std::int64_t> starts, counts;
  for (std::int64_t i = 0; i < n; ++i) {
    if (flags.as<bool>()[static_cast<std::size_t>(i)]) starts.push_back(i);
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    counts.push_back((i + 1 < starts.size() ? starts[i + 1] : n) - starts[i]);
  }
  const auto rank = add(bridge::cumulative(op::CumulativeKind::sum, bridge::cast(first, DType::i64), 0), -1);
  const auto inverse = bridge::scatter(bridge::zeros_like(rank), 0, order, rank, ScatterMode::assign);
  return {bridge::select(sorted, 0, host_values(x, starts)), bridge::reshape(inverse, x->shape),
          host_values(x, counts)};
}

ValueRef bincount(const ValueRef& x, const ValueRef& weights, std::int64_t least) {
  if (least < 0) throw ArgumentError(fmt::format("[bincount] cannot count {} numbers", least));
  if (weights && weights->shape != x->shape) {
    throw ShapeError(fmt::format("[bincount] needs one weight for each element: {} for {}",
                                 weights->shape.to_string(), x->shape.to_string()));
  }
  const auto index = bridge::cast(x, DType::i64);
  auto size = least;
  if (x->shape[0] > 0) {
    const auto largest = into_data(bridge::reduce_all(op::ReduceKind::max, index)).as<std::int64_t>()[0];
    if (largest == INT64_MAX) throw IndexError("[bincount] an element is the largest i64");
    size = std::max(size, largest + 1);
  }
  const auto ones = weights ? weights : bridge::expand(bridge::scalar_like(index, 1), index->shape);
  const auto zeros = bridge::expand(bridge::scalar_like(ones, 0), {size});
  return bridge::scatter(zeros, 0, index, ones, ScatterMode::add);
}

ValueRef bin_edges(const ValueRef& like, std::int64_t bins, double low, double high) {
  if (bins < 1 || !std::isfinite(low) || !std::isfinite(high) || !(low < high)) {
    throw ArgumentError(
        fmt::format("[histogram] {} bins from {} to {}: needs at least one, and finite ends that "
                    "ascend",
                    bins, low, high));
  }
  std::vector<double> edges;
  for (std::int64_t i = 0; i < bins; ++i) {
    edges.push_back(low + (high - low) * (static_cast<double>(i) / static_cast<double>(bins)));
  }
  edges.push_back(high);
  return bridge::cast(host_values(like, edges), like->dtype);
}

ValueRef histogram(const ValueRef& input, const ValueRef& edges) {
  const auto bins = edges->shape[0] - 1;
  if (bins < 1) throw ShapeError("[histogram] needs two edges or more, not " + edges->shape.to_string());
  if (input->dtype != edges->dtype) {
    throw DTypeError(fmt::format("[histogram] the elements are {} and the edges {}; cast one of them",
                                 name_of(input->dtype), name_of(edges->dtype)));
  }
  const auto x = flat(input);
  const auto place = add(searchsorted(edges, x, true), -1);
  const auto inside = both(bridge::compare(CompareKind::greater_equal, x, at(edges, 0, 0)),
                           bridge::compare(CompareKind::less_equal, x, at(edges, 0, bins)));
  const auto last = bridge::binary(BinaryKind::min, place, op::Number(bins - 1));  // the upper edge is inside
  const auto index = bridge::where(inside, last, bridge::scalar_like(place, op::Number(bins)));
  const auto ones = bridge::expand(bridge::scalar_like(index, 1), index->shape);
  const auto zeros = bridge::expand(bridge::scalar_like(index, 0), {bins + 1});
  return part(bridge::scatter(zeros, 0, index, ones, ScatterMode::add), 0, bins);
}

ValueRef searchsorted(const ValueRef& sorted, const ValueRef& values, bool right) {
  const bool shared = sorted->shape.rank() == 1;
  const int last = sorted->shape.rank() - 1;
  const auto n = sorted->shape[last];
  Shape lead = sorted->shape, wanted = values->shape;
  if (!shared) lead[last] = wanted[last] = 0;
  if (!shared && lead != wanted) {
    throw ShapeError(fmt::format("[searchsorted] sorted {} and values {} must agree in all axes but the last",
                                 sorted->shape.to_string(), values->shape.to_string()));
  }
  if (sorted->dtype != values->dtype) {
    throw DTypeError(fmt::format("[searchsorted] sorted is {} and values {}; cast one of them",
                                 name_of(sorted->dtype), name_of(values->dtype)));
  }
  const auto x = shared ? flat(values) : values;
  auto place = bridge::expand(bridge::fill(x->backend, {}, DType::i64, 0), x->shape);
  if (n == 0) return bridge::reshape(place, values->shape);
  // `place` entries are known to stand before the value; each step doubts half as many more.
  for (auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))); step > 0;
       step /= 2) {
    const auto next = add(place, op::Number(step));
    const auto looked = bridge::binary(BinaryKind::min, add(next, -1), op::Number(n - 1));
    const auto entry = bridge::gather(sorted, last, looked);
    const auto fits = bridge::compare(CompareKind::less_equal, next, op::Number(n));
    place = bridge::where(both(fits, before(entry, x, right)), next, place);
  }
  return bridge::reshape(place, values->shape);
}

ValueRef is_in(const ValueRef& x, const ValueRef& set) {
  const auto n = set->shape[0];
  if (n == 0) return bridge::expand(bridge::fill(x->backend, {}, DType::boolean, false), x->shape);
  const auto sorted = bridge::gather(set, 0, bridge::argsort(set, 0, false));
  const auto place = bridge::binary(BinaryKind::min, searchsorted(sorted, x, false), op::Number(n - 1));
  return bridge::compare(CompareKind::equal, take(sorted, place), x);
}

ValueRef take(const ValueRef& x, const ValueRef& index) {
  return bridge::reshape(bridge::select(flat(x), 0, flat(index_of(index))), index->shape);
}

ValueRef gather_nd(const ValueRef& x, const ValueRef& index, int axes) {
  const auto places = linear_places(x, index, axes, "gather_nd");
  return bridge::reshape(bridge::select(blocks(x, axes), 0, places), nd_shape(x, index, axes));
}

ValueRef scatter_nd(const ValueRef& x, const ValueRef& index, const ValueRef& source, op::ScatterMode mode,
                    int axes) {
  const auto places = linear_places(x, index, axes, "scatter_nd");
  const auto wanted = nd_shape(x, index, axes);
  if (source->shape != wanted) {
    throw ShapeError(fmt::format("[scatter_nd] the source {} must have the shape {} for x {} and index {}",
                                 source->shape.to_string(), wanted.to_string(), x->shape.to_string(),
                                 index->shape.to_string()));
  }
  const auto rows = blocks(x, axes);
  const auto entries = bridge::reshape(source, {places->shape[0], rows->shape[1]});
  return bridge::reshape(bridge::select_assign(rows, 0, places, entries, mode), x->shape);
}

}  // namespace strata::detail
