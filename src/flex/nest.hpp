/// Loop nests over strided elements: axes that can be walked as one are merged.
#pragma once

#include <cstdint>

#include "flex/value.hpp"

namespace strata::flex {

/// The axes of one operand, outermost first; extents of 1 are gone. A rank of 0 is a single element.
struct Nest {
  int rank = 0;
  std::int64_t extent[max_rank] = {};
  std::int64_t stride[max_rank] = {};

  bool contiguous() const { return rank == 0 || (rank == 1 && stride[0] == 1); }
  std::int64_t inner_extent() const { return rank ? extent[rank - 1] : 1; }
  std::int64_t inner_stride() const { return rank ? stride[rank - 1] : 0; }
};

/// Merges what is walkable as one axis.
inline Nest collapse(const Shape& shape, const Strides& strides) {
  Nest n;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    if (n.rank > 0 && n.stride[n.rank - 1] == strides[i] * shape[i]) {
      n.extent[n.rank - 1] *= shape[i];
      n.stride[n.rank - 1] = strides[i];
    } else {
      n.extent[n.rank] = shape[i];
      n.stride[n.rank++] = strides[i];
    }
  }
  return n;
}

/// A position in a nest, counted in row-major order.
class Cursor {
 public:
  Cursor(const Nest& nest, std::int64_t position) : nest_(nest) {
    for (int i = nest.rank - 1; i >= 0; --i) {
      index_[i] = position % nest.extent[i];
      position /= nest.extent[i];
      offset_ += index_[i] * nest.stride[i];
    }
  }
  std::int64_t offset() const { return offset_; }
  /// Elements from here to the end of the innermost axis.
  std::int64_t run() const { return nest_.rank ? nest_.extent[nest_.rank - 1] - index_[nest_.rank - 1] : 1; }
  /// Moves `n <= run()` elements on.
  void advance(std::int64_t n) {
    int i = nest_.rank - 1;
    if (i < 0) return;
    index_[i] += n;
    offset_ += n * nest_.stride[i];
    for (; i > 0 && index_[i] == nest_.extent[i]; --i) {
      index_[i] = 0;
      offset_ += nest_.stride[i - 1] - nest_.extent[i] * nest_.stride[i];
      ++index_[i - 1];
    }
  }

 private:
  const Nest& nest_;
  std::int64_t index_[max_rank] = {};
  std::int64_t offset_ = 0;
};

}  // namespace strata::flex
