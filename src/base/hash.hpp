/// 64-bit hashing by multiply-and-fold over words: equal in every process, no pointers, no std::hash.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "strata/shape.hpp"

namespace strata::base {

class Hasher {
 public:
  void word(std::uint64_t w) {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(state_ ^ w) * 0x9e3779b97f4a7c15u;
    state_ =
        static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ 0xd6e8feb86659fd93u;
  }
  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  void add(T v) { word(static_cast<std::uint64_t>(v)); }
  void add(double v) { word(std::bit_cast<std::uint64_t>(v)); }
  void add(const Dims& d) {
    word(static_cast<std::uint64_t>(d.rank()));
    for (auto v : d) word(static_cast<std::uint64_t>(v));
  }
  void add(std::string_view s) {
    word(s.size());
    while (!s.empty()) {
      std::uint64_t w = 0;
      const auto n = s.size() < 8 ? s.size() : 8;
      std::memcpy(&w, s.data(), n);
      word(w);
      s.remove_prefix(n);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3u;
};

}  // namespace strata::base
