#include <cmath>
#include <numbers>

#include "base/convert.hpp"
#include "base/philox.hpp"
#include "flex/creation.hpp"
#include "flex/parallel.hpp"

namespace strata::flex {
namespace {

float unit32(std::uint32_t w) { return static_cast<float>(w >> 8) * 0x1p-24f; }
double unit64(std::uint32_t w0, std::uint32_t w1) {
  return static_cast<double>((static_cast<std::uint64_t>(w1) << 32 | w0) >> 11) * 0x1p-53;
}

template <class T>
T uniform(const op::Random& op, std::uint32_t w0, std::uint32_t w1) {
  if constexpr (std::is_same_v<T, double>) {
    return op.a + unit64(w0, w1) * (op.b - op.a);
  } else if constexpr (is_float(dtype_of<T>())) {
    const auto low = static_cast<float>(op.a), high = static_cast<float>(op.b);
    return base::convert<T>(low + unit32(w0) * (high - low));
  } else {
    const double low = std::floor(op.a);
    return base::convert<T>(low + std::floor(unit64(w0, w1) * (op.b - low)));
  }
}

template <class T>
T normal(const op::Random& op, std::uint32_t w0, std::uint32_t w1) {
  using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const F u = unit32(w0), v = unit32(w1);
  const F radius = std::sqrt(F{-2} * std::log(F{1} - u));
  const F value =
      static_cast<F>(op.a) + static_cast<F>(op.b) * radius * std::cos(F{2} * std::numbers::pi_v<F> * v);
  return base::convert<T>(value);
}

template <class T>
T draw(const op::Random& op, std::uint32_t w0, std::uint32_t w1) {
  switch (op.distribution) {
    case op::Distribution::bernoulli:
      break;
    case op::Distribution::uniform:
      if constexpr (!std::is_same_v<T, bool>) return uniform<T>(op, w0, w1);
      break;
    case op::Distribution::normal:
      if constexpr (is_float(dtype_of<T>())) return normal<T>(op, w0, w1);
      break;
  }
  return base::convert<T>(unit32(w0) < static_cast<float>(op.a));
}

}  // namespace

FlexRef run(const op::Random& op, backend::Backend& home, const op::TensorType& type) {
  auto out = FlexValue::make(home, type, "random");
  const auto size = out->size();
  visit_dtype(type.dtype, [&]<class T>() {
    T* elements = out->as<T>();
    constexpr std::int64_t pairs_at_once = 2048,
                           work_per_pair = 64;  // in bytes of traffic that would take as long
    parallel((size + 1) / 2, pairs_at_once, size * work_per_pair, [&](std::int64_t begin, std::int64_t end) {
      for (auto pair = begin; pair < end; ++pair) {
        const auto words = base::philox_pair(static_cast<std::uint64_t>(pair), op.seed);
        elements[2 * pair] = draw<T>(op, words[0], words[1]);
        if (2 * pair + 1 < size) elements[2 * pair + 1] = draw<T>(op, words[2], words[3]);
      }
    });
  });
  return out;
}

}  // namespace strata::flex
