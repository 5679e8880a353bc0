#include "flex/normalise.hpp"

#include <algorithm>

#include "flex/elementwise.hpp"
#include "flex/lines.hpp"
#include "flex/normalise_kernels.hpp"
#include "flex/parallel.hpp"
#include "flex/reader.hpp"

namespace strata::flex {
namespace {

bool is_half_type(DType t) { return t == DType::f16 || t == DType::bf16; }

/// f(row of x, row of out, n) for every row, on several threads.
template <class T, class F>
void for_each_row(const FlexValue& x, FlexValue& out, std::int64_t n, F&& f) {
  const auto grain = std::max<std::int64_t>(block / n, 1);
  const auto bytes = 2 * x.size() * static_cast<std::int64_t>(sizeof(T));
  parallel(x.size() / n, grain, bytes, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row) {
      f(x.as<T>() + row * n, out.as<T>() + row * n, static_cast<std::size_t>(n));
    }
  });
}

template <class T>
void softmax_rows(const FlexValue& x, bool log, FlexValue& out) {
  const auto& kernels = normalise_kernels<T>();
  for_each_row<T>(x, out, x.shape.back(), log ? kernels.log_softmax : kernels.softmax);
}

/// Matrices that a cache holds are normalised down their columns; turning larger ones first reads them once
/// instead of three times.
bool stays_in_cache(const FlexValue& x, int axis) {
  constexpr std::int64_t cached_bytes = 256 << 10, fewest_columns = 8;
  const auto columns = columns_of(x.shape, axis);
  return columns.count >= fewest_columns &&
         columns.length * columns.count * static_cast<std::int64_t>(size_of(x.dtype)) <= cached_bytes;
}

template <class T>
void softmax_columns(const FlexValue& x, int axis, bool log, FlexValue& out) {
  const auto& kernels = normalise_kernels<T>();
  const auto [matrices, n, columns] = columns_of(x.shape, axis);
  parallel(matrices, 1, 2 * x.size() * static_cast<std::int64_t>(sizeof(T)),
           [&, n = n, columns = columns](std::int64_t begin, std::int64_t end) {
             for (auto i = begin; i < end; ++i) {
               kernels.softmax_columns(x.as<T>() + i * n * columns, out.as<T>() + i * n * columns,
                                       static_cast<std::size_t>(n), static_cast<std::size_t>(columns), log);
             }
           });
}

template <class T>
void norm_rows(const op::Norm& op, const FlexValue& x, const T* weight, const T* bias, FlexValue& out) {
  const auto& kernels = normalise_kernels<T>();
  const auto row = op.kind == op::NormKind::layer ? kernels.layer_norm : kernels.rms_norm;
  for_each_row<T>(x, out, x.shape.back(),
                  [&](const T* in, T* result, std::size_t n) { row(in, weight, bias, result, n, op.eps); });
}

}  // namespace

FlexRef run(const op::Softmax& op, backend::Inputs inputs, const op::TensorType& type) {
  if (is_half_type(type.dtype)) {
    const backend::ValueRef wide = cast_to(flex(inputs[0]), DType::f32);
    return cast_to(*run(op, {&wide, 1}, {DType::f32, type.shape}), type.dtype);
  }
  if (stays_in_cache(flex(inputs[0]), op.axis)) {
    const auto x = contiguous(flex(inputs[0]), "softmax");
    auto out = FlexValue::make(x->backend, type, "softmax");
    if (out->size() > 0) {
      type.dtype == DType::f64 ? softmax_columns<double>(*x, op.axis, op.log, *out)
                               : softmax_columns<float>(*x, op.axis, op.log, *out);
    }
    return out;
  }
  const auto rows = rows_of(flex(inputs[0]), op.axis, "softmax");
  auto out = FlexValue::make(rows->backend, rows->type(), "softmax");
  if (out->size() > 0) {
    type.dtype == DType::f64 ? softmax_rows<double>(*rows, op.log, *out)
                             : softmax_rows<float>(*rows, op.log, *out);
  }
  return axis_back(out, op.axis);
}

FlexRef run(const op::Norm& op, backend::Inputs inputs, const op::TensorType& type) {
  if (is_half_type(type.dtype)) {
    std::vector<backend::ValueRef> wide;
    for (const auto& input : inputs) wide.push_back(cast_to(flex(input), DType::f32));
    return cast_to(*run(op, wide, {DType::f32, type.shape}), type.dtype);
  }
  const auto name = name_of(op.kind);
  const auto x = contiguous(flex(inputs[0]), name);
  const auto weight = inputs.size() > 1 ? contiguous(flex(inputs[1]), name) : FlexRef();
  const auto bias = inputs.size() > 2 ? contiguous(flex(inputs[2]), name) : FlexRef();
  auto out = FlexValue::make(x->backend, type, name);
  if (out->size() == 0) return out;
  const auto rows = [&]<class T>(T) {
    norm_rows<T>(op, *x, weight ? weight->as<T>() : nullptr, bias ? bias->as<T>() : nullptr, *out);
  };
  type.dtype == DType::f64 ? rows(double{}) : rows(float{});
  return out;
}

}  // namespace strata::flex
