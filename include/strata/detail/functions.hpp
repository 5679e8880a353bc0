/// The compiled bodies under statistics.hpp, products.hpp, arrange.hpp, grid.hpp, counting.hpp, linalg.hpp,
/// random.hpp and signal.hpp. Not part of the public API.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/detail/ops.hpp"

namespace strata::detail {

// ---- statistics

STRATA_API ValueRef covariance(const ValueRef& x, std::int64_t correction);
STRATA_API ValueRef is_close(const ValueRef& a, const ValueRef& b, double rtol, double atol, bool equal_nan);
STRATA_API ValueRef normalise(const ValueRef& x, double p, int axis, double eps);

// ---- products

STRATA_API ValueRef tensordot(const ValueRef& a, const ValueRef& b, std::span<const int> axes_a,
                              std::span<const int> axes_b);
STRATA_API ValueRef cross(const ValueRef& a, const ValueRef& b, int axis);

}  // namespace strata::detail
