#include "kernel/traits.hpp"

#include <iterator>

namespace strata::kernel {

std::string_view name_of(Opcode op) {
  static constexpr std::string_view names[] = {"constant",
                                               "builtin",
                                               "parameter",
                                               "length",
                                               "lane_index",
                                               "neg",
                                               "abs",
                                               "sqrt",
                                               "floor",
                                               "ceil",
                                               "rint",
                                               "trunc",
                                               "bit_not",
                                               "is_nan",
                                               "exp",
                                               "log",
                                               "tanh",
                                               "sin",
                                               "cos",
                                               "log1p",
                                               "expm1",
                                               "erf",
                                               "exp2_fast",
                                               "recip_fast",
                                               "convert",
                                               "bitcast",
                                               "add",
                                               "sub",
                                               "mul",
                                               "div",
                                               "rem",
                                               "min",
                                               "max",
                                               "bit_and",
                                               "bit_or",
                                               "bit_xor",
                                               "shift_left",
                                               "shift_right",
                                               "mul_high",
                                               "scale_exponent",
                                               "eq",
                                               "ne",
                                               "lt",
                                               "le",
                                               "gt",
                                               "ge",
                                               "fma",
                                               "select",
                                               "splat",
                                               "extract",
                                               "insert",
                                               "shuffle",
                                               "reduce_add",
                                               "reduce_mul",
                                               "reduce_min",
                                               "reduce_max",
                                               "load",
                                               "store",
                                               "gather",
                                               "scatter",
                                               "prefetch",
                                               "atomic_add",
                                               "atomic_min",
                                               "atomic_max",
                                               "barrier",
                                               "plane_shuffle",
                                               "plane_shuffle_xor",
                                               "plane_reduce_add",
                                               "plane_reduce_min",
                                               "plane_reduce_max",
                                               "matrix_multiply",
                                               "load_matrix",
                                               "copy_async",
                                               "copy_commit",
                                               "copy_wait",
                                               "if",
                                               "for",
                                               "while",
                                               "yield",
                                               "return",
                                               "comment"};
  static_assert(std::size(names) == opcode_count);
  return names[static_cast<int>(op)];
}

std::int64_t Kernel::shared_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& m : memories) {
    if (m.space != Space::shared) continue;
    const std::int64_t alignment = m.alignment;
    bytes = (bytes + alignment - 1) / alignment * alignment +
            m.length * static_cast<std::int64_t>(size_of(m.scalar));
  }
  return bytes;
}

std::string_view name_of(Builtin b) {
  static constexpr std::string_view names[] = {"unit_x",       "unit_y",    "unit_z",       "cube_x",
                                               "cube_y",       "cube_z",    "cube_count_x", "cube_count_y",
                                               "cube_count_z", "plane_lane"};
  return names[static_cast<int>(b)];
}

std::string to_string(Type t) {
  std::string s(name_of(t.scalar));
  if (t.lanes > 1) s += "x" + std::to_string(t.lanes);
  return s;
}

}  // namespace strata::kernel
