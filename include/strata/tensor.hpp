/// `Tensor<D, Kind>`: a tensor of rank D on any device. Rank and kind are checked at compile time, extents
/// and dtypes when an operation is called. Tensors are immutable values; copying one copies a reference.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "strata/detail/nested_list.hpp"
#include "strata/detail/ops.hpp"
#include "strata/device.hpp"
#include "strata/error.hpp"
#include "strata/future.hpp"
#include "strata/tensor_data.hpp"

namespace strata::inline v0 {

struct Float;  ///< f64, f32 (the default), f16, bf16
struct Int;    ///< i64 (the default), i32, u8
struct Bool;   ///< bool

using detail::Margin;
using detail::PadMode;
using detail::Range;
using op::ScatterMode;

namespace detail {

template <class Kind>
struct KindTraits;
template <>
struct KindTraits<Float> {
  using Literal = float;
  static constexpr DType dtype = DType::f32;
  static constexpr KindTag tag = KindTag::floating;
};
template <>
struct KindTraits<Int> {
  using Literal = std::int64_t;
  static constexpr DType dtype = DType::i64;
  static constexpr KindTag tag = KindTag::integer;
};
template <>
struct KindTraits<Bool> {
  using Literal = bool;
  static constexpr DType dtype = DType::boolean;
  static constexpr KindTag tag = KindTag::boolean;
};

}  // namespace detail

class Gradients;
template <int D, class Kind>
struct WithIndices;

template <int D, class Kind = Float>
class Tensor {
  static_assert(D >= 0 && D <= max_rank, "strata tensors have rank 0 to 8");
  using Traits = detail::KindTraits<Kind>;
  static constexpr bool is_float_kind = std::is_same_v<Kind, Float>;
  static constexpr bool is_number = !std::is_same_v<Kind, Bool>;
  template <int E>
  static constexpr int broadcast_rank = D > E ? D : E;
  static constexpr int reduced_rank = D > 0 ? D - 1 : 0;  // without one axis

 public:
  static constexpr int rank = D;
  /// C++ type of the elements in nested lists.
  using Element = typename Traits::Literal;
  using List = typename detail::Nested<Element, D>::type;

  // ---- creation. Each takes the device last; the default is `Device()`.

