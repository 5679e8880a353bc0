/// Attention and its gradients on devices whose units are their parallelism, in tiles of queries and keys:
/// neither scores nor weights reach memory (Dao et al., "FlashAttention", 2022; the normaliser is kept on the
/// way as in Milakov and Gimelshein, 2018). A gradient computes the weights again from the logarithms of the
/// denominators: one kernel for q, a tile of queries a cube, and one for k and v, a tile of keys a cube, so
/// that every sum has one order. Where there are few queries, several cubes share the keys of each, and a
/// second kernel puts the parts together.
#pragma once

#include "cube/cube_backend.hpp"

namespace strata::cube::attention {

/// Whether the kernels serve these inputs, of either family. A unit holds its share of a row of the results
/// in registers, so rows of more than 256 elements are left to the host; so are inputs without elements,
/// whose results are zeros.
bool serves(backend::Inputs inputs);

backend::Values execute(CubeBackend& backend, const op::Attention& op, backend::Inputs inputs,
                        const op::TensorTypes& types);
backend::Values execute(CubeBackend& backend, const op::AttentionGradient& op, backend::Inputs inputs,
                        const op::TensorTypes& types);

}  // namespace strata::cube::attention
