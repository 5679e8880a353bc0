/// Families that stay whole where that is faster, written with simpler ones where it is not: a fusing backend
/// fuses the parts.
#pragma once

#include "backend/backend.hpp"

namespace strata::bridge {

/// True for families that `expand` can write with simpler ones.
bool expands(const op::Operation& op);
/// The same result up to rounding, from operations on the backend of the inputs, which must be valid for
/// `op`.
backend::ValueRef expand(const op::Operation& op, backend::Inputs inputs);

}  // namespace strata::bridge
