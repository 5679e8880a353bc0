#include "cube/reduce_nest.hpp"

namespace strata::cube {
namespace {

/// Moves axes of larger stride outwards (insertion sort: at most 8 axes).
void sort_by_stride(Shape& extents, Strides& strides) {
  for (int i = 1; i < strides.rank(); ++i) {
    for (int j = i; j > 0 && strides[j - 1] < strides[j]; --j) {
      std::swap(strides[j - 1], strides[j]);
      std::swap(extents[j - 1], extents[j]);
    }
  }
}

}  // namespace

ReduceNest analyse_reduce(const op::View& input, const Axes& axes) {
  ReduceNest nest;
  nest.offset = input.offset;
  Shape kept, reduced;
  Strides kept_strides, reduced_strides;
  for (int i = 0; i < input.shape.rank(); ++i) {
    const auto extent = input.shape[i];
    auto stride = input.strides[i];
    if (extent == 1) continue;
    if (!axes.contains(i)) {
      kept.push_back(extent);
      kept_strides.push_back(stride);
      continue;
    }
    if (stride < 0) {
      nest.offset += (extent - 1) * stride;
      stride = -stride;
    }
    reduced.push_back(extent);
    reduced_strides.push_back(stride);
  }
  sort_by_stride(reduced, reduced_strides);

  const auto kept_nest = collapse(kept, {op::contiguous_strides(kept), kept_strides});
  nest.kept_extents = kept_nest.extents;
  nest.kept_strides = kept_nest.layouts[static_cast<std::size_t>(kept_nest.layout_of[1])];
  const auto reduced_nest = collapse(reduced, {reduced_strides});
  nest.reduced_extents = reduced_nest.extents;
  nest.reduced_strides = reduced_nest.layouts[0];

  // Vectors lie along the axis whose neighbours are nearer in memory; a single result has no lanes to offer.
  const auto kept_step = nest.kept_strides.back() < 0 ? -nest.kept_strides.back() : nest.kept_strides.back();
  const bool columns = nest.kept_extents.back() > 1 && kept_step != 0 &&
                       (nest.reduced() == 1 || kept_step < nest.reduced_strides.back());
  nest.form = columns ? ReduceForm::columns : ReduceForm::rows;
  return nest;
}

}  // namespace strata::cube