  /// From nested lists: `Tensor<2>::from({{1, 2}, {3, 4}})`. Throws ShapeError when rows differ in length.
  static Tensor from(const List& list, const Device& device = Device(), DType dtype = Traits::dtype) {
    return from_data(detail::data_of_list<Element, D>(list).convert(dtype), device);
  }
  /// From row-major values; the dtype is that of the span. Throws ShapeError unless the counts agree.
  template <strata::Element T>
  static Tensor from(std::span<const T> values, const Shape& shape, const Device& device = Device()) {
    return from_data(TensorData::from<T>(values, shape), device);
  }
  template <strata::Element T>
  static Tensor from(const std::vector<T>& values, const Shape& shape, const Device& device = Device()) {
    return from(std::span<const T>(values), shape, device);
  }
  /// Throws ShapeError or DTypeError unless the data has rank D and a dtype of this kind.
  static Tensor from_data(const TensorData& data, const Device& device = Device()) {
    return Tensor(detail::from_data(data, device));
  }
  static Tensor full(const Shape& shape, detail::Literal value, const Device& device = Device(),
                     DType dtype = Traits::dtype) {
    return Tensor(detail::fill(shape, dtype, value, device));
  }
  static Tensor zeros(const Shape& shape, const Device& device = Device(), DType dtype = Traits::dtype) {
    return full(shape, 0, device, dtype);
  }
  static Tensor ones(const Shape& shape, const Device& device = Device(), DType dtype = Traits::dtype) {
    return full(shape, 1, device, dtype);
  }
  /// start, start + step, ... up to but without stop. Throws ArgumentError when step is 0.
  static Tensor arange(detail::Literal start, detail::Literal stop, detail::Literal step = 1,
                       const Device& device = Device(),
                       DType dtype = Traits::dtype) requires(D == 1 && is_number) {
    return Tensor(detail::arange(start, stop, step, dtype, device));
  }
  /// `count` numbers from start to stop, both included.
  static Tensor linspace(double start, double stop, std::int64_t count, const Device& device = Device(),
                         DType dtype = Traits::dtype) requires(D == 1 && is_float_kind) {
    return Tensor(detail::linspace(start, stop, count, dtype, device));
  }
  /// base^start ... base^stop, both included.
  static Tensor logspace(double start, double stop, std::int64_t count, double base = 10,
                         const Device& device = Device(),
                         DType dtype = Traits::dtype) requires(D == 1 && is_float_kind) {
    return Tensor(
        detail::binary(op::BinaryKind::pow, base, detail::linspace(start, stop, count, dtype, device)));
  }
  /// Ones on the diagonal, zeros elsewhere.
  static Tensor eye(std::int64_t rows, std::int64_t columns, const Device& device = Device(),
                    DType dtype = Traits::dtype) requires(D == 2) {
    return Tensor(detail::eye(rows, columns, dtype, device));
  }
  static Tensor eye(std::int64_t n, const Device& device = Device()) requires(D == 2) {
    return eye(n, n, device);
  }
  /// 0 ... n - 1 in random order.
  static Tensor randperm(std::int64_t n,
                         const Device& device = Device()) requires(D == 1 && std::is_same_v<Kind, Int>) {
    return Tensor(detail::random_permutation(n, device));
  }
  static Tensor full_like(const Tensor& other, detail::Literal value) {
    return full(other.shape(), value, other.device(), other.dtype());
  }
  static Tensor zeros_like(const Tensor& other) { return full_like(other, 0); }
  static Tensor ones_like(const Tensor& other) { return full_like(other, 1); }
  /// Uniform in [low, high). The stream of numbers depends on `manual_seed` and on nothing else: not on the
  /// device.
  static Tensor random(const Shape& shape, double low = 0, double high = 1, const Device& device = Device(),
                       DType dtype = Traits::dtype) requires is_number {
    return Tensor(detail::random(shape, dtype, op::Distribution::uniform, low, high, device));
  }
  static Tensor random(const Shape& shape, const Device& device) requires is_number {
    return random(shape, 0, 1, device);
  }
  static Tensor random_normal(const Shape& shape, double mean = 0, double stddev = 1,
                              const Device& device = Device(),
                              DType dtype = Traits::dtype) requires is_float_kind {
    return Tensor(detail::random(shape, dtype, op::Distribution::normal, mean, stddev, device));
  }
  /// True (or 1) with the given probability.
  static Tensor random_bernoulli(const Shape& shape, double probability, const Device& device = Device(),
                                 DType dtype = Traits::dtype) {
    return Tensor(detail::random(shape, dtype, op::Distribution::bernoulli, probability, 0, device));
  }

  // ---- what it is

  const Shape& shape() const { return value_->shape; }
  std::int64_t dim(int axis) const { return value_->shape[axis < 0 ? axis + D : axis]; }
  std::int64_t size() const { return value_->shape.product(); }
  DType dtype() const { return value_->dtype; }
  Device device() const { return detail::device_of(value_); }
  /// A copy on another device; no copy when it is there already or only autodiff is added or taken off.
  Tensor to_device(const Device& device) const { return Tensor(detail::to_device(value_, device)); }

  // ---- reading

  /// Waits and returns the elements. Throws the error of the operation that failed to make them, if one did.
  TensorData into_data() const { return detail::into_data(value_); }
  /// The same without waiting: `std::future`-like, and awaitable in a coroutine.
  Future<TensorData> into_data_async() const { return detail::into_data_async(value_); }
  template <strata::Element T>
  std::vector<T> to_vector() const {
    return into_data().template to_vector<T>();
  }
  /// The one element, as double, int64 or bool.
  auto item() const requires(D == 0) {
    if constexpr (is_float_kind)
      return into_data().convert(DType::f64).template as<double>()[0];
    else if constexpr (is_number)
      return into_data().convert(DType::i64).template as<std::int64_t>()[0];
    else
      return into_data().template as<bool>()[0];
  }
  std::string to_string() const {
    return into_data().to_string() + " " + std::string(name_of(dtype())) + shape().to_string();
  }

  // ---- element-wise, one operand

