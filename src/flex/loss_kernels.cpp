#include "flex/loss_kernels.hpp"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/loss_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "flex/rows_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void LogSum(const T* x, std::size_t n, T* top, double* logarithm) {
  const T largest_x = largest(x, n);
  *top = largest_x;
  *logarithm = std::log(sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    return exp_below_zero(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, largest_x)));
  }));
}

template <class T>
double Weighted(const T* x, const T* weights, T top, std::size_t n) {
  if (!weights) {
    return sum_of<T>(
        n, [&](auto d, std::size_t i) HWY_ATTR { return hn::Sub(hn::LoadU(d, x + i), hn::Set(d, top)); });
  }
  return sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, weights + i), hn::Sub(hn::LoadU(d, x + i), hn::Set(d, top)));
  });
}

template <class T>
double Sum(const T* x, std::size_t n) {
  return sum_of<T>(n, [&](auto d, std::size_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
}

template <class T>
void Gradient(const T* x, const T* weights, T log_sum, T scale, T rest, T* out, std::size_t n) {
  const auto p = [&](auto d, std::size_t i) HWY_ATTR {
    const auto e = exp_below_zero(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, log_sum)));
    return hn::Mul(e, hn::Set(d, scale));
  };
  if (rest == 0) {
    for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR { hn::StoreU(p(d, i), d, out + i); });
  } else if (!weights) {
    for_each_vector<T>(n, [&](auto d, std::size_t i)
                              HWY_ATTR { hn::StoreU(hn::Sub(p(d, i), hn::Set(d, rest)), d, out + i); });
  } else {
    for_each_vector<T>(n, [&](auto d, std::size_t i) HWY_ATTR {
      hn::StoreU(hn::NegMulAdd(hn::LoadU(d, weights + i), hn::Set(d, rest), p(d, i)), d, out + i);
    });
  }
}

template <class T>
const LossKernels<T>& kernels() {
  static const LossKernels<T> all{LogSum<T>, Weighted<T>, Sum<T>, Gradient<T>};
  return all;
}

const LossKernels<float>& LossF32() { return kernels<float>(); }
const LossKernels<double>& LossF64() { return kernels<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(LossF32);
HWY_EXPORT(LossF64);

template <>
const LossKernels<float>& loss_kernels() {
  return HWY_DYNAMIC_DISPATCH(LossF32)();
}
template <>
const LossKernels<double>& loss_kernels() {
  return HWY_DYNAMIC_DISPATCH(LossF64)();
}

}  // namespace strata::flex
#endif
