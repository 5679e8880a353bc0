#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/convert.hpp"
#include "flex/creation.hpp"
#include "flex/moving_kernels.hpp"
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

/// The elements that a block of words makes.
template <class T>
void draw_all(const op::Random& op, const PhiloxWords& words, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto pair = static_cast<std::size_t>(i / 2), odd = static_cast<std::size_t>(i % 2);
    out[i] = draw<T>(op, words.word[2 * odd][pair], words.word[2 * odd + 1][pair]);
  }
}

}  // namespace

FlexRef run(const op::Random& op, backend::Backend& home, const op::TensorType& type) {
  auto out = FlexValue::make(home, type, "random");
  const auto size = out->size();
  visit_dtype(type.dtype, [&]<class T>() {
    T* elements = out->as<T>();
    constexpr auto pairs_at_once = static_cast<std::int64_t>(philox_block);
    constexpr std::int64_t work = 16;  // an element takes as long as so many bytes of traffic
    parallel((size + 1) / 2, pairs_at_once, size * work, [&](std::int64_t begin, std::int64_t end) {
      PhiloxWords words;
      for (auto first = begin; first < end; first += pairs_at_once) {
        philox(static_cast<std::uint64_t>(first), op.seed, words);
        const auto pairs = std::min(end - first, pairs_at_once);
        draw_all(op, words, elements + 2 * first, std::min(2 * pairs, size - 2 * first));
      }
    });
  });
  return out;
}

}  // namespace strata::flex
