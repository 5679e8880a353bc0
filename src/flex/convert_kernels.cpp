#include "flex/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/convert_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Without a conversion instruction (the baseline) the element types' own rounding is used.
constexpr bool has_f16 = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

void F16ToFloat(const Float16* x, float* out, std::size_t n) {
  std::size_t i = 0;
  if constexpr (has_f16) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    const auto* bits = reinterpret_cast<const hwy::float16_t*>(x);
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, bits + i)), d, out + i);
    }
  }
  for (; i < n; ++i) out[i] = static_cast<float>(x[i]);
}

void F16FromFloat(const float* x, Float16* out, std::size_t n) {
  std::size_t i = 0;
  if constexpr (has_f16) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    auto* bits = reinterpret_cast<hwy::float16_t*>(out);
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, x + i)), half, bits + i);
    }
  }
  for (; i < n; ++i) out[i] = Float16(x[i]);
}

void BF16ToFloat(const BFloat16* x, float* out, std::size_t n) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Rebind<std::uint16_t, decltype(d)> half;
  const hn::Rebind<float, decltype(d)> f;
  const auto* bits = reinterpret_cast<const std::uint16_t*>(x);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(hn::BitCast(f, hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(half, bits + i)))), f, out + i);
  }
  for (; i < n; ++i) out[i] = static_cast<float>(x[i]);
}

void BF16FromFloat(const float* x, BFloat16* out, std::size_t n) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::RebindToUnsigned<decltype(d)> u;
  const hn::Rebind<float, decltype(d)> f;
  const hn::Rebind<std::uint16_t, decltype(d)> half;
  auto* bits = reinterpret_cast<std::uint16_t*>(out);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto value = hn::LoadU(f, x + i);
    const auto word = hn::BitCast(u, value);
    const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(u, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(word, hn::Add(odd, hn::Set(u, 0x7fffu))));
    const auto quiet = hn::Or(hn::ShiftRight<16>(word), hn::Set(u, 0x40u));
    const auto nan = hn::RebindMask(u, hn::IsNaN(value));
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(d, hn::IfThenElse(nan, quiet, rounded))), half, bits + i);
  }
  for (; i < n; ++i) out[i] = BFloat16(x[i]);
}

const char* InstructionSet() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(F16ToFloat);
HWY_EXPORT(F16FromFloat);
HWY_EXPORT(BF16ToFloat);
HWY_EXPORT(BF16FromFloat);
HWY_EXPORT(InstructionSet);

void to_float(const Float16* x, float* out, std::size_t n) { HWY_DYNAMIC_DISPATCH(F16ToFloat)(x, out, n); }
void to_float(const BFloat16* x, float* out, std::size_t n) { HWY_DYNAMIC_DISPATCH(BF16ToFloat)(x, out, n); }
void from_float(const float* x, Float16* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(F16FromFloat)(x, out, n);
}
void from_float(const float* x, BFloat16* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(BF16FromFloat)(x, out, n);
}

const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(InstructionSet)(); }

}  // namespace strata::flex
#endif
