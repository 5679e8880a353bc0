/// Cross entropy and its gradient on devices whose units are their parallelism: the units of a line read a
/// row of scores once, keeping the largest so far and the sum of exponentials relative to it (Milakov and
/// Gimelshein, "Online normalizer calculation for softmax", 2018). Sums are kept in f64.
#pragma once

#include "cube/cube_backend.hpp"
#include "op/loss.hpp"

namespace strata::cube {

/// For logits without extent 0.
backend::Values cross_entropy(CubeBackend& backend, const op::CrossEntropy& op, backend::Inputs inputs,
                              const op::TensorTypes& types);
CubeRef cross_entropy_gradient(CubeBackend& backend, const op::CrossEntropyGradient& op,
                               backend::Inputs inputs, const op::TensorType& type);

}  // namespace strata::cube
