#include "flex/normalise_kernels.hpp"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/normalise_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "flex/rows_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void Softmax(const T* x, T* out, std::size_t n) {
  const T top = largest(x, n);
  const double sum = sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto e = exp_below_zero(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, top)));
    hn::StoreU(e, d, out + i);
    return e;
  });
  const T scale = static_cast<T>(1 / sum);
  for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, out + i), hn::Set(d, scale)), d, out + i);
  });
}

template <class T>
void LogSoftmax(const T* x, T* out, std::size_t n) {
  const T top = largest(x, n);
  const double sum = sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    return exp_below_zero(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, top)));
  });
  const T log_sum = std::log(static_cast<T>(sum));
  for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto shifted = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, top));
    hn::StoreU(hn::Sub(shifted, hn::Set(d, log_sum)), d, out + i);
  });
}

/// One vector of columns, `stride` elements from row to row.
template <class T, class D>
HWY_INLINE void softmax_down(D d, const T* x, T* out, std::size_t n, std::size_t stride, bool log) {
  const std::size_t lanes = hn::Lanes(d);
  auto top = hn::Set(d, -std::numeric_limits<T>::infinity());
  for (std::size_t i = 0; i < n; ++i) {
    const auto v = hn::LoadU(d, x + i * stride);
    top = hn::IfThenElse(hn::Or(hn::Gt(v, top), hn::IsNaN(v)), v, top);
  }
  double totals[hn::MaxLanes(d)] = {};
  HWY_ALIGN T parts[hn::MaxLanes(d)];
  for (std::size_t first = 0; first < n; first += chunk) {
    auto sum = hn::Zero(d);
    for (std::size_t i = first; i < std::min(first + chunk, n); ++i) {
      const auto shifted = hn::Sub(hn::LoadU(d, x + i * stride), top), e = exp_below_zero(d, shifted);
      sum = hn::Add(sum, e);
      hn::StoreU(log ? shifted : e, d, out + i * stride);
    }
    hn::Store(sum, d, parts);
    for (std::size_t j = 0; j < lanes; ++j) totals[j] += static_cast<double>(parts[j]);
  }
  for (std::size_t j = 0; j < lanes; ++j) {
    parts[j] = log ? std::log(static_cast<T>(totals[j])) : static_cast<T>(1 / totals[j]);
  }
  const auto last = hn::Load(d, parts);
  for (std::size_t i = 0; i < n; ++i) {
    const auto v = hn::LoadU(d, out + i * stride);
    hn::StoreU(log ? hn::Sub(v, last) : hn::Mul(v, last), d, out + i * stride);
  }
}

template <class T>
void SoftmaxColumns(const T* x, T* out, std::size_t n, std::size_t columns, bool log) {
  for_each_vector<T>(
      columns, [&](auto d, std::size_t i) HWY_ATTR { softmax_down(d, x + i, out + i, n, columns, log); });
}

/// out = (x - mean) * scale * weight + bias
template <class T>
HWY_INLINE void affine(const T* HWY_RESTRICT x, const T* HWY_RESTRICT weight, const T* HWY_RESTRICT bias,
                       T* HWY_RESTRICT out, std::size_t n, T mean, T scale) {
  const auto normal = [&](auto d, std::size_t i) HWY_ATTR {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, scale));
  };
  if (weight && bias) {
    for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
      hn::StoreU(hn::MulAdd(normal(d, i), hn::LoadU(d, weight + i), hn::LoadU(d, bias + i)), d, out + i);
    });
  } else if (weight) {
    for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(normal(d, i), hn::LoadU(d, weight + i)), d, out + i);
    });
  } else {
    for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR { hn::StoreU(normal(d, i), d, out + i); });
  }
}

template <class T>
void LayerNorm(const T* x, const T* weight, const T* bias, T* out, std::size_t n, double eps) {
  const double count = static_cast<double>(n);
  const T mean = static_cast<T>(
      sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR { return hn::LoadU(d, x + i); }) / count);
  const double squares = sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto v = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    return hn::Mul(v, v);
  });
  affine(x, weight, bias, out, n, mean, static_cast<T>(1 / std::sqrt(squares / count + eps)));
}

template <class T>
void RmsNorm(const T* x, const T* weight, const T* bias, T* out, std::size_t n, double eps) {
  const double squares = sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    return hn::Mul(v, v);
  });
  const auto scale = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + eps));
  affine(x, weight, bias, out, n, T{0}, scale);
}

template <class T>
const NormaliseKernels<T>& kernels() {
  static const NormaliseKernels<T> all{Softmax<T>, LogSoftmax<T>, SoftmaxColumns<T>, LayerNorm<T>,
                                       RmsNorm<T>};
  return all;
}

const NormaliseKernels<float>& NormaliseF32() { return kernels<float>(); }
const NormaliseKernels<double>& NormaliseF64() { return kernels<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(NormaliseF32);
HWY_EXPORT(NormaliseF64);

template <>
const NormaliseKernels<float>& normalise_kernels() {
  return HWY_DYNAMIC_DISPATCH(NormaliseF32)();
}
template <>
const NormaliseKernels<double>& normalise_kernels() {
  return HWY_DYNAMIC_DISPATCH(NormaliseF64)();
}

}  // namespace strata::flex
#endif
