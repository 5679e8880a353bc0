#include "cube/index_math.hpp"

namespace strata::cube {

using kernel::Val;

Val offset_of(Val linear, std::span<const Val> extents, std::span<const Val> strides) {
  if (strides.empty()) return index_constant(0);
  Val offset = index_constant(0), rest = linear;
  for (std::size_t axis = strides.size() - 1; axis > 0; --axis) {
    const Val next = rest / extents[axis - 1];
    offset = offset + (rest - next * extents[axis - 1]) * strides[axis];
    rest = next;
  }
  return offset + rest * strides[0];
}

}  // namespace strata::cube
