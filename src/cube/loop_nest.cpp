#include "cube/loop_nest.hpp"

#include <algorithm>

namespace strata::cube {

bool LoopNest::is_scalar(int layout) const {
  const auto& strides = layouts[static_cast<std::size_t>(layout)];
  return std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 0; });
}

LoopNest collapse(const Shape& space, std::vector<Strides> operands) {
  // Axes are kept in place, innermost last: `top` is the outermost axis kept so far.
  Shape extents = space;
  int top = space.rank();
  for (int axis = space.rank() - 1; axis >= 0; --axis) {
    if (space[axis] == 1) continue;
    const bool merges =
        top < space.rank() && std::all_of(operands.begin(), operands.end(),
                                          [&](const Strides& s) { return s[axis] == s[top] * extents[top]; });
    if (merges) {
      extents[top] *= space[axis];
      continue;
    }
    --top;
    extents[top] = space[axis];
    for (auto& s : operands) s[top] = s[axis];
  }

  LoopNest nest;
  const auto kept = [&](const Dims& d) {
    return Dims(std::span<const std::int64_t>(d.begin() + top, static_cast<std::size_t>(d.rank() - top)));
  };
  const bool single = top == space.rank();  // one element: any stride does, 1 needs no kernel of its own
  nest.extents = single ? Shape{1} : kept(extents);
  nest.layout_of.reserve(operands.size());
  nest.layouts.reserve(operands.size());
  for (const auto& s : operands) {
    const Strides strides = single ? Strides{1} : kept(s);
    const auto found = std::find(nest.layouts.begin(), nest.layouts.end(), strides);
    nest.layout_of.push_back(static_cast<int>(found - nest.layouts.begin()));
    if (found == nest.layouts.end()) nest.layouts.push_back(strides);
  }
  return nest;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& space) {
  Strides out = Strides::filled(space.rank(), 0);
  const int lead = space.rank() - shape.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1) out[lead + i] = strides[i];
  }
  return out;
}

}  // namespace strata::cube
