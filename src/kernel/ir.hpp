/// The kernel IR: what a kernel of the kernel language is after its host function ran once.
///
/// A kernel is a tree of instructions. Temporaries are SSA values; everything that changes lives in a memory:
/// a global buffer (a parameter), a shared array (one per cube) or a local array (one per unit; a mutable
/// variable is a local array of length 1, which the code generators promote to registers). Control flow is
/// structured: `if_`, `for_` and `while_` own their bodies. Nothing here depends on a target: lane counts,
/// tile sizes and dtypes were chosen by the host code that built the kernel.
///
/// Terms: a *unit* is a thread, a *plane* a warp, a *cube* a thread block.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "strata/dtype.hpp"

namespace strata::kernel {

/// Element types of values. `u32` and `u64` exist only inside kernels (bit tricks, Philox, indices).
enum class Scalar : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean, u32, u64 };

constexpr Scalar scalar_of(DType t) { return static_cast<Scalar>(t); }

/// Type of a value: a scalar, or a vector when `lanes` > 1.
struct Type {
  Scalar scalar = Scalar::i64;
  std::uint16_t lanes = 1;
  constexpr bool operator==(const Type&) const = default;
};

/// Index of an SSA value; `Kernel::types[id]` is its type.
using ValueId = std::uint32_t;
inline constexpr ValueId no_value = ~ValueId{0};
/// Index into `Kernel::memories`.
using MemoryId = std::uint32_t;
inline constexpr MemoryId no_memory = ~MemoryId{0};

// clang-format off
/// Operands are SSA values; "imm" is `Instruction::immediate`. Element-wise opcodes work lane by lane, and all
/// operands and the result then have equal lane counts. Integers wrap; division semantics are the language's job
/// (see kernel/math.hpp), the opcodes below are the plain machine ones.
enum class Opcode : std::uint8_t {
  // leaves
  constant,   ///< imm: the bits, splat when lanes > 1. Floats: IEEE bits, zero-extended; i32 sign-extended, u8 and u32
              ///< zero-extended; bool 0 or 1
  builtin,    ///< imm: a Builtin; i32, scalar
  parameter,  ///< imm: index into Kernel::scalars; scalar
  length,     ///< memory: a global buffer; its element count as i64
  lane_index, ///< 0, 1, 2 ... as a vector of the result type
  // element-wise, one operand
  neg, abs, sqrt, floor, ceil, rint, trunc, bit_not, is_nan,
  exp, log, tanh, sin, cos,          ///< expanded by the lower_math pass to polynomials of stated error
  log1p, expm1, erf,                 ///< as above
  exp2_fast, recip_fast,             ///< f32, made by lower_math for targets that have such instructions: 2 and 1 ULP
  convert,    ///< numeric conversion to the result type; float to int saturates, NaN becomes 0; x != 0 for bool
  bitcast,    ///< same lane count and element size
  // element-wise, two operands
  add, sub, mul, div,                ///< div: floats; for integers truncating, divisor must not be 0 or overflow
  rem,                               ///< integers only, sign of the dividend
  min, max,                          ///< floats: NaN if either is NaN
  bit_and, bit_or, bit_xor, shift_left, shift_right,  ///< shift_right: arithmetic for signed types
  mul_high,                          ///< upper half of the product; u32, i32
  scale_exponent,                    ///< x * 2^n: floats x, i32 n (f32) or i64 n (f64)
  eq, ne, lt, le, gt, ge,            ///< boolean result; ordered, except `ne` which is true for NaN
  // element-wise, three operands
  fma, select,                       ///< select(condition, if true, if false)
  // vectors
  splat,      ///< scalar to vector
  extract,    ///< (vector), imm: lane
  insert,     ///< (vector, scalar), imm: lane
  shuffle,    ///< (a, b): result lane i is lane indices[i] of a ++ b
  reduce_add, reduce_mul, reduce_min, reduce_max,  ///< vector to scalar in halves: of n lanes,
              ///< lane l takes in lane l + (n + 1) / 2, until one is left; halves in f32, rounded once
  // memory: element index in units of the memory's scalar type, i32 or i64
  load,       ///< (index [, mask [, other]]): consecutive lanes from index on; masked-off lanes are `other` or 0
  store,      ///< (index, value [, mask]); Flags::non_temporal
  gather,     ///< (vector of indices [, mask])
  scatter,    ///< (vector of indices, value [, mask])
  prefetch,   ///< (index); imm: 0 read, 1 write
  atomic_add, atomic_min, atomic_max,  ///< (index, value): the old value
  // cube and plane
  barrier,        ///< all units of the cube; only where control flow is uniform
  plane_shuffle,  ///< (value, i32 source lane)
  plane_shuffle_xor,  ///< (value, i32 mask)
  plane_reduce_add, plane_reduce_min, plane_reduce_max,
  // matrix units; lowered where the target has them, see MatrixShape
  matrix_multiply,  ///< (a, b, c): c + a * b over the plane's fragments; imm: index into Kernel::matrix_shapes. Operands of f32
                ///< round to tf32: 10 bits of mantissa, ties away from zero
  load_matrix,  ///< (index), a shared memory of halves: four 8 x 8 matrices, the rows of matrix n at the indices (multiples of 8)
                ///< of the plane's units 8 n .. 8 n + 7. Result: 8 lanes, of each matrix in turn two neighbours of row
                ///< unit / 4 at column 2 (unit % 4); imm 1: of the matrices transposed. Of f32: 8 x 4 matrices (indices are
                ///< multiples of 4), 4 lanes, of each matrix row unit / 4 at column unit % 4; never transposed
  // copies past the registers; lowered where the target has them
  copy_async,   ///< (index, source index [, condition]): 16 bytes to a shared memory from the global memory imm; zeros where the
                ///< condition is false
  copy_commit,  ///< makes a group of this unit's copies since the last one
  copy_wait,    ///< until at most imm of this unit's groups are under way; other units see them after a barrier
  // control flow
  if_,     ///< (condition); regions: then [, else]
  for_,    ///< (begin, end, step), step > 0; regions: body, whose one argument is the counter
  while_,  ///< regions: condition (ends in `yield`), body
  yield,   ///< (value): the condition of the enclosing while_
  return_, ///< ends the unit
  comment,  ///< no effect; text for readers of the dump (Instruction::text)
};

