/// A vector with room for N elements inside and none outside: for lists whose bound is part of the design.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "base/check.hpp"

namespace strata::base {

template <class T, std::size_t N>
class InlineVector {
 public:
  InlineVector() = default;
  InlineVector(std::initializer_list<T> values) {
    for (const auto& v : values) push_back(v);
  }
  explicit InlineVector(T value) { push_back(std::move(value)); }
  void push_back(T value) {
    STRATA_CHECK(size_ < N);
    values_[size_++] = std::move(value);
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return values_[i]; }
  const T& operator[](std::size_t i) const { return values_[i]; }
  T* begin() { return values_.data(); }
  T* end() { return values_.data() + size_; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  const T* data() const { return values_.data(); }
  void clear() {
    for (std::size_t i = 0; i < size_; ++i) values_[i] = T{};
    size_ = 0;
  }

 private:
  std::array<T, N> values_{};
  std::size_t size_ = 0;
};

}  // namespace strata::base
