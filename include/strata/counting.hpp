/// Counting, searching, and indices of several axes. NaN is the largest number, equal to itself. Results
/// whose size depends on the data wait for it.
#pragma once

#include "strata/detail/functions.hpp"
#include "strata/tensor.hpp"

namespace strata::inline v0 {

// ---- counting

template <int D, class Kind>
struct Unique {
  Tensor<1, Kind> values;  ///< ascending
  Tensor<D, Int> inverse;  ///< values.select(0, inverse) is the tensor again, flattened
  Tensor<1, Int> counts;   ///< of each value
};
/// The different elements, ascending. Waits.
template <int D, class Kind>
Tensor<1, Kind> unique(const Tensor<D, Kind>& x) {
  return Tensor<1, Kind>(detail::unique(x.value()).values);
}
/// The same with where each element went and how often it occurs. Waits.
template <int D, class Kind>
Unique<D, Kind> unique_all(const Tensor<D, Kind>& x) {
  const auto r = detail::unique(x.value());
  return {Tensor<1, Kind>(r.values), Tensor<D, Int>(r.inverse), Tensor<1, Int>(r.counts)};
}
/// How often each of 0, 1, ... up to the largest element occurs; at least `least` numbers. An element below 0
/// is an IndexError. Waits.
inline Tensor<1, Int> bincount(const Tensor<1, Int>& x, std::int64_t least = 0) {
  return Tensor<1, Int>(detail::bincount(x.value(), {}, least));
}
/// Sums of the weights of equal elements; differentiable by the weights.
inline Tensor<1> bincount(const Tensor<1, Int>& x, const Tensor<1>& weights, std::int64_t least = 0) {
  return Tensor<1>(detail::bincount(x.value(), weights.value(), least));
}

struct Histogram {
  Tensor<1, Int> counts;
  Tensor<1> edges;  ///< one more than bins
};
/// Elements in [edges[i], edges[i + 1]), the last bin with its upper edge; those outside and NaN are not
/// counted. The edges ascend.
template <int D>
Tensor<1, Int> histogram(const Tensor<D>& x, const Tensor<1>& edges) {
  return Tensor<1, Int>(detail::histogram(x.value(), edges.value()));
}
/// The same in `bins` bins of equal width. Throws ArgumentError unless bins >= 1 and low < high are finite.
template <int D>
Histogram histogram(const Tensor<D>& x, std::int64_t bins, double low, double high) {
  const Tensor<1> edges(detail::bin_edges(x.value(), bins, low, high));
  return {histogram(x, edges), edges};
}

// ---- searching

/// Where each value would be inserted to keep `sorted` ascending: before equal elements, or behind them
/// (right). Binary search, for all values at once.
template <int D, class Kind>
Tensor<D, Int> searchsorted(const Tensor<1, Kind>& sorted, const Tensor<D, Kind>& values,
                            bool right = false) {
  return Tensor<D, Int>(detail::searchsorted(sorted.value(), values.value(), right));
}
/// The same in rows: sorted [.., n] and values [.., m], whose other axes agree.
template <int D, class Kind>
requires(D >= 2) Tensor<D, Int> searchsorted(const Tensor<D, Kind>& sorted, const Tensor<D, Kind>& values,
                                             bool right = false) {
  return Tensor<D, Int>(detail::searchsorted(sorted.value(), values.value(), right));
}
/// Whether each element is one of the set's. NaN is none.
template <int D, class Kind>
Tensor<D, Bool> isin(const Tensor<D, Kind>& x, const Tensor<1, Kind>& set) {
  return Tensor<D, Bool>(detail::is_in(x.value(), set.value()));
}
/// Positions of the elements that are not 0 (or true), [count, D], row-major. Waits.
template <int D, class Kind>
Tensor<2, Int> nonzero(const Tensor<D, Kind>& x) {
  if constexpr (std::is_same_v<Kind, Bool>) {
    return x.argwhere();
  } else {
    return x.not_equal(0).argwhere();
  }
}
/// Places of the k largest (or smallest) along an axis, best first.
template <int D, class Kind>
requires(D >= 1) Tensor<D, Int> argtopk(const Tensor<D, Kind>& x, std::int64_t k, int axis = -1,
                                        bool largest = true) {
  if (k < 0) throw ArgumentError("[argtopk] k must not be negative");
  return Tensor<D, Int>(detail::argsort(x.value(), axis, largest, k));
}

// ---- indices of several axes. One outside its axis is an IndexError, on a lazy device when the result is
// read.

/// Elements at row-major positions in the whole tensor, in the shape of the index.
template <int D, int E, class Kind>
Tensor<E, Kind> take(const Tensor<D, Kind>& x, const Tensor<E, Int>& index) {
  return Tensor<E, Kind>(detail::take(x.value(), index.value()));
}
/// index [.., N] holds places on the first N axes of x: out[.., rest] = x[index[..], rest].
template <int N, int D, int E, class Kind>
requires(N >= 0 && N <= D && E >= 1 &&
         E - 1 + D - N <= max_rank) auto gather_nd(const Tensor<D, Kind>& x, const Tensor<E, Int>& index) {
  return Tensor<E - 1 + D - N, Kind>(detail::gather_nd(x.value(), index.value(), N));
}
/// x with source[.., rest] put at, added to, ... x[index[..], rest]. Where an index repeats, entries take
/// effect in order.
template <int D, int E, int S, class Kind>
requires(E >= 1 && E - 1 + D >= S) Tensor<D, Kind> scatter_nd(const Tensor<D, Kind>& x,
                                                              const Tensor<E, Int>& index,
                                                              const Tensor<S, Kind>& source,
                                                              ScatterMode mode = ScatterMode::assign) {
  constexpr int N = E - 1 + D - S;
  static_assert(N <= D, "the source needs the leading axes of the index");
  return Tensor<D, Kind>(detail::scatter_nd(x.value(), index.value(), source.value(), mode, N));
}

}  // namespace strata::inline v0
