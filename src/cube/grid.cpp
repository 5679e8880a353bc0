#include "cube/grid.hpp"

#include <algorithm>

namespace strata::cube {
namespace {

constexpr std::int64_t enough_cubes = 1 << 16;  ///< many times what any device runs at once

}  // namespace

std::uint32_t cubes_for(const Target& target, std::int64_t elements) {
  return static_cast<std::uint32_t>(std::min((elements + target.units - 1) / target.units, enough_cubes));
}

kernel::Scalar index_scalar(std::initializer_list<std::int64_t> largest) {
  constexpr std::int64_t room = std::int64_t{1} << 30;  // above enough_cubes times the units of any cube
  return std::ranges::max(largest) < room ? kernel::Scalar::i32 : kernel::Scalar::i64;
}

}  // namespace strata::cube
