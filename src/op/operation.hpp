/// An operation is a value: the closed set of families, and what can be asked of any of them.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "op/attention.hpp"
#include "op/creation.hpp"
#include "op/custom_kernel.hpp"
#include "op/elementwise.hpp"
#include "op/fft.hpp"
#include "op/index.hpp"
#include "op/layout.hpp"
#include "op/linalg.hpp"
#include "op/loss.hpp"
#include "op/matmul.hpp"
#include "op/normalise.hpp"
#include "op/order.hpp"
#include "op/reduce.hpp"
#include "op/window.hpp"

namespace strata::op {

/// The one vocabulary every layer speaks. A layer handles a family by an exhaustive std::visit, so that a
/// family forgotten somewhere does not compile.
using Operation =
    std::variant<Fill, Iota, Random, Unary, Binary, Compare, Where, Cast, Matmul, Reduce, ArgReduce, ArgSort,
                 Cumulative, Softmax, Norm, Gather, Scatter, SliceAssign, Conv, Pool, ArgPool, Linalg, Fft,
                 Reshape, Permute, Expand, Slice, Flip, Unfold, Cat, Attention, AttentionGradient,
                 CrossEntropy, CrossEntropyGradient, Ctc, CtcGradient, CustomKernel>;

/// "add", "reduce_sum", "matmul".
std::string_view name_of(const Operation&);
/// "slice(start=[0, 1], stop=[2, 3], step=[1, 1])".
std::string to_string(const Operation&);
/// Over the family and all fields; equal in every process.
std::uint64_t hash_of(const Operation&);
void hash_into(base::Hasher&, const Operation&);

/// Output types. Throws ShapeError, DTypeError or ArgumentError; `device` only names the place in the
/// message.
TensorTypes infer(const Operation&, Inputs inputs, std::string_view device = {});

/// Overload set from lambdas, for std::visit.
template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace strata::op
