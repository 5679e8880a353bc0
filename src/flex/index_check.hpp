/// Indices that are data: threads go on past one that is out of range, and the first of them is reported.
#pragma once

#include <atomic>
#include <cstdint>

#include "flex/value.hpp"
#include "op/index.hpp"

namespace strata::flex {

/// Remembers the first (in row-major order of the index) entry that is out of range.
class IndexCheck {
 public:
  explicit IndexCheck(std::int64_t extent) : extent_(extent) {}
  bool good(std::int64_t index, std::int64_t position) noexcept {
    if (index >= 0 && index < extent_) [[likely]]
      return true;
    auto first = first_bad_.load(std::memory_order_relaxed);
    while (position < first &&
           !first_bad_.compare_exchange_weak(first, position, std::memory_order_relaxed)) {
    }
    return false;
  }
  /// `index_at(position)` is the index to be named.
  template <class F>
  void throw_if_bad(std::string_view op, const FlexValue& x, const FlexValue& index, int axis,
                    F&& index_at) const {
    const auto position = first_bad_.load(std::memory_order_relaxed);
    if (position == none) return;
    throw op::index_error(op, index_at(position), axis, x.type(), index.type(), x.backend.name());
  }

 private:
  static constexpr std::int64_t none = INT64_MAX;
  const std::int64_t extent_;
  std::atomic<std::int64_t> first_bad_{none};
};

}  // namespace strata::flex