  Tensor operator-() const requires is_number { return unary(op::UnaryKind::neg); }
  Tensor neg() const requires is_number { return unary(op::UnaryKind::neg); }
  Tensor abs() const requires is_number { return unary(op::UnaryKind::abs); }
  /// -1, 0 or 1; NaN stays NaN.
  Tensor sign() const requires is_number { return unary(op::UnaryKind::sign); }
  Tensor floor() const requires is_float_kind { return unary(op::UnaryKind::floor); }
  Tensor ceil() const requires is_float_kind { return unary(op::UnaryKind::ceil); }
  /// Half to even.
  Tensor round() const requires is_float_kind { return unary(op::UnaryKind::round); }
  Tensor trunc() const requires is_float_kind { return unary(op::UnaryKind::trunc); }
  Tensor recip() const requires is_float_kind { return unary(op::UnaryKind::recip); }
  Tensor sqrt() const requires is_float_kind { return unary(op::UnaryKind::sqrt); }
  Tensor rsqrt() const requires is_float_kind { return unary(op::UnaryKind::rsqrt); }
  Tensor exp() const requires is_float_kind { return unary(op::UnaryKind::exp); }
  Tensor expm1() const requires is_float_kind { return unary(op::UnaryKind::expm1); }
  Tensor log() const requires is_float_kind { return unary(op::UnaryKind::log); }
  Tensor log1p() const requires is_float_kind { return unary(op::UnaryKind::log1p); }
  Tensor sin() const requires is_float_kind { return unary(op::UnaryKind::sin); }
  Tensor cos() const requires is_float_kind { return unary(op::UnaryKind::cos); }
  Tensor tanh() const requires is_float_kind { return unary(op::UnaryKind::tanh); }
  Tensor sigmoid() const requires is_float_kind { return unary(op::UnaryKind::sigmoid); }
  Tensor erf() const requires is_float_kind { return unary(op::UnaryKind::erf); }
  Tensor exp2() const requires is_float_kind { return unary(op::UnaryKind::exp2); }
  Tensor log2() const requires is_float_kind { return unary(op::UnaryKind::log2); }
  Tensor log10() const requires is_float_kind { return unary(op::UnaryKind::log10); }
  Tensor tan() const requires is_float_kind { return unary(op::UnaryKind::tan); }
  Tensor asin() const requires is_float_kind { return unary(op::UnaryKind::asin); }
  Tensor acos() const requires is_float_kind { return unary(op::UnaryKind::acos); }
  Tensor atan() const requires is_float_kind { return unary(op::UnaryKind::atan); }
  Tensor sinh() const requires is_float_kind { return unary(op::UnaryKind::sinh); }
  Tensor cosh() const requires is_float_kind { return unary(op::UnaryKind::cosh); }
  Tensor asinh() const requires is_float_kind { return unary(op::UnaryKind::asinh); }
  Tensor acosh() const requires is_float_kind { return unary(op::UnaryKind::acosh); }
  Tensor atanh() const requires is_float_kind { return unary(op::UnaryKind::atanh); }
  /// x times the standard normal distribution function.
  Tensor gelu() const requires is_float_kind { return unary(op::UnaryKind::gelu); }
  /// x sigmoid(x).
  Tensor silu() const requires is_float_kind { return unary(op::UnaryKind::silu); }
  /// log(1 + e^x).
  Tensor softplus() const requires is_float_kind { return unary(op::UnaryKind::softplus); }
  /// The x with erf(x) equal to this.
  Tensor erfinv() const requires is_float_kind { return unary(op::UnaryKind::erfinv); }
  /// log |gamma(x)|.
  Tensor lgamma() const requires is_float_kind { return unary(op::UnaryKind::lgamma); }
  /// The derivative of lgamma.
  Tensor digamma() const requires is_float_kind { return unary(op::UnaryKind::digamma); }
  Tensor operator!() const requires(!is_number) { return unary(op::UnaryKind::logical_not); }
  Tensor operator~() const requires std::is_same_v<Kind, Int> { return unary(op::UnaryKind::bit_not); }
  Tensor relu() const requires is_number { return max_with(0); }
  Tensor square() const requires is_number { return *this * *this; }

