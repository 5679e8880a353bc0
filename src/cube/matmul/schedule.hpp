/// How a product is cut into tiles, blocks and cubes.
#pragma once

#include <cstdint>
#include <string>

#include "cube/matmul/arguments.hpp"

namespace strata::cube::matmul {

enum class Family : std::uint8_t {
  naive,   ///< one unit an output element; any strides, any shape, every target
  tiled,   ///< register tiles on operands in place; constant shape
  packed,  ///< cache-blocked with packed operands; constant shape
  lean,    ///< packed, one tile shape, any shape at run time
  simt,    ///< panels in shared arrays, register tiles of many units; any shape at run time
  mma,     ///< as simt, by matrix units on halves
  tf32,    ///< as mma, on f32 rounded to tf32
  bf16x3,  ///< as mma, on f32 cut into three bf16 each
  dot,     ///< vectors along k, for few rows and a b whose columns are contiguous; constant shape
  gemv,    ///< few rows times a large b by many units that divide k; any shape at run time
};
std::string_view name_of(Family family);

/// Of a simt unit's vectors of sums.
inline constexpr int simt_lanes = 4;

struct Schedule {
  Family family = Family::naive;
  int lanes = 1;        ///< of the accumulator's vectors
  int rows = 1;         ///< of a register tile
  int vectors = 1;      ///< columns of a register tile, in vectors (dot: in columns)
  int unroll = 4;       ///< steps of k in one iteration
  std::int64_t kc = 0;  ///< block of k; 0: all of it
  std::int64_t mc = 0;  ///< block of rows; 0: all
  std::int64_t nc = 0;  ///< block of columns; 0: all
  bool pack_a = false, pack_b = false;
  int prefetch =
      0;  ///< steps of k ahead that b is prefetched; 0: not. Matrix units: blocks of k in shared arrays
  bool non_temporal = false;  ///< stores past the caches
  int splits = 1;             ///< cubes a product, or with tiles each tile, is divided among
  bool split_rows = false;    ///< divided along m, else along n; with tiles always along k
  int units = 1;              ///< of a cube, where units are the parallelism
  int resident = 0;           ///< with tiles: cubes a multiprocessor holds at once; 0: not limited
  /// With tiles: operands and the result move in vectors of 16 bytes.
  bool vector_a = false, vector_b = false, vector_out = false;
  bool along_k = false;  ///< gemv: vectors of b run along k

  /// Of mc x nc elements, one a cube, in blocks of kc steps.
  bool has_tiles() const { return family == Family::simt || uses_matrix_units() || family == Family::gemv; }
  bool uses_matrix_units() const {
    return family == Family::mma || family == Family::tf32 || family == Family::bf16x3;
  }
  int columns() const { return family == Family::dot || along_k ? vectors : lanes * vectors; }
  Sizes sizes() const {
    const bool any = family == Family::naive || family == Family::lean || has_tiles();
    return any ? Sizes::argument : Sizes::constant;
  }
  /// "packed_6x64_kc1024_mc480_nc512_pb_pf8_n2".
  std::string name() const;
  /// The same without what is an argument of the launch: into how many parts k is split.
  std::string kernel_name() const;
  bool operator==(const Schedule&) const = default;
};

}  // namespace strata::cube::matmul
