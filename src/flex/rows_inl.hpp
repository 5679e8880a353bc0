/// Loops over one contiguous row of numbers, for every target. Include after Highway's headers, as one of its
/// own "-inl" headers.
#if defined(STRATA_FLEX_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef STRATA_FLEX_ROWS_INL
#undef STRATA_FLEX_ROWS_INL
#else
#define STRATA_FLEX_ROWS_INL
#endif

#include <algorithm>
#include <limits>

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Elements summed in T before the sum joins a double.
constexpr std::size_t chunk = 1024;

/// Sum of term(d, i, lanes_left) over a row, where term loads the vector at i; a last part of a vector is
/// masked.
template <class T, class Term>
HWY_INLINE double sum_of(std::size_t n, Term term) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  double total = 0;
  for (std::size_t first = 0; first < n; first += chunk) {
    const auto end = std::min(first + chunk, n);
    auto a = hn::Zero(d), b = a, c = a, e = a;  // four chains hide the latency of an addition
    std::size_t i = first;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      a = hn::Add(a, term(d, i));
      b = hn::Add(b, term(d, i + lanes));
      c = hn::Add(c, term(d, i + 2 * lanes));
      e = hn::Add(e, term(d, i + 3 * lanes));
    }
    for (; i + lanes <= end; i += lanes) a = hn::Add(a, term(d, i));
    T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
    const hn::CappedTag<T, 1> one;
    for (; i < end; ++i) sum += hn::GetLane(term(one, i));
    total += static_cast<double>(sum);
  }
  return total;
}

template <class T, class Map>
HWY_INLINE void for_each_vector(std::size_t n, Map map) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) map(d, i);
  const hn::CappedTag<T, 1> one;
  for (; i < n; ++i) map(one, i);
}

/// NaN wins.
template <class T>
HWY_INLINE T largest(const T* HWY_RESTRICT x, std::size_t n) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto max_or_nan = [](auto a, auto v)
                              HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Gt(v, a), hn::IsNaN(v)), v, a); };
  T best = -std::numeric_limits<T>::infinity();
  std::size_t i = 0;
  if (n >= 2 * lanes) {
    auto a = hn::Set(d, best), b = a;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      a = max_or_nan(a, hn::LoadU(d, x + i));
      b = max_or_nan(b, hn::LoadU(d, x + i + lanes));
    }
    const auto most = max_or_nan(a, b);
    if (!hn::AllFalse(d, hn::IsNaN(most))) return std::numeric_limits<T>::quiet_NaN();
    best = hn::GetLane(hn::MaxOfLanes(d, most));
  }
  for (; i < n; ++i) best = x[i] > best || x[i] != x[i] ? x[i] : best;
  return best;
}

/// exp of what is at most 0 (or NaN); below `lowest` it is 0.
template <class D, class V>
HWY_INLINE V exp_below_zero(D d, V v) {
  using T = hn::TFromD<D>;
  constexpr T lowest = sizeof(T) == 4 ? T{-103.98} : T{-745.2};
  const auto e = hn::Exp(d, hn::Max(v, hn::Set(d, lowest)));
  const auto flushed = hn::IfThenZeroElse(hn::Lt(v, hn::Set(d, lowest)), e);
  return hn::IfThenElse(hn::IsNaN(v), v, flushed);
}

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#endif