  // ---- element-wise, two operands; NumPy broadcasting across ranks, dtypes must agree

#define STRATA_BINARY(name, kind_name, constraint)                                        \
  template <int E>                                                                        \
  requires(constraint) Tensor<broadcast_rank<E>, Kind> name(const Tensor<E, Kind>& other) \
  const {                                                                                 \
    return Tensor<broadcast_rank<E>, Kind>(                                               \
        detail::binary(op::BinaryKind::kind_name, value_, other.value()));                \
  }                                                                                       \
  Tensor name(detail::Literal other) const requires(constraint) {                         \
    return Tensor(detail::binary(op::BinaryKind::kind_name, value_, other));              \
  }
  STRATA_BINARY(operator+, add, is_number)
  STRATA_BINARY(operator-, sub, is_number)
  STRATA_BINARY(operator*, mul, is_number)
  STRATA_BINARY(operator/, div, is_number)
  STRATA_BINARY(rem, rem, is_number)
  /// The remainder with the sign of this tensor's elements, as C's fmod.
  STRATA_BINARY(fmod, fmod, is_number)
  STRATA_BINARY(pow, pow, is_number)
  STRATA_BINARY(max_with, max, is_number)
  STRATA_BINARY(min_with, min, is_number)
  /// The angle of the point (other, this), in [-pi, pi].
  STRATA_BINARY(atan2, atan2, is_float_kind)
  /// sqrt(this^2 + other^2) without overflow on the way.
  STRATA_BINARY(hypot, hypot, is_float_kind)
  STRATA_BINARY(operator&, bit_and, !is_float_kind)
  STRATA_BINARY(operator|, bit_or, !is_float_kind)
  STRATA_BINARY(operator^, bit_xor, !is_float_kind)
  STRATA_BINARY(operator<<, shift_left, (std::is_same_v<Kind, Int>))
  STRATA_BINARY(operator>>, shift_right, (std::is_same_v<Kind, Int>))
#undef STRATA_BINARY
  friend Tensor operator+(detail::Literal a, const Tensor& b) { return b.reversed(op::BinaryKind::add, a); }
  friend Tensor operator-(detail::Literal a, const Tensor& b) { return b.reversed(op::BinaryKind::sub, a); }
  friend Tensor operator*(detail::Literal a, const Tensor& b) { return b.reversed(op::BinaryKind::mul, a); }
  friend Tensor operator/(detail::Literal a, const Tensor& b) { return b.reversed(op::BinaryKind::div, a); }
  /// Limits to [low, high].
  Tensor clamp(detail::Literal low, detail::Literal high) const requires is_number {
    return max_with(low).min_with(high);
  }

#define STRATA_COMPARE(name, constraint)                                                                   \
  template <int E>                                                                                         \
  requires(constraint) Tensor<broadcast_rank<E>, Bool> name(const Tensor<E, Kind>& other)                  \
  const {                                                                                                  \
    return Tensor<broadcast_rank<E>, Bool>(detail::compare(op::CompareKind::name, value_, other.value())); \
  }                                                                                                        \
  Tensor<D, Bool> name(detail::Literal other) const requires(constraint) {                                 \
    return Tensor<D, Bool>(detail::compare(op::CompareKind::name, value_, other));                         \
  }
  STRATA_COMPARE(equal, true)
  STRATA_COMPARE(not_equal, true)
  STRATA_COMPARE(less, is_number)
  STRATA_COMPARE(less_equal, is_number)
  STRATA_COMPARE(greater, is_number)
  STRATA_COMPARE(greater_equal, is_number)
#undef STRATA_COMPARE

  /// `a` where this is true, else `b`; all three broadcast.
  template <int A, int B, class K>
  auto where(const Tensor<A, K>& a, const Tensor<B, K>& b) const requires(!is_number) {
    constexpr int inner_rank = A > B ? A : B;
    return Tensor<broadcast_rank<inner_rank>, K>(detail::where(value_, a.value(), b.value()));
  }
  /// `value` where the mask is true, this elsewhere.
  Tensor mask_fill(const Tensor<D, Bool>& mask, detail::Literal value) const {
    return Tensor(detail::where(detail::unary(op::UnaryKind::logical_not, mask.value()), value_, value));
  }

  /// Another dtype of the same kind; see docs/conventions.md for the conversion rules.
  Tensor cast(DType dtype) const { return Tensor(detail::cast(value_, dtype)); }
  Tensor<D, Float> to_float(DType dtype = DType::f32) const {
    return Tensor<D, Float>(detail::cast(value_, dtype));
  }
  Tensor<D, Int> to_int(DType dtype = DType::i64) const {
    return Tensor<D, Int>(detail::cast(value_, dtype));
  }
  Tensor<D, Bool> to_bool() const { return Tensor<D, Bool>(detail::cast(value_, DType::boolean)); }

  // ---- matrix product

  /// [..., m, k] x [..., k, n] -> [..., m, n]; leading axes broadcast.
  template <int E>
  requires is_number Tensor<broadcast_rank<E>, Kind> matmul(const Tensor<E, Kind>& other)
  const {
    static_assert(D >= 2 && E >= 2, "matmul needs operands of rank 2 or more; add an axis with unsqueeze()");
    return Tensor<broadcast_rank<E>, Kind>(detail::matmul(value_, other.value()));
  }