enum class Builtin : std::uint8_t {
  unit_x, unit_y, unit_z,           ///< position of the unit in its cube
  cube_x, cube_y, cube_z,           ///< position of the cube in the grid
  cube_count_x, cube_count_y, cube_count_z,
  plane_lane,                       ///< position of the unit in its plane
};

enum Flags : std::uint8_t {
  no_flags = 0,
  non_temporal = 1,   ///< store past the caches; index is a multiple of the vector and the buffer 64-byte aligned
  aligned = 2,        ///< index is a multiple of the lane count and the memory's base is vector-aligned
  unroll = 4,         ///< for_: unroll fully (constant bounds)
};

// clang-format on

struct Instruction;
/// A straight list of instructions with, for loop bodies, the loop counter as argument.
struct Block {
  ValueId argument = no_value;
  std::vector<Instruction> instructions;
};

struct Instruction {
  Opcode opcode{};
  std::uint8_t flags = no_flags;
  ValueId result = no_value;
  MemoryId memory = no_memory;
  std::int64_t immediate = 0;
  std::vector<ValueId> operands;
  std::vector<std::int32_t> indices;  ///< shuffle
  std::vector<Block> regions;
  std::string text;  ///< comment only
};

enum class Space : std::uint8_t { global, shared, local };

struct Memory {
  Space space{};
  Scalar scalar{};
  bool written = true;      ///< global: false for read-only buffers
  std::int64_t length = 0;  ///< shared and local arrays: elements; global: 0, known at launch
  std::uint32_t alignment = 64;
  std::string name;
};

/// A scalar argument of the kernel, passed as 8 bytes.
struct ScalarParameter {
  Scalar scalar{};
  std::string name;
};

/// Shape of one matrix instruction, e.g. m16n8k16 of bf16 with f32 accumulators.
struct MatrixShape {
  std::uint16_t m = 0, n = 0, k = 0;
  Scalar a{}, b{}, c{};
  bool operator==(const MatrixShape&) const = default;
};

/// Global buffers come first in `memories`, in the order of the kernel's arguments.
struct Kernel {
  std::string name;
  std::array<std::uint32_t, 3> cube_dim{1, 1, 1};  ///< units in a cube
  /// Cubes that a GPU's multiprocessor should hold at once, which limits the registers of a unit. 0: the back
  /// end decides.
  std::uint32_t resident_cubes = 0;
  std::vector<Memory> memories;
  std::vector<ScalarParameter> scalars;
  std::vector<MatrixShape> matrix_shapes;
  std::vector<Type> types;  ///< of every SSA value
  Block body;

  std::uint32_t units() const { return cube_dim[0] * cube_dim[1] * cube_dim[2]; }
  /// Of all shared arrays, each at its alignment.
  std::int64_t shared_bytes() const;
  std::size_t buffer_count() const {
    std::size_t n = 0;
    while (n < memories.size() && memories[n].space == Space::global) ++n;
    return n;
  }
};

/// What a kernel of a GPU may have in shared arrays of fixed addresses; with more, their place is an argument
/// of the launch.
inline constexpr std::int64_t fixed_shared_bytes = 48 << 10;

}  // namespace strata::kernel
