/// Attention tile by tile, after Dao et al., "FlashAttention: fast and memory-efficient exact attention with
/// IO-awareness", 2022: the scores of a few queries against a few keys at a time, softmax carried on from
/// tile to tile. The products are oneDNN's (f32) or our own (f64).
#pragma once

#include "flex/value.hpp"

namespace strata::flex {

backend::Values run(const op::Attention& op, backend::Inputs inputs, const op::TensorTypes& types);
backend::Values run(const op::AttentionGradient& op, backend::Inputs inputs, const op::TensorTypes& types);

}  // namespace strata::flex