  // ---- reductions: without axes to rank 0, over one axis to rank D - 1, `*_keep` keeps extents of 1

#define STRATA_REDUCE(name, kind_name, constraint)                                                 \
  Tensor<0, Kind> name() const requires(constraint) {                                              \
    return Tensor<0, Kind>(detail::reduce_all(op::ReduceKind::kind_name, value_));                 \
  }                                                                                                \
  auto name(int axis) const requires(constraint && D >= 1) {                                       \
    return Tensor<reduced_rank, Kind>(                                                             \
        detail::reduce(op::ReduceKind::kind_name, value_, std::span<const int>(&axis, 1), false)); \
  }                                                                                                \
  Tensor name##_keep(std::initializer_list<int> axes) const requires(constraint) {                 \
    return Tensor(detail::reduce(op::ReduceKind::kind_name, value_,                                \
                                 std::span<const int>(axes.begin(), axes.size()), true));          \
  }
  STRATA_REDUCE(sum, sum, is_number)
  STRATA_REDUCE(mean, mean, is_number)
  STRATA_REDUCE(prod, prod, is_number)
  STRATA_REDUCE(max, max, is_number)
  STRATA_REDUCE(min, min, is_number)
  STRATA_REDUCE(any, max, !is_number)
  STRATA_REDUCE(all, min, !is_number)
#undef STRATA_REDUCE

  // ---- layout; negative axes count from the back

  /// Row-major order is kept; one extent may be -1. Throws ShapeError when the sizes differ.
  template <int E>
  Tensor<E, Kind> reshape(const std::int64_t (&shape)[E]) const {
    return Tensor<E, Kind>(detail::reshape(value_, Shape(std::span<const std::int64_t>(shape))));
  }
  /// To rank 0; needs exactly one element.
  Tensor<0, Kind> reshape() const { return Tensor<0, Kind>(detail::reshape(value_, Shape{})); }
  Tensor<1, Kind> flatten() const { return reshape<1>({-1}); }
  Tensor permute(const int (&order)[D == 0 ? 1 : D]) const requires(D > 0) {
    return Tensor(detail::permute(value_, std::span<const int>(order)));
  }
  Tensor transpose(int axis_a = -2, int axis_b = -1) const requires(D >= 2) {
    return Tensor(detail::transpose(value_, axis_a, axis_b));
  }
  Tensor t() const requires(D == 2) { return transpose(); }
  template <int E>
  Tensor<E, Kind> expand(const std::int64_t (&shape)[E]) const {
    static_assert(E >= D, "expand cannot lower the rank");
    return Tensor<E, Kind>(detail::expand(value_, Shape(std::span<const std::int64_t>(shape))));
  }
  /// One Python-like range per axis, missing ones take everything: `x.slice({{0, 2}, {.step = -1}})`.
  Tensor slice(std::initializer_list<Range> ranges) const {
    return Tensor(detail::slice(value_, std::span<const Range>(ranges.begin(), ranges.size())));
  }
  /// `length` entries of one axis from `start` on; throws ShapeError when they do not exist.
  Tensor narrow(int axis, std::int64_t start, std::int64_t length) const {
    return Tensor(detail::narrow(value_, axis, start, length));
  }
  Tensor flip(std::initializer_list<int> axes) const {
    return Tensor(detail::flip(value_, std::span<const int>(axes.begin(), axes.size())));
  }
  /// Without an axis of extent 1; throws ShapeError when it has another.
  auto squeeze(int axis) const requires(D >= 1) {
    return Tensor<reduced_rank, Kind>(detail::squeeze(value_, axis));
  }
  /// Without several: `x.squeeze({0, -1})`. ShapeError as well when one is named twice.
  template <int N>
  requires(N <= D) auto squeeze(const int (&axes)[N]) const {
    return Tensor<D - N, Kind>(detail::squeeze(value_, axes));
  }
  /// With a new axis of extent 1, which is `axis` of the result.
  auto unsqueeze(int axis) const requires(D < max_rank) {
    return Tensor<D + 1, Kind>(detail::unsqueeze(value_, axis));
  }
  /// With several, `axes` of the result: [2, 3] with `unsqueeze({0, -1})` is [1, 2, 3, 1]. Throws ShapeError
  /// when one is named twice.
  template <int N>
  requires(D + N <= max_rank) auto unsqueeze(const int (&axes)[N]) const {
    return Tensor<D + N, Kind>(detail::unsqueeze(value_, axes));
  }

