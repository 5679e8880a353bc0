/// Random choices, the same for a seed on every machine and library.
#pragma once

#include <cstdint>
#include <vector>

namespace strata::fuzz {

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(seed) {}

  std::uint64_t word() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, n).
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(word() % n); }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  double unit() { return static_cast<double>(word() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  template <class T>
  T one_of(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  /// An index with probability proportional to its weight.
  std::size_t weighted(const std::vector<int>& weights) {
    int total = 0;
    for (int w : weights) total += w;
    auto at = between(0, total - 1);
    std::size_t i = 0;
    while (at >= weights[i]) at -= weights[i++];
    return i;
  }
  template <class T>
  void shuffle(std::vector<T>& v) {
    for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace strata::fuzz
