/// Kernels that give each element of a result a unit of its own.
#pragma once

#include <concepts>
#include <initializer_list>

#include "cube/target.hpp"
#include "kernel/builder.hpp"

namespace strata::cube {

/// Cubes of `target.units` units for `elements` elements: one a unit, or several where the grid would be
/// huge.
std::uint32_t cubes_for(const Target& target, std::int64_t elements);

/// What indices are computed in. 64-bit division is slow on GPUs: i32 where every number in `largest`
/// (elements of a tensor, positions along an axis) leaves it room for one more step of such a grid, else i64.
kernel::Scalar index_scalar(std::initializer_list<std::int64_t> largest);

/// Calls body(i) for the elements below `total` that are this unit's; `total` and i are of an index_scalar.
template <std::invocable<kernel::Val> Body>
void for_each_element(kernel::Val total, Body&& body) {
  using kernel::convert;
  const int units = static_cast<int>(kernel::Builder::current().cube_dim()[0]);
  const auto wide = [&](kernel::Val v) { return convert(v, total.scalar()); };
  const kernel::Val first = wide(kernel::cube_x()) * units + wide(kernel::unit_x());
  kernel::for_(first, total, wide(kernel::cube_count_x()) * units, body);
}

/// A row-major position taken apart, the innermost axis first.
class Digits {
 public:
  explicit Digits(kernel::Val position) : rest_(position) {}
  /// The next axis, of `extent` entries.
  kernel::Val next(kernel::Val extent) {
    const kernel::Val outer = rest_ / extent, digit = rest_ - outer * extent;
    rest_ = outer;
    return digit;
  }
  /// What is left: the outermost axis.
  kernel::Val rest() const { return rest_; }

 private:
  kernel::Val rest_;
};

}  // namespace strata::cube
