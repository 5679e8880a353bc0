/// Convolutions through oneDNN.
#pragma once

#include "op/window.hpp"

namespace strata::flex {

/// out = conv(x, weight), all dense, f32 or bf16. False when oneDNN has no kernel for it on this machine.
/// `op.padding` contributes nothing even where a weight is infinite: the caller pads in that case.
bool onednn_conv(const op::Conv& op, const op::TensorType& x, const op::TensorType& weight,
                 const op::TensorType& result, const std::byte* x_data, const std::byte* weight_data,
                 std::byte* out);

}  // namespace strata::flex