  /// One margin for each axis: `x.pad({{1, 1}, {0, 2}})`; missing ones are empty.
  Tensor pad(std::initializer_list<Margin> margins, detail::Literal value = 0) const {
    return Tensor(detail::pad(value_, {margins.begin(), margins.size()}, PadMode::constant, value));
  }
  Tensor pad(std::initializer_list<Margin> margins, PadMode mode) const {
    return Tensor(detail::pad(value_, {margins.begin(), margins.size()}, mode, 0));
  }
  /// The whole tensor again and again along each axis; a count of 0 gives an empty axis.
  Tensor repeat(const std::int64_t (&counts)[D == 0 ? 1 : D]) const requires(D > 0) {
    return Tensor(detail::repeat(value_, std::span<const std::int64_t>(counts)));
  }
  /// Moves entries along an axis; those that leave one end enter at the other.
  Tensor roll(std::int64_t shift, int axis) const {
    return Tensor(
        detail::roll(value_, std::span<const std::int64_t>(&shift, 1), std::span<const int>(&axis, 1)));
  }
  /// Windows of `size` entries, `step` apart, along one axis; their entries are the new last axis.
  auto unfold(int axis, std::int64_t size, std::int64_t step) const requires(D >= 1 && D < max_rank) {
    return Tensor<D + 1, Kind>(detail::unfold(value_, axis, size, step));
  }
  Tensor movedim(int from, int to) const { return Tensor(detail::move_axis(value_, from, to)); }
  /// Axes `first` to `last` as one.
  template <int E>
  Tensor<E, Kind> flatten(int first, int last) const {
    return Tensor<E, Kind>(detail::flatten(value_, first, last));
  }
  /// Pieces of `size` entries along an axis; the last one may be shorter.
  std::vector<Tensor> split(std::int64_t size, int axis) const;
  /// The elements on and below the diagonal of the last two axes, 0 elsewhere.
  Tensor tril(std::int64_t diagonal = 0) const requires(D >= 2) {
    return Tensor(detail::triangle(value_, true, diagonal));
  }
  Tensor triu(std::int64_t diagonal = 0) const requires(D >= 2) {
    return Tensor(detail::triangle(value_, false, diagonal));
  }
  /// The diagonal of the last two axes.
  auto diagonal(std::int64_t offset = 0) const requires(D >= 2) {
    return Tensor<reduced_rank, Kind>(detail::diagonal(value_, offset));
  }
  auto trace() const requires(D == 2 && is_number) { return diagonal().sum(); }

  // ---- order along an axis. Of equal elements the first comes first; NaN counts as largest.

  auto argmax(int axis) const requires(D >= 1) {
    return Tensor<reduced_rank, Int>(detail::arg_reduce(op::ExtremumKind::max, value_, axis));
  }
  auto argmin(int axis) const requires(D >= 1) {
    return Tensor<reduced_rank, Int>(detail::arg_reduce(op::ExtremumKind::min, value_, axis));
  }
  /// The row-major position in the whole tensor.
  Tensor<0, Int> argmax() const {
    return Tensor<0, Int>(detail::arg_reduce_all(op::ExtremumKind::max, value_));
  }
  Tensor<0, Int> argmin() const {
    return Tensor<0, Int>(detail::arg_reduce_all(op::ExtremumKind::min, value_));
  }
  auto max_with_indices(int axis) const requires(D >= 1) { return extremum(op::ExtremumKind::max, axis); }
  auto min_with_indices(int axis) const requires(D >= 1) { return extremum(op::ExtremumKind::min, axis); }
  Tensor<D, Int> argsort(int axis = -1, bool descending = false) const requires(D >= 1) {
    return Tensor<D, Int>(detail::argsort(value_, axis, descending));
  }
  Tensor sort(int axis = -1, bool descending = false) const requires(D >= 1) {
    return gather(axis, argsort(axis, descending));
  }
  WithIndices<D, Kind> sort_with_indices(int axis = -1, bool descending = false) const requires(D >= 1);
  /// The k largest (or smallest) along an axis, best first.
  WithIndices<D, Kind> topk(std::int64_t k, int axis = -1, bool largest = true) const requires(D >= 1);
  /// The k-th smallest, counted from 1.
  auto kthvalue(std::int64_t k, int axis = -1) const requires(D >= 1) {
    return Tensor<reduced_rank, Kind>(
        detail::at(detail::gather(value_, axis, detail::argsort(value_, axis, false, k)), axis, k - 1));
  }
  /// The lower one of the two in the middle where there are two.
  auto median(int axis = -1) const requires(D >= 1) { return kthvalue((dim(axis) + 1) / 2, axis); }
  /// Between neighbours: linear. NaN where the slice holds one.
  auto quantile(double q, int axis = -1) const requires(is_float_kind&& D >= 1) {
    return Tensor<reduced_rank, Kind>(detail::quantile(value_, q, axis));
  }
  Tensor cumsum(int axis) const requires is_number { return running(op::CumulativeKind::sum, axis); }
  Tensor cumprod(int axis) const requires is_number { return running(op::CumulativeKind::prod, axis); }
  Tensor cummax(int axis) const requires is_number { return running(op::CumulativeKind::max, axis); }
  Tensor cummin(int axis) const requires is_number { return running(op::CumulativeKind::min, axis); }

