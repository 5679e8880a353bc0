/// Shapes: up to `max_rank` 64-bit extents, stored inline so that no tensor operation allocates for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "strata/config.hpp"

namespace strata::inline v0 {

inline constexpr int max_rank = 8;

/// A short list of 64-bit integers: the extents of a tensor, its strides, or a list of axes.
class STRATA_API Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<std::int64_t> values) { assign({values.begin(), values.size()}); }
  constexpr explicit Dims(std::span<const std::int64_t> values) { assign(values); }
  static constexpr Dims filled(int rank, std::int64_t value) {
    Dims d;
    d.rank_ = static_cast<std::uint8_t>(rank);
    for (int i = 0; i < rank; ++i) d.values_[i] = value;
    return d;
  }

  constexpr int rank() const { return rank_; }
  constexpr std::size_t size() const { return rank_; }
  constexpr bool empty() const { return rank_ == 0; }
  constexpr std::int64_t operator[](int i) const { return values_[i]; }
  constexpr std::int64_t& operator[](int i) { return values_[i]; }
  constexpr const std::int64_t* begin() const { return values_; }
  constexpr const std::int64_t* end() const { return values_ + rank_; }
  constexpr std::int64_t* begin() { return values_; }
  constexpr std::int64_t* end() { return values_ + rank_; }
  constexpr std::int64_t back() const { return values_[rank_ - 1]; }
  /// Appends one value; throws ShapeError past `max_rank`.
  constexpr void push_back(std::int64_t v) {
    if (rank_ == max_rank) too_long(rank_ + 1);
    values_[rank_++] = v;
  }
  /// Product of all values; 1 for rank 0. Shapes that overflow were refused when they were built by an op.
  constexpr std::int64_t product() const {
    std::int64_t n = 1;
    for (auto d : *this) {
      if (d == 0) return 0;  // before the others can overflow
    }
    for (auto d : *this) n *= d;
    return n;
  }
  constexpr bool contains(std::int64_t v) const { return std::find(begin(), end(), v) != end(); }
  constexpr bool operator==(const Dims& o) const { return std::equal(begin(), end(), o.begin(), o.end()); }
  /// "[2, 3]".
  std::string to_string() const;

 private:
  constexpr void assign(std::span<const std::int64_t> values) {
    if (values.size() > max_rank) too_long(values.size());
    rank_ = static_cast<std::uint8_t>(values.size());
    for (int i = 0; i < rank_; ++i) values_[i] = values[static_cast<std::size_t>(i)];
  }
  [[noreturn]] static void too_long(std::size_t n);

  std::int64_t values_[max_rank] = {};
  std::uint8_t rank_ = 0;
};

using Shape = Dims;    ///< extents, outermost first
using Strides = Dims;  ///< in elements; may be 0 (broadcast) or negative (flipped)
using Axes = Dims;     ///< axis numbers, each in [0, rank)

}  // namespace strata::inline v0
