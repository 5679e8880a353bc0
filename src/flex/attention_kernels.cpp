#include "flex/attention_kernels.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/attention_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "flex/rows_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

template <class T>
void Hide(T* HWY_RESTRICT row, const std::uint8_t* HWY_RESTRICT mask, std::int64_t stride, std::size_t n) {
  const auto count = static_cast<std::int64_t>(n);
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) row[i] = mask[i] ? row[i] : minus_infinity<T>;
  } else {
    for (std::int64_t i = 0; i < count; ++i) row[i] = mask[i * stride] ? row[i] : minus_infinity<T>;
  }
}

template <class T>
void Shift(T* HWY_RESTRICT row, const T* HWY_RESTRICT bias, std::int64_t stride, std::size_t n) {
  const auto count = static_cast<std::int64_t>(n);
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) row[i] += bias[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) row[i] += bias[i * stride];
  }
}

template <class T>
T Step(T* row, std::size_t n, T* top, double* sum) {
  const T here = largest(row, n), old = *top;
  const T now = here > old || here != here ? here : old;
  if (now == minus_infinity<T>) {  // nothing to look at so far
    std::fill(row, row + n, T{0});
    return 1;
  }
  const double added = sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto e = exp_below_zero(d, hn::Sub(hn::LoadU(d, row + i), hn::Set(d, now)));
    hn::StoreU(e, d, row + i);
    return e;
  });
  const T factor = now == old ? T{1} : std::exp(old - now);
  *sum = *sum * static_cast<double>(factor) + added;
  *top = now;
  return factor;
}

template <class T>
void Gradient(T* scores, T* products, std::size_t n, T log_sum, T delta) {
  const bool nowhere = log_sum == minus_infinity<T>;
  for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto shifted = hn::Sub(hn::LoadU(d, scores + i), hn::Set(d, log_sum));
    const auto p = nowhere ? hn::Zero(d) : exp_below_zero(d, shifted);
    hn::StoreU(p, d, scores + i);
    hn::StoreU(hn::Mul(p, hn::Sub(hn::LoadU(d, products + i), hn::Set(d, delta))), d, products + i);
  });
}

template <class T>
void Scale(const T* HWY_RESTRICT x, T factor, T* HWY_RESTRICT out, std::size_t n) {
  for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, out + i);
  });
}

template <class T>
void Accumulate(T* HWY_RESTRICT out, T factor, const T* HWY_RESTRICT x, std::size_t n) {
  for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, out + i), hn::Set(d, factor), hn::LoadU(d, x + i)), d, out + i);
  });
}

template <class T>
void Dots(const T* a, const T* b, std::int64_t row_stride, std::size_t rows, std::size_t d, T* out) {
  if (d == 0) {  // and no rows to point to
    std::fill(out, out + rows, T{0});
    return;
  }
  const hn::ScalableTag<T> tag;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t row = 0; row < rows; ++row, b += row_stride) {
    auto sum = hn::Zero(tag), other = sum;
    std::size_t i = 0;
    for (; i + 2 * lanes <= d; i += 2 * lanes) {
      sum = hn::MulAdd(hn::LoadU(tag, a + i), hn::LoadU(tag, b + i), sum);
      other = hn::MulAdd(hn::LoadU(tag, a + i + lanes), hn::LoadU(tag, b + i + lanes), other);
    }
    for (; i + lanes <= d; i += lanes) sum = hn::MulAdd(hn::LoadU(tag, a + i), hn::LoadU(tag, b + i), sum);
    T total = hn::GetLane(hn::SumOfLanes(tag, hn::Add(sum, other)));
    for (; i < d; ++i) total += a[i] * b[i];
    out[row] = total;
  }
}

template <class T>
void Mix(const T* weights, const T* b, std::int64_t row_stride, std::size_t rows, std::size_t d,
         T* HWY_RESTRICT out) {
  if (d == 0) return;
  std::fill(out, out + d, T{0});
  for (std::size_t row = 0; row < rows; ++row, b += row_stride) {
    const T* HWY_RESTRICT from = b;
    for_each_vector<T>(d, [&](auto tag, std::size_t i) HWY_ATTR {
      hn::StoreU(hn::MulAdd(hn::LoadU(tag, from + i), hn::Set(tag, weights[row]), hn::LoadU(tag, out + i)),
                 tag, out + i);
    });
  }
}

template <class T>
const AttentionKernels<T>& kernels() {
  static const AttentionKernels<T> all{Hide<T>,  Shift<T>,      Step<T>, Gradient<T>,
                                       Scale<T>, Accumulate<T>, Dots<T>, Mix<T>};
  return all;
}

const AttentionKernels<float>& AttentionF32() { return kernels<float>(); }
const AttentionKernels<double>& AttentionF64() { return kernels<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(AttentionF32);
HWY_EXPORT(AttentionF64);

template <>
const AttentionKernels<float>& attention_kernels() {
  return HWY_DYNAMIC_DISPATCH(AttentionF32)();
}
template <>
const AttentionKernels<double>& attention_kernels() {
  return HWY_DYNAMIC_DISPATCH(AttentionF64)();
}

}  // namespace strata::flex
#endif
