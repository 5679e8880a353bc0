/// Facts about scalars and opcodes that the printer, the verifier, the passes and the code generators share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernel/ir.hpp"

namespace strata::kernel {

inline constexpr int scalar_count = 10;
inline constexpr int opcode_count = static_cast<int>(Opcode::comment) + 1;

/// Bytes of one element in memory.
constexpr std::size_t size_of(Scalar s) {
  switch (s) {
    case Scalar::f64:
    case Scalar::i64:
    case Scalar::u64:
      return 8;
    case Scalar::f32:
    case Scalar::i32:
    case Scalar::u32:
      return 4;
    case Scalar::f16:
    case Scalar::bf16:
      return 2;
    case Scalar::u8:
    case Scalar::boolean:
      return 1;
  }
  return 0;
}
constexpr bool is_float(Scalar s) { return s <= Scalar::bf16; }
constexpr bool is_half(Scalar s) { return s == Scalar::f16 || s == Scalar::bf16; }
/// Integers, without `boolean`.
constexpr bool is_int(Scalar s) { return !is_float(s) && s != Scalar::boolean; }
constexpr bool is_signed(Scalar s) { return s == Scalar::i64 || s == Scalar::i32; }

constexpr std::string_view name_of(Scalar s) {
  constexpr std::string_view names[] = {"f64", "f32", "f16",  "bf16", "i64",
                                        "i32", "u8",  "bool", "u32",  "u64"};
  return names[static_cast<int>(s)];
}
std::string_view name_of(Opcode op);
std::string_view name_of(Builtin b);
/// "f32", "f32x16".
std::string to_string(Type t);

/// The canonical `immediate` of an integer or boolean constant: wrapped to the width of `s`, then
/// sign-extended for signed types and zero-extended for unsigned ones.
constexpr std::int64_t wrap_to(Scalar s, std::int64_t v) {
  switch (s) {
    case Scalar::i32:
      return static_cast<std::int32_t>(v);
    case Scalar::u32:
      return static_cast<std::uint32_t>(v);
    case Scalar::u8:
      return static_cast<std::uint8_t>(v);
    case Scalar::boolean:
      return v != 0;
    default:
      return v;
  }
}

/// Element-wise opcodes: what they do to one lane depends on that lane only.
constexpr bool is_elementwise(Opcode op) { return op >= Opcode::neg && op <= Opcode::select; }
/// No side effect, reads no memory and no other unit's values: may be dropped, repeated or moved.
constexpr bool is_pure(Opcode op) { return op <= Opcode::reduce_max; }
constexpr bool is_atomic(Opcode op) { return op >= Opcode::atomic_add && op <= Opcode::atomic_max; }
/// Expanded by lower_math.
constexpr bool is_math(Opcode op) { return op >= Opcode::exp && op <= Opcode::erf; }

}  // namespace strata::kernel
