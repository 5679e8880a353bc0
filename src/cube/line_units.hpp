/// Units that work on a line together: how many, and how they exchange what they hold.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "cube/index_math.hpp"
#include "cube/lines.hpp"
#include "cube/target.hpp"

namespace strata::cube {

struct LineUnits {
  int units = 1;  ///< along a line, a power of two
  int lines = 1;  ///< of a cube; 1 where the units of a line span planes

  int in_plane() const { return std::min(units, plane_size); }
  int planes() const { return std::max(units / plane_size, 1); }
  std::array<std::uint32_t, 3> cube_dim() const {
    return {static_cast<std::uint32_t>(units), static_cast<std::uint32_t>(lines), 1};
  }
};

/// Units for about `wanted` pieces of work along a line, in full cubes.
inline LineUnits line_units(const Target& target, std::int64_t wanted) {
  const auto power = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, wanted)));
  LineUnits u;
  u.units = static_cast<int>(std::min<std::uint64_t>(power, static_cast<std::uint64_t>(target.units)));
  u.lines = u.units > plane_size ? 1 : target.units / u.units;
  return u;
}

/// body(task) for the tasks of a kernel, one a line. Units beyond the last task do that again, so that all
/// take part in exchanges.
template <class Body>
void for_each_line(const LineUnits& u, kernel::Val tasks, Body&& body) {
  const auto wide = [](kernel::Val v) { return kernel::convert(v, kernel::Scalar::i64); };
  kernel::for_(wide(kernel::cube_x()) * u.lines, tasks, wide(kernel::cube_count_x()) * u.lines,
               [&](kernel::Val task) {
                 body(u.lines == 1 ? task : kernel::min(task + wide(kernel::unit_y()), tasks - 1));
               });
}

/// Joins the values of a line's units, in an order that does not depend on the unit: all get the same.
class LineReduction {
 public:
  LineReduction(const LineUnits& u, kernel::Scalar scalar) : u_(u) {
    if (u.planes() > 1) shared_ = kernel::shared_array(scalar, u.planes(), "plane_results");
  }

  template <class Join>
  kernel::Val all(kernel::Val v, Join&& join) const {
    const kernel::Val place = kernel::unit_x() & (u_.in_plane() - 1);
    for (int d = 1; d < u_.in_plane(); d *= 2) {
      const auto mask = kernel::constant(kernel::make_type(kernel::Scalar::i32), d);
      const kernel::Val other = kernel::plane_shuffle_xor(v, mask), first = (place & d) == 0;
      v = join(kernel::select(first, v, other), kernel::select(first, other, v));
    }
    if (u_.planes() == 1) return v;
    kernel::if_(place == 0, [&] { shared_.store(kernel::unit_x() / plane_size, v); });
    kernel::barrier();
    kernel::Val joined = shared_.load(0);
    for (int p = 1; p < u_.planes(); ++p) joined = join(joined, shared_.load(p));
    kernel::barrier();
    return joined;
  }

 private:
  const LineUnits u_;
  kernel::Buffer shared_;
};

}  // namespace strata::cube
