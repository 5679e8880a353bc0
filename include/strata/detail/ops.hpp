/// The compiled body under `Tensor`: untyped functions on values. Not part of the public API.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
STRATA_API std::vector<Future<TensorData>> read_all_async(const std::vector<ValueRef>& values);
STRATA_API std::vector<TensorData> read_all(const std::vector<ValueRef>& values);
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
STRATA_API ValueRef squeeze(const ValueRef& x, std::span<const int> axes);
STRATA_API ValueRef squeeze(const ValueRef& x, int axis);
/// Axes of the result.
STRATA_API ValueRef unsqueeze(const ValueRef& x, std::span<const int> axes);
STRATA_API ValueRef unsqueeze(const ValueRef& x, int axis);

STRATA_API ValueRef slice_assign(const ValueRef& x, std::span<const Range> ranges, const ValueRef& source);
STRATA_API ValueRef slice_fill(const ValueRef& x, std::span<const Range> ranges, Literal value);
STRATA_API ValueRef unfold(const ValueRef& x, int axis, std::int64_t size, std::int64_t step);
/// One extent for each axis; entries repeat as a whole, as numpy.tile.
STRATA_API ValueRef repeat(const ValueRef& x, std::span<const std::int64_t> counts);
STRATA_API ValueRef roll(const ValueRef& x, std::span<const std::int64_t> shifts, std::span<const int> axes);
STRATA_API ValueRef move_axis(const ValueRef& x, int from, int to);
STRATA_API ValueRef flatten(const ValueRef& x, int first, int last);

/// What lies around a padded tensor: a number, the mirrored inside (without or with the border itself), the
/// border repeated, or the other end.
enum class PadMode : std::uint8_t { constant, reflect, symmetric, edge, wrap };
struct Margin {
  std::int64_t before = 0, after = 0;
};
STRATA_API ValueRef pad(const ValueRef& x, std::span<const Margin> margins, PadMode mode, Literal value);
/// Keeps the elements on and below (lower) or on and above the diagonal of the last two axes; 0 elsewhere.
STRATA_API ValueRef triangle(const ValueRef& x, bool lower, std::int64_t diagonal);
/// The diagonal of the last two axes.
STRATA_API ValueRef diagonal(const ValueRef& x, std::int64_t offset);
STRATA_API ValueRef eye(std::int64_t rows, std::int64_t columns, DType dtype, const Device& device);
STRATA_API ValueRef linspace(double start, double stop, std::int64_t count, DType dtype,
                             const Device& device);
STRATA_API ValueRef random_permutation(std::int64_t n, const Device& device);

STRATA_API ValueRef arg_reduce(op::ExtremumKind kind, const ValueRef& x, int axis);
STRATA_API ValueRef arg_reduce_all(op::ExtremumKind kind, const ValueRef& x);
STRATA_API ValueRef argsort(const ValueRef& x, int axis, bool descending, std::int64_t count = -1);
STRATA_API ValueRef cumulative(op::CumulativeKind kind, const ValueRef& x, int axis);
STRATA_API ValueRef gather(const ValueRef& x, int axis, const ValueRef& index);
STRATA_API ValueRef scatter(const ValueRef& x, int axis, const ValueRef& index, const ValueRef& source,
                            op::ScatterMode mode);
STRATA_API ValueRef select(const ValueRef& x, int axis, const ValueRef& index);
STRATA_API ValueRef select_assign(const ValueRef& x, int axis, const ValueRef& index, const ValueRef& source,
                                  op::ScatterMode mode);
/// The entry at one place of an axis, which goes. Negative places count from the back.
STRATA_API ValueRef at(const ValueRef& x, int axis, std::int64_t place);
/// Positions of the true elements, [count, rank]. Waits for the mask.
STRATA_API ValueRef argwhere(const ValueRef& mask);
/// The elements where the mask is true, row-major. Waits for the mask.
STRATA_API ValueRef mask_select(const ValueRef& x, const ValueRef& mask);
STRATA_API ValueRef one_hot(const ValueRef& x, std::int64_t classes, Literal on, Literal off, int axis,
                            DType dtype);

STRATA_API ValueRef softmax(const ValueRef& x, int axis, bool log);
STRATA_API ValueRef norm(op::NormKind kind, const ValueRef& x, const std::vector<ValueRef>& parameters,
                         double eps);
STRATA_API ValueRef variance(const ValueRef& x, int axis, std::int64_t correction);
STRATA_API ValueRef log_sum_exp(const ValueRef& x, int axis);
STRATA_API ValueRef quantile(const ValueRef& x, double q, int axis);
STRATA_API ValueRef vector_norm(const ValueRef& x, double p, int axis);
STRATA_API ValueRef is_finite(const ValueRef& x);
STRATA_API ValueRef nan_to_num(const ValueRef& x, double nan, double infinity, double minus_infinity);
STRATA_API bool all_close(const ValueRef& a, const ValueRef& b, double rtol, double atol, bool equal_nan);
STRATA_API ValueRef einsum(const std::string& equation, const std::vector<ValueRef>& operands);

struct QuantizationRange {
  ValueRef scale, zero_point;
};
STRATA_API QuantizationRange quantization_range(const ValueRef& x, std::optional<int> axis, bool symmetric);

STRATA_API ValueRef require_grad(const ValueRef& x);
STRATA_API bool is_tracked(const ValueRef& x);
STRATA_API ValueRef detach(const ValueRef& x);
STRATA_API void retain_grad(const ValueRef& x);
STRATA_API ValueRef
custom_gradient(const std::vector<ValueRef>& inputs,
                const std::function<ValueRef(const std::vector<ValueRef>&)>& function,
                const std::function<std::vector<ValueRef>(const ValueRef& gradient, const ValueRef& result,
                                                          const std::vector<ValueRef>& inputs)>& gradients);
STRATA_API ValueRef inner(const ValueRef& x);
STRATA_API std::shared_ptr<const autodiff::Gradients> backward(const ValueRef& x);
/// Throws ArgumentError when the gradients hold none for x.
STRATA_API ValueRef gradient_of(const autodiff::Gradients& gradients, const ValueRef& x);

}  // namespace strata::detail
