/// Families that depend on the order of the elements along one axis.
#pragma once

#include "op/common.hpp"
#include "strata/detail/kinds.hpp"

namespace strata::op {

/// The i64 index of the largest or smallest element along `axis`: of equal ones the first, and the first NaN
/// before any number. The axis goes, or stays with extent 1. Over an empty axis: an error.
struct ArgReduce {
  ExtremumKind kind{};
  int axis = 0;
  bool keep_dims = false;
  bool operator==(const ArgReduce&) const = default;
};

/// The i64 indices that sort along `axis`, stable in both directions; NaN counts as larger than any number.
/// With `count` >= 0 only the first `count` of them: the top k.
struct ArgSort {
  int axis = 0;
  bool descending = false;
  std::int64_t count = -1;
  bool operator==(const ArgSort&) const = default;
};

/// Running sum, product, maximum or minimum along `axis`, inclusive. Halves accumulate in f32, f32 in f64;
/// integers wrap; maxima and minima stay NaN from the first NaN on.
struct Cumulative {
  CumulativeKind kind{};
  int axis = 0;
  bool operator==(const Cumulative&) const = default;
};

TensorTypes infer(const ArgReduce&, const Site&);
TensorTypes infer(const ArgSort&, const Site&);
TensorTypes infer(const Cumulative&, const Site&);

}  // namespace strata::op
