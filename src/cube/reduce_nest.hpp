/// Analysis of a reduction: which loops run over the result, which over what is reduced, and which of the two
/// the vectors lie along.
#pragma once

#include "cube/loop_nest.hpp"
#include "op/layout.hpp"

namespace strata::cube {

/// rows: vectors lie along the innermost reduced axis and are combined at the end of each row.
/// columns: vectors lie along the innermost kept axis, one lane for each result.
enum class ReduceForm : std::uint8_t { rows, columns };

struct ReduceNest {
  Shape kept_extents;       ///< outermost first, rank >= 1; the result is row-major over them
  Strides kept_strides;     ///< of the input
  Shape reduced_extents;    ///< outermost first, rank >= 1; sorted so that the smallest stride is innermost
  Strides reduced_strides;  ///< of the input, never negative: reductions may walk an axis either way
  std::int64_t offset = 0;  ///< of the input's first element
  ReduceForm form{};

  std::int64_t outputs() const { return kept_extents.product(); }
  std::int64_t reduced() const { return reduced_extents.product(); }
};

/// `input` has no extent 0; `axes` ascending and distinct, possibly empty.
ReduceNest analyse_reduce(const op::View& input, const Axes& axes);

}  // namespace strata::cube
