#include "flex/order.hpp"

#include <algorithm>
#include <numeric>

#include "base/convert.hpp"
#include "flex/lines.hpp"
#include "flex/parallel.hpp"
#include "flex/reader.hpp"
#include "flex/reduce_kernels.hpp"

namespace strata::flex {
namespace {

template <class T>
bool is_nan(T x) {
  return x != x;
}

template <class S>
Compute<S> computed(S x) {
  if constexpr (is_half<S>) {
    return static_cast<float>(x);
  } else {
    return static_cast<Compute<S>>(x);
  }
}

/// The first index of the extremum of a row: block by block the extremum, then where in the block it stands.
template <class S>
std::int64_t arg_extremum(const S* x, std::int64_t n, const ReduceKernels<Compute<S>>& kernels,
                          bool largest) {
  using C = Compute<S>;
  union {
    alignas(64) C converted[is_half<S> ? block : 1];
  };
  C best{};
  std::int64_t at = -1;
  for (std::int64_t first = 0; first < n; first += block) {
    const auto count = std::min(block, n - first);
    const C* part;
    if constexpr (is_half<S>) {
      to_float(x + first, converted, static_cast<std::size_t>(count));
      part = converted;
    } else {
      part = reinterpret_cast<const C*>(x + first);
    }
    const C found = kernels.row(part, static_cast<std::size_t>(count));
    if (at >= 0 && !is_nan(found) && !(largest ? found > best : found < best)) continue;
    best = found;
    at = first +
         (std::find_if(part, part + count, [&](C v) { return v == found || (is_nan(v) && is_nan(found)); }) -
          part);
    if (is_nan(found)) return at;
  }
  return at;
}

template <class S>
void arg_reduce(const op::ArgReduce& op, const S* x, std::int64_t rows, std::int64_t n, std::int64_t* out) {
  const bool largest = op.kind == op::ExtremumKind::max;
  const auto kernels = reduce_kernels<Compute<S>>(largest ? op::ReduceKind::max : op::ReduceKind::min);
  parallel(rows, std::max<std::int64_t>(block / n, 1), rows * n * static_cast<std::int64_t>(sizeof(S)),
           [&](std::int64_t begin, std::int64_t end) {
             for (auto row = begin; row < end; ++row)
               out[row] = arg_extremum(x + row * n, n, kernels, largest);
           });
}

/// A total order: NaN above all numbers, equal elements by their index.
template <class S>
struct Before {
  const S* x;
  bool descending;
  bool operator()(std::int64_t i, std::int64_t j) const {
    const auto a = computed(x[i]), b = computed(x[j]);
    const bool less = a < b || (is_nan(b) && !is_nan(a)), greater = a > b || (is_nan(a) && !is_nan(b));
    if (less || greater) return descending ? greater : less;
    return i < j;
  }
};

/// The first `count` indices of a row in order. No memory besides the result's.
template <class S>
void argsort_row(const S* x, std::int64_t n, bool descending, std::int64_t* out, std::int64_t count) {
  const Before<S> before{x, descending};
  std::iota(out, out + count, std::int64_t{0});
  if (count == n) return std::sort(out, out + n, before);
  if (count == 0) return;
  std::make_heap(out, out + count, before);  // its top is the worst of the best so far
  for (auto i = count; i < n; ++i) {
    if (!before(i, out[0])) continue;
    std::pop_heap(out, out + count, before);
    out[count - 1] = i;
    std::push_heap(out, out + count, before);
  }
  std::sort_heap(out, out + count, before);
}

/// f32 accumulates in f64, halves in f32, integers wrap.
template <class S>
using Running = std::conditional_t<std::is_same_v<S, float>, double,
                                   std::conditional_t<std::is_integral_v<S>, std::uint64_t, Compute<S>>>;

template <class S>
void accumulate_row(op::CumulativeKind kind, const S* x, std::int64_t n, S* out) {
  using op::CumulativeKind;
  if (kind == CumulativeKind::max || kind == CumulativeKind::min) {
    S best = x[0];
    for (std::int64_t i = 0; i < n; ++i) {
      const auto a = computed(best), b = computed(x[i]);
      if (!is_nan(a) && (is_nan(b) || (kind == CumulativeKind::max ? b > a : b < a))) best = x[i];
      out[i] = best;
    }
    return;
  }
  using T = Running<S>;
  T total = kind == CumulativeKind::prod ? 1 : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<T>(computed(x[i]));
    total = kind == CumulativeKind::prod ? total * v : total + v;
    if constexpr (is_half<S>) {
      out[i] = S(total);
    } else {
      out[i] = static_cast<S>(total);
    }
  }
}

}  // namespace

FlexRef run(const op::ArgReduce& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  const char* name = op.kind == op::ExtremumKind::max ? "argmax" : "argmin";
  auto out = FlexValue::make(x.backend, type, name);
  if (out->size() == 0) return out;
  const auto rows = rows_of(x, op.axis, name);
  visit_dtype(x.dtype, [&]<class S>() {
    using Stored = std::conditional_t<std::is_same_v<S, bool>, std::uint8_t, S>;
    arg_reduce(op, rows->as<Stored>(), out->size(), x.shape[op.axis], out->as<std::int64_t>());
  });
  return out;
}

FlexRef run(const op::ArgSort& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  const auto out = FlexValue::make(x.backend, {type.dtype, rows_shape(type.shape, op.axis)}, "argsort");
  if (out->size() == 0) return axis_back(out, op.axis);
  const auto rows = rows_of(x, op.axis, "argsort");
  const auto n = x.shape[op.axis], count = type.shape[op.axis];
  visit_dtype(x.dtype, [&]<class S>() {
    const S* data = rows->as<S>();
    auto* indices = out->as<std::int64_t>();
    // Sorting costs many times its traffic.
    parallel(out->size() / count, 1, x.size() * 64, [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) {
        argsort_row(data + row * n, n, op.descending, indices + row * count, count);
      }
    });
  });
  return axis_back(out, op.axis);
}

FlexRef run(const op::Cumulative& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  const auto out = FlexValue::make(x.backend, {type.dtype, rows_shape(type.shape, op.axis)}, "cumulative");
  if (out->size() == 0) return axis_back(out, op.axis);
  const auto rows = rows_of(x, op.axis, "cumulative");
  const auto n = x.shape[op.axis];
  visit_dtype(x.dtype, [&]<class S>() {
    if constexpr (!std::is_same_v<S, bool>) {
      const S* data = rows->as<S>();
      S* result = out->as<S>();
      parallel(out->size() / n, std::max<std::int64_t>(block / n, 1),
               2 * out->size() * static_cast<std::int64_t>(sizeof(S)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto row = begin; row < end; ++row) {
                   accumulate_row(op.kind, data + row * n, n, result + row * n);
                 }
               });
    }
  });
  return axis_back(out, op.axis);
}

}  // namespace strata::flex
