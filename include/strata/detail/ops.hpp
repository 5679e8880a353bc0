/// The compiled body under `Tensor`: untyped functions on values. Not part of the public API.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/detail/kinds.hpp"
#include "strata/detail/value.hpp"
#include "strata/device.hpp"
#include "strata/future.hpp"
#include "strata/tensor_data.hpp"

namespace strata::autodiff {
class Gradients;
}

namespace strata::detail {

using backend::ValueRef;

/// A number operand: a tensor's worth of any dtype. Doubles and 64-bit integers stay exact.
struct Literal {
  enum class Kind : std::uint8_t { floating, integer, boolean } kind;
  double floating = 0;
  std::int64_t integer = 0;
  template <class T>
  requires std::is_arithmetic_v<T> Literal(T v) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_same_v<T, bool>) {
      kind = Kind::boolean;
      integer = v;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind = Kind::floating;
      floating = static_cast<double>(v);
    } else {
      kind = Kind::integer;
      integer = static_cast<std::int64_t>(v);
    }
  }
};

enum class KindTag : std::uint8_t { floating, integer, boolean };
/// Throws ShapeError or DTypeError unless `v` has this rank and a dtype of this kind.
STRATA_API void require(const ValueRef& v, int rank, KindTag kind);

STRATA_API ValueRef from_data(const TensorData& data, const Device& device);
STRATA_API Future<TensorData> into_data_async(const ValueRef& v);
STRATA_API TensorData into_data(const ValueRef& v);
STRATA_API ValueRef fill(const Shape& shape, DType dtype, Literal value, const Device& device);
STRATA_API ValueRef arange(Literal start, Literal stop, Literal step, DType dtype, const Device& device);
STRATA_API ValueRef random(const Shape& shape, DType dtype, op::Distribution d, double a, double b,
                           const Device& device);
STRATA_API Device device_of(const ValueRef& v);
STRATA_API ValueRef to_device(const ValueRef& v, const Device& device);

STRATA_API ValueRef unary(op::UnaryKind kind, const ValueRef& x);
STRATA_API ValueRef binary(op::BinaryKind kind, const ValueRef& a, const ValueRef& b);
STRATA_API ValueRef binary(op::BinaryKind kind, const ValueRef& a, Literal b);
STRATA_API ValueRef binary(op::BinaryKind kind, Literal a, const ValueRef& b);
STRATA_API ValueRef compare(op::CompareKind kind, const ValueRef& a, const ValueRef& b);
STRATA_API ValueRef compare(op::CompareKind kind, const ValueRef& a, Literal b);
STRATA_API ValueRef where(const ValueRef& condition, const ValueRef& a, const ValueRef& b);
STRATA_API ValueRef where(const ValueRef& condition, const ValueRef& a, Literal b);
STRATA_API ValueRef cast(const ValueRef& x, DType dtype);
STRATA_API ValueRef matmul(const ValueRef& a, const ValueRef& b);
STRATA_API ValueRef reduce(op::ReduceKind kind, const ValueRef& x, std::span<const int> axes, bool keep_dims);
STRATA_API ValueRef reduce_all(op::ReduceKind kind, const ValueRef& x);
STRATA_API ValueRef reshape(const ValueRef& x, const Shape& shape);
STRATA_API ValueRef permute(const ValueRef& x, std::span<const int> order);
STRATA_API ValueRef transpose(const ValueRef& x, int axis_a, int axis_b);
STRATA_API ValueRef expand(const ValueRef& x, const Shape& shape);
/// Python's slice semantics on one axis: negative ends count from the back, both are clamped, step may be
/// negative.
struct Range {
  /// Where the axis begins and ends in the direction of `step`.
  static constexpr std::int64_t begin = INT64_MIN, end = INT64_MAX;
  std::int64_t start = begin, stop = end, step = 1;
};
STRATA_API ValueRef slice(const ValueRef& x, std::span<const Range> ranges);
STRATA_API ValueRef narrow(const ValueRef& x, int axis, std::int64_t start, std::int64_t length);
STRATA_API ValueRef flip(const ValueRef& x, std::span<const int> axes);
STRATA_API ValueRef cat(const std::vector<ValueRef>& xs, int axis);
STRATA_API ValueRef stack(const std::vector<ValueRef>& xs, int axis);
STRATA_API ValueRef squeeze(const ValueRef& x, int axis);
STRATA_API ValueRef unsqueeze(const ValueRef& x, int axis);

STRATA_API ValueRef require_grad(const ValueRef& x);
STRATA_API bool is_tracked(const ValueRef& x);
STRATA_API ValueRef detach(const ValueRef& x);
STRATA_API ValueRef inner(const ValueRef& x);
STRATA_API std::shared_ptr<const autodiff::Gradients> backward(const ValueRef& x);
/// Throws ArgumentError when the gradients hold none for x.
STRATA_API ValueRef gradient_of(const autodiff::Gradients& gradients, const ValueRef& x);

}  // namespace strata::detail
