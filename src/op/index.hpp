/// Families that read or write at indices which are data. An index outside [0, extent) is an IndexError,
/// never a stray access: thrown by the call on a device that computes at once, by the read of the result
/// elsewhere.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"
#include "strata/error.hpp"

namespace strata::op {

/// inputs: x, index (i64 or i32). out[.., j, ..] = x[.., index[.., j, ..], ..] on `axis`; the index has the
/// extents of x on the other axes. Expand an index of one axis to take whole rows: backends see its strides.
struct Gather {
  int axis = 0;
  bool operator==(const Gather&) const = default;
};

/// inputs: x, index (i64 or i32), source (dtype of x, shape of index). A copy of x in which
/// out[.., index[.., j, ..], ..] is combined with source[.., j, ..]; the index has the extents of x on the
/// other axes. Where an index repeats, entries take effect in order, so `assign` keeps the last.
struct Scatter {
  int axis = 0;
  ScatterMode mode{};
  bool operator==(const Scatter&) const = default;
};

/// inputs: x, source (dtype of x, shape of the slice). A copy of x with the slice replaced; see Slice.
struct SliceAssign {
  Dims start, stop, step;
  bool operator==(const SliceAssign&) const = default;
};

/// For an entry `index` of a tensor of type `given` that is outside `axis` of one of type `x`.
IndexError index_error(std::string_view op, std::int64_t index, int axis, const TensorType& x,
                       const TensorType& given, std::string_view device);

TensorTypes infer(const Gather&, const Site&);
TensorTypes infer(const Scatter&, const Site&);
TensorTypes infer(const SliceAssign&, const Site&);

}  // namespace strata::op
