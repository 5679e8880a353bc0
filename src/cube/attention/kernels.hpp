/// The kernels of attention.
#pragma once

#include "cube/kernel_cache.hpp"
#include "cube/target.hpp"
#include "kernel/builder.hpp"

namespace strata::cube::attention {

enum class KernelKind : std::uint8_t { forward, query_gradient, key_gradient };
enum class MaskKind : std::uint8_t { none, boolean, additive };

/// How a cube of side x side units shares a tile of scores, and what is staged in its shared arrays.
struct TileForm {
  int side = 1;
  int rows = 4, columns = 4;  ///< scores of one unit
  int depth = 32;             ///< elements of each row staged at a time for the scores; a power of two
  int loaded = 1;             ///< elements of a load; `lanes` where rows begin and end at multiples of that
  static constexpr int lanes = 4;  ///< neighbouring elements of a row of a result that one unit holds

  int units() const { return side * side; }
  int tile_rows() const { return side * rows; }
  int tile_columns() const { return side * columns; }
  /// Vectors of a unit that cover rows of `width` elements.
  int vectors(std::int64_t width) const {
    return static_cast<int>((width + side * lanes - 1) / (side * lanes));
  }
};
/// `rows`: how many the results have; few take shorter tiles.
TileForm tile_form(const Target& target, DType dtype, std::int64_t rows);

/// All that decides the code of a kernel.
struct KernelForm {
  KernelKind kind{};
  MaskKind mask{};
  bool causal = false;
  bool split = false;  ///< forward: a cube looks at a part of the keys; results are wide and have a part each
  DType dtype{};
  TileForm tile;
  int key_vectors = 0, value_vectors = 0;  ///< of a unit, for rows of q and k, and of v
};
KernelKey kernel_key(const KernelForm& form);

/// The most elements of a row of q, k or v.
inline constexpr std::int64_t widest_row = 256;

/// Buffers: results (out and log_sum, dq, or dk and dv), q, k, v, the mask if there is one, then for
/// gradients log_sum, g and delta. Arguments: those of Call::launch in attention.cpp.
kernel::Kernel build(const KernelForm& form);

/// The results over all keys from those over parts of them, a unit an element.
struct CombineForm {
  DType dtype{};
  int units = 1;
  kernel::Scalar index = kernel::Scalar::i64;
};
KernelKey combine_key(const CombineForm& form);
/// Buffers: out [matrices, rows, width] and log_sum [matrices, rows], then both of the parts, [matrices,
/// parts, ...]. Arguments: elements of out, width, rows, parts.
kernel::Kernel build_combine(const CombineForm& form);

}  // namespace strata::cube::attention