  // ---- indices. One outside its axis is an IndexError, on a lazy device when the result is read.

  /// out[.., j, ..] = this[.., index[.., j, ..], ..]; the index has the extents of this on the other axes.
  Tensor gather(int axis, const Tensor<D, Int>& index) const requires(D >= 1) {
    return Tensor(detail::gather(value_, axis, index.value()));
  }
  /// This with source[.., j, ..] put at, added to, ... the places that the index names on `axis`.
  Tensor scatter(int axis, const Tensor<D, Int>& index, const Tensor& source,
                 ScatterMode mode = ScatterMode::assign) const requires(D >= 1) {
    return Tensor(detail::scatter(value_, axis, index.value(), source.value(), mode));
  }
  /// The named entries of an axis.
  Tensor select(int axis, const Tensor<1, Int>& index) const requires(D >= 1) {
    return Tensor(detail::select(value_, axis, index.value()));
  }
  Tensor select_assign(int axis, const Tensor<1, Int>& index, const Tensor& source,
                       ScatterMode mode = ScatterMode::assign) const requires(D >= 1) {
    return Tensor(detail::select_assign(value_, axis, index.value(), source.value(), mode));
  }
  /// One entry of an axis, which goes.
  auto at(int axis, std::int64_t place) const requires(D >= 1) {
    return Tensor<reduced_rank, Kind>(detail::at(value_, axis, place));
  }
  /// A copy with a part replaced; ranges as in `slice`.
  Tensor slice_assign(std::initializer_list<Range> ranges, const Tensor& source) const {
    return Tensor(detail::slice_assign(value_, {ranges.begin(), ranges.size()}, source.value()));
  }
  Tensor slice_fill(std::initializer_list<Range> ranges, detail::Literal value) const {
    return Tensor(detail::slice_fill(value_, {ranges.begin(), ranges.size()}, value));
  }
  /// The elements where the mask is true, in row-major order. Waits for the mask.
  Tensor<1, Kind> mask_select(const Tensor<D, Bool>& mask) const {
    return Tensor<1, Kind>(detail::mask_select(value_, mask.value()));
  }
  /// Positions of the true elements, [count, D]. Waits.
  Tensor<2, Int> argwhere() const requires(!is_number) { return Tensor<2, Int>(detail::argwhere(value_)); }
  /// 1 at the class that each element names, 0 elsewhere, along a new last axis.
  auto one_hot(std::int64_t classes) const requires(std::is_same_v<Kind, Int>&& D < max_rank) {
    return one_hot_fill(classes, 1, 0);
  }
  /// `on` at the class that each element names, `off` elsewhere, along a new axis (of the result). An element
  /// that names none of 0 ... classes - 1 gives `off` alone. To another kind, with its default dtype:
  /// `labels.one_hot_fill<Float>(10, 0.91, 0.01)`. Throws ArgumentError unless classes >= 1.
  template <class To = Int>
  auto one_hot_fill(std::int64_t classes, detail::Literal on, detail::Literal off, int axis = -1) const
      requires(std::is_same_v<Kind, Int>&& D < max_rank) {
    const auto type = std::is_same_v<To, Int> ? dtype() : detail::KindTraits<To>::dtype;
    return Tensor<D + 1, To>(detail::one_hot(value_, classes, on, off, axis, type));
  }

  // ---- statistics

