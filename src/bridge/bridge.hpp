/// The untyped tensor API: one function per thing to compute, for values of any backend. The typed `Tensor`
/// is a façade over it, and gradient rules are written with it. Axes may be negative where they are called
/// `axis`.
#pragma once

#include <vector>

#include "backend/backend.hpp"
#include "strata/precision.hpp"

namespace strata::bridge {

using backend::Backend;
using backend::Value;
using backend::ValueRef;
using op::BinaryKind;
using op::CompareKind;
using op::Number;
using op::ReduceKind;
using op::UnaryKind;
using op::wide;

ValueRef fill(Backend& backend, const Shape& shape, DType dtype, Number value);
/// A rank-0 constant of x's dtype on x's backend.
ValueRef scalar_like(const ValueRef& x, Number value);
ValueRef zeros_like(const ValueRef& x);
ValueRef iota(Backend& backend, std::int64_t size, DType dtype, Number start, Number step);
ValueRef random(Backend& backend, const op::Random& description);

ValueRef unary(UnaryKind kind, const ValueRef& x);
ValueRef binary(BinaryKind kind, const ValueRef& a, const ValueRef& b);
ValueRef binary(BinaryKind kind, const ValueRef& a, Number b);
ValueRef binary(BinaryKind kind, Number a, const ValueRef& b);
ValueRef compare(CompareKind kind, const ValueRef& a, const ValueRef& b);
ValueRef compare(CompareKind kind, const ValueRef& a, Number b);
ValueRef where(const ValueRef& condition, const ValueRef& if_true, const ValueRef& if_false);
/// Nothing is executed when x already has the dtype.
ValueRef cast(const ValueRef& x, DType dtype);

/// `precision` is for f32.
ValueRef matmul(const ValueRef& a, const ValueRef& b, Precision precision = MatmulPrecision::current());
ValueRef reduce(ReduceKind kind, const ValueRef& x, const Axes& axes, bool keep_dims);
ValueRef reduce_all(ReduceKind kind, const ValueRef& x);

/// At most one extent may be -1: it is inferred (an error when it is ambiguous because another extent is 0).
ValueRef reshape(const ValueRef& x, Shape shape);
ValueRef permute(const ValueRef& x, const Axes& order);
/// Swaps two axes.
ValueRef transpose(const ValueRef& x, int axis_a = -2, int axis_b = -1);
ValueRef expand(const ValueRef& x, const Shape& shape);
ValueRef slice(const ValueRef& x, const Dims& start, const Dims& stop, const Dims& step);
ValueRef flip(const ValueRef& x, const Axes& axes);
ValueRef cat(const std::vector<ValueRef>& xs, int axis);

ValueRef arg_reduce(op::ExtremumKind kind, const ValueRef& x, int axis, bool keep_dims);
ValueRef argsort(const ValueRef& x, int axis, bool descending, std::int64_t count = -1);
ValueRef cumulative(op::CumulativeKind kind, const ValueRef& x, int axis);
ValueRef softmax(const ValueRef& x, int axis, bool log);
/// `parameters`: weight and bias, one of them or none.
ValueRef norm(op::NormKind kind, const ValueRef& x, const std::vector<ValueRef>& parameters, double eps);

ValueRef gather(const ValueRef& x, int axis, const ValueRef& index);
ValueRef scatter(const ValueRef& x, int axis, const ValueRef& index, const ValueRef& source,
                 op::ScatterMode mode);
/// Entries `index` [n] of `axis`: gather with an index that is the same everywhere else.
ValueRef select(const ValueRef& x, int axis, const ValueRef& index);
/// Scatters whole entries of `axis`; source has n entries there.
ValueRef select_assign(const ValueRef& x, int axis, const ValueRef& index, const ValueRef& source,
                       op::ScatterMode mode);
ValueRef slice_assign(const ValueRef& x, const Dims& start, const Dims& stop, const Dims& step,
                      const ValueRef& source);
/// `before` and `after` entries of `value` around x on every axis.
ValueRef pad(const ValueRef& x, const Dims& before, const Dims& after, Number value);
ValueRef unfold(const ValueRef& x, int axis, std::int64_t size, std::int64_t step);

ValueRef conv(const op::Conv& op, const ValueRef& x, const ValueRef& weight);
ValueRef pool(const op::Pool& op, const ValueRef& x);
ValueRef arg_pool(const op::ArgPool& op, const ValueRef& x);

/// One value for each result of the kind.
backend::Values linalg(op::LinalgKind kind, const std::vector<ValueRef>& operands);
/// `size` points along `axis`, which counts without the axis of complex parts.
ValueRef fft(op::FftKind kind, const ValueRef& x, int axis, std::int64_t size);

/// `mask` may be null; both results of the family.
backend::Values attention(const op::Attention& op, const ValueRef& q, const ValueRef& k, const ValueRef& v,
                          const ValueRef& mask);
/// `weights` may be null; both results of the family.
backend::Values cross_entropy(const op::CrossEntropy& op, const ValueRef& logits, const ValueRef& target,
                              const ValueRef& weights);
ValueRef ctc(const op::Ctc& op, const ValueRef& log_probs, const ValueRef& targets,
             const ValueRef& input_lengths, const ValueRef& target_lengths);

/// Sums x down to `shape`, from which it was broadcast: the gradient of broadcasting.
ValueRef sum_to(const ValueRef& x, const Shape& shape);

/// Counts from the back when negative; throws ShapeError naming `op` when out of range.
int normalise_axis(int axis, int rank, std::string_view op);

inline ValueRef neg(const ValueRef& x) { return unary(UnaryKind::neg, x); }
inline ValueRef add(const ValueRef& a, const ValueRef& b) { return binary(BinaryKind::add, a, b); }
inline ValueRef sub(const ValueRef& a, const ValueRef& b) { return binary(BinaryKind::sub, a, b); }
inline ValueRef mul(const ValueRef& a, const ValueRef& b) { return binary(BinaryKind::mul, a, b); }
inline ValueRef div(const ValueRef& a, const ValueRef& b) { return binary(BinaryKind::div, a, b); }
inline ValueRef add(const ValueRef& a, Number b) { return binary(BinaryKind::add, a, b); }
inline ValueRef sub(Number a, const ValueRef& b) { return binary(BinaryKind::sub, a, b); }
inline ValueRef mul(const ValueRef& a, Number b) { return binary(BinaryKind::mul, a, b); }

}  // namespace strata::bridge
