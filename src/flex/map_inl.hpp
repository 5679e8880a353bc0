/// Loops of one operand over vectors, and the limits of Highway's exponential, for every target. Include
/// after Highway's headers, as one of its own "-inl" headers.
#if defined(STRATA_FLEX_MAP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef STRATA_FLEX_MAP_INL
#undef STRATA_FLEX_MAP_INL
#else
#define STRATA_FLEX_MAP_INL
#endif

#include <algorithm>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Applies `vector` to whole vectors, the rest padded to one: an element's result never depends on where it
/// stands.
template <class T, class Vector>
HWY_INLINE void map(const T* HWY_RESTRICT x, T* HWY_RESTRICT out, std::size_t n, Vector vector) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(vector(d, hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN T rest[hn::MaxLanes(d)] = {};
  std::copy(x + i, x + n, rest);
  hn::Store(vector(d, hn::Load(d, rest)), d, rest);
  std::copy(rest, rest + (n - i), out + i);
}

/// As `map`, but elements outside [low, high], and NaN, take `exact`: Highway's functions are not specified
/// there.
template <class T, class Vector, class Exact>
HWY_INLINE void map_inside(const T* HWY_RESTRICT x, T* HWY_RESTRICT out, std::size_t n, T low, T high,
                           Vector vector, Exact exact) {
  map(x, out, n, [&](auto d, auto v) HWY_ATTR {
    const auto inside = hn::And(hn::Ge(v, hn::Set(d, low)), hn::Le(v, hn::Set(d, high)));
    const auto result = vector(d, hn::IfThenElse(inside, v, hn::Set(d, T{1})));
    if (HWY_LIKELY(hn::AllTrue(d, inside))) return result;
    HWY_ALIGN T in[hn::MaxLanes(d)];
    HWY_ALIGN T patched[hn::MaxLanes(d)];
    hn::Store(v, d, in);
    hn::Store(result, d, patched);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      if (!(in[i] >= low && in[i] <= high)) patched[i] = exact(in[i]);
    }
    return hn::Load(d, patched);
  });
}

template <class T>
inline constexpr T exp_limit = sizeof(T) == 4 ? T{87} : T{700};  // normal results, no overflow

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#endif