  Tensor softmax(int axis) const requires(is_float_kind&& D >= 1) {
    return Tensor(detail::softmax(value_, axis, false));
  }
  Tensor log_softmax(int axis) const requires(is_float_kind&& D >= 1) {
    return Tensor(detail::softmax(value_, axis, true));
  }
  auto logsumexp(int axis) const requires(is_float_kind&& D >= 1) {
    return Tensor<reduced_rank, Kind>(detail::log_sum_exp(value_, axis));
  }
  /// Sum of squared deviations over (count - correction).
  auto var(int axis, std::int64_t correction = 1) const requires(is_float_kind&& D >= 1) {
    return Tensor<reduced_rank, Kind>(detail::variance(value_, axis, correction));
  }
  auto std(int axis, std::int64_t correction = 1) const requires(is_float_kind&& D >= 1) {
    return var(axis, correction).sqrt();
  }
  /// The p-norm of the vectors along an axis; p may be 0 (non-zero entries) or infinite (extrema).
  auto norm(double p, int axis) const requires(is_float_kind&& D >= 1) {
    return Tensor<reduced_rank, Kind>(detail::vector_norm(value_, p, axis));
  }
  Tensor<D, Bool> is_nan() const requires is_float_kind {
    return Tensor<D, Bool>(detail::compare(op::CompareKind::not_equal, value_, value_));
  }
  Tensor<D, Bool> is_inf() const requires is_float_kind {
    return abs().equal(std::numeric_limits<double>::infinity());
  }
  Tensor<D, Bool> is_finite() const requires is_float_kind {
    return Tensor<D, Bool>(detail::is_finite(value_));
  }
  /// Numbers in place of NaN and of the infinities.
  Tensor nan_to_num(double nan, double infinity, double minus_infinity) const requires is_float_kind {
    return Tensor(detail::nan_to_num(value_, nan, infinity, minus_infinity));
  }
  /// Sums and means that pass NaN over.
  auto nansum(int axis) const requires(is_float_kind&& D >= 1) { return mask_fill(is_nan(), 0).sum(axis); }
  auto nanmean(int axis) const requires(is_float_kind&& D >= 1) {
    return nansum(axis) / (!is_nan()).to_float(dtype()).sum(axis);
  }
  /// |this - other| <= atol + rtol |other| for all elements. Waits.
  bool all_close(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const {
    return detail::all_close(value_, other.value(), rtol, atol, equal_nan);
  }

  // ---- gradients; on a device made with `autodiff()`, UserError elsewhere

  /// This tensor as a leaf whose gradient `backward` computes.
  [[nodiscard]] Tensor require_grad() const requires is_float_kind {
    return Tensor(detail::require_grad(value_));
  }
  /// Makes every later `backward` keep this tensor's gradient, though it is no leaf.
  void retain_grad() const requires is_float_kind { detail::retain_grad(value_); }
  bool is_tracked() const { return detail::is_tracked(value_); }
  /// The same elements, cut off from the graph.
  Tensor detach() const { return Tensor(detail::detach(value_)); }
  /// The tensor on the device under one `autodiff()`.
  Tensor inner() const { return Tensor(detail::inner(value_)); }
  /// Gradients of the sum of this tensor's elements.
  Gradients backward() const requires is_float_kind;
  /// The gradient of this leaf, or of a tensor that retains its own, on `device().inner()`. Throws
  /// ArgumentError when there is none.
  Tensor grad(const Gradients& gradients) const requires is_float_kind;

  /// For code that extends strata; `explicit` so that rank and kind are checked where it is used.
  explicit Tensor(detail::ValueRef value) : value_(std::move(value)) {
    detail::require(value_, D, Traits::tag);
  }
  const detail::ValueRef& value() const { return value_; }

 private:
  auto extremum(op::ExtremumKind kind, int axis) const;
  Tensor running(op::CumulativeKind kind, int axis) const {
    return Tensor(detail::cumulative(kind, value_, axis));
  }
  Tensor unary(op::UnaryKind kind) const { return Tensor(detail::unary(kind, value_)); }
  Tensor reversed(op::BinaryKind kind, detail::Literal a) const {
    return Tensor(detail::binary(kind, a, value_));
  }

  detail::ValueRef value_;
};

/// Elements and where they came from along an axis.
template <int D, class Kind>
struct WithIndices {
  Tensor<D, Kind> values;
  Tensor<D, Int> indices;
};

/// The result of `backward()`.
class Gradients {
 public:
  explicit Gradients(std::shared_ptr<const autodiff::Gradients> impl) : impl_(std::move(impl)) {}
  const autodiff::Gradients& impl() const { return *impl_; }

 private:
  std::shared_ptr<const autodiff::Gradients> impl_;
};

template <int D, class Kind>
std::ostream& operator<<(std::ostream& out, const Tensor<D, Kind>& t) {
  return out << t.to_string();
}

}  // namespace strata::inline v0

#include "strata/detail/tensor_members.hpp"
