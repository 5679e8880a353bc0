#include "flex/matmul.hpp"

#include <cstring>

#include "flex/elementwise.hpp"
#include "flex/gemm_kernels.hpp"
#include "flex/kernels.hpp"
#include "flex/matmul_onednn.hpp"
#include "flex/nest.hpp"

namespace strata::flex {
namespace {

/// Both operands seen in the result's batch.
struct Problem {
  std::int64_t m, n, k;
  Shape batch;
  Strides a_batch, b_batch;
  std::int64_t a_row, a_column, b_row, b_column;
  std::int64_t products() const { return batch.product(); }
};

Strides batch_strides(const FlexValue& v, const Shape& batch) {
  const int own = v.shape.rank() - 2, lead = batch.rank() - own;
  Strides strides = Strides::filled(batch.rank(), 0);
  for (int i = 0; i < own; ++i) strides[lead + i] = v.shape[i] == 1 ? 0 : v.strides()[i];
  return strides;
}

Problem describe(const FlexValue& a, const FlexValue& b, const Shape& result) {
  const int ra = a.shape.rank(), rb = b.shape.rank(), rank = result.rank();
  Problem p{};
  p.m = result[rank - 2];
  p.n = result[rank - 1];
  p.k = a.shape[ra - 1];
  for (int i = 0; i < rank - 2; ++i) p.batch.push_back(result[i]);
  p.a_batch = batch_strides(a, p.batch);
  p.b_batch = batch_strides(b, p.batch);
  p.a_row = a.strides()[ra - 2];
  p.a_column = a.strides()[ra - 1];
  p.b_row = b.strides()[rb - 2];
  p.b_column = b.strides()[rb - 1];
  return p;
}

/// Calls f(offset in a, offset in b, index of the product) for each product of the batch.
template <class F>
void for_each_product(const Problem& p, F&& f) {
  const Nest na = [&] {
    Nest n;
    for (int i = 0; i < p.batch.rank(); ++i) {
      n.extent[n.rank] = p.batch[i];
      n.stride[n.rank++] = p.a_batch[i];
    }
    return n;
  }();
  Nest nb = na;
  for (int i = 0; i < nb.rank; ++i) nb.stride[i] = p.b_batch[i];
  Cursor a(na, 0), b(nb, 0);
  const auto count = p.products();
  for (std::int64_t i = 0; i < count; ++i) {
    f(a.offset(), b.offset(), i);
    a.advance(1);
    b.advance(1);
  }
}

// ---- tiny products

template <class T>
using Accumulator =
    std::conditional_t<is_half<T>, float, std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>>;

template <class T>
void multiply_directly(const Problem& p, const T* a, const T* b, T* out) {
  using Sum = Accumulator<T>;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      Sum sum{};
      const T *x = a + i * p.a_row, *y = b + j * p.b_column;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += static_cast<Sum>(x[k * p.a_column]) * static_cast<Sum>(y[k * p.b_row]);
      }
      *out++ = static_cast<T>(sum);
    }
  }
}

void tiny(const Problem& p, const FlexValue& a, const FlexValue& b, FlexValue& out) {
  visit_dtype(out.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      if (p.batch.empty()) return multiply_directly(p, a.as<T>(), b.as<T>(), out.as<T>());
      for_each_product(p, [&](std::int64_t x, std::int64_t y, std::int64_t i) {
        multiply_directly(p, a.as<T>() + x, b.as<T>() + y, out.as<T>() + i * p.m * p.n);
      });
    }
  });
}

// ---- f32 and bf16

/// oneDNN takes matrices that are dense along one axis; the stride along an extent of 1 means nothing.
bool dense(std::int64_t rows, std::int64_t columns, std::int64_t& row_stride, std::int64_t& column_stride) {
  if (rows == 1) row_stride = column_stride == 1 || columns == 1 ? columns : std::int64_t{1};
  if (columns == 1) column_stride = row_stride == 1 ? rows : std::int64_t{1};
  return (column_stride == 1 && row_stride >= columns) || (row_stride == 1 && column_stride >= rows);
}

bool usable(const FlexValue& v) {
  const int rank = v.shape.rank();
  auto row = v.strides()[rank - 2], column = v.strides()[rank - 1];
  bool forward = true;
  for (int i = 0; i < rank - 2; ++i) forward = forward && (v.shape[i] == 1 || v.strides()[i] >= 0);
  return forward && dense(v.shape[rank - 2], v.shape[rank - 1], row, column);
}

/// True, with the batch folded into the rows of a, when all products share b and a's rows follow each other.
bool fold(Problem& p) {
  if (p.batch.empty()) return true;
  for (auto stride : p.b_batch) {
    if (stride != 0) return false;
  }
  Shape shape = p.batch;
  Strides strides = p.a_batch;
  shape.push_back(p.m);
  strides.push_back(p.a_row);
  const auto rows = collapse(shape, strides);
  auto row = rows.rank ? rows.stride[0] : p.a_row, column = p.a_column;
  if (rows.rank > 1 || !dense(p.m * p.products(), p.k, row, column)) return false;
  p.m *= p.products();
  p.a_row = row;
  p.a_column = column;
  p.batch = {};
  return true;
}

/// Matrices `step` apart share no memory, or are all the same one: oneDNN describes nothing else.
bool apart(std::int64_t step, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
           std::int64_t column_stride) {
  return step == 0 || step >= std::max(rows * row_stride, columns * column_stride);
}

bool through_onednn(Problem p, const FlexValue& a, const FlexValue& b, FlexValue& out) {
  std::int64_t inner = 1, a_step = 0, b_step = 0;
  const int last = fold(p) ? -1 : p.batch.rank() - 1;
  dense(p.m, p.k, p.a_row, p.a_column);
  dense(p.k, p.n, p.b_row, p.b_column);
  if (last >= 0 && (p.a_batch[last] != 0 || p.b_batch[last] != 0) &&
      apart(p.a_batch[last], p.m, p.k, p.a_row, p.a_column) &&
      apart(p.b_batch[last], p.k, p.n, p.b_row, p.b_column)) {
    // This axis goes into the primitive, others loop.
    inner = p.batch[last];
    a_step = p.a_batch[last];
    b_step = p.b_batch[last];
    p.batch = Shape(std::span(p.batch.begin(), static_cast<std::size_t>(last)));
  }
  const auto bytes = static_cast<std::int64_t>(size_of(out.dtype));
  bool done = true;
  for_each_product(p, [&](std::int64_t x, std::int64_t y, std::int64_t i) {
    const MatrixBatch left{a.data() + x * bytes, p.m, p.k, p.a_row, p.a_column, a_step};
    const MatrixBatch right{b.data() + y * bytes, p.k, p.n, p.b_row, p.b_column, b_step};
    done = done && onednn_matmul(out.dtype, inner, left, right, out.data() + i * inner * p.m * p.n * bytes);
  });
  return done;
}

// ---- the other dtypes

template <class T>
void through_gemm(const Problem& p, const FlexValue& a, const FlexValue& b, FlexValue& out) {
  const auto scratch = FlexValue::make(out.backend, {out.dtype, Shape{packed_size<T>(p.k, p.n)}}, "matmul");
  for_each_product(p, [&](std::int64_t x, std::int64_t y, std::int64_t i) {
    gemm<T>({a.as<T>() + x, p.m, p.k, p.a_row, p.a_column}, {b.as<T>() + y, p.k, p.n, p.b_row, p.b_column},
            out.as<T>() + i * p.m * p.n, scratch->as<T>());
  });
}

FlexRef multiply(const FlexValue& a, const FlexValue& b, const op::TensorType& type);

/// Halves through f32, u8 through i32: one conversion, hence one rounding, at the end.
FlexRef multiply_as(DType wide, const FlexValue& a, const FlexValue& b, const op::TensorType& type) {
  const auto product = multiply(*cast_to(a, wide), *cast_to(b, wide), {wide, type.shape});
  return cast_to(*product, type.dtype);
}

FlexRef multiply(const FlexValue& a, const FlexValue& b, const op::TensorType& type) {
  auto out = FlexValue::make(a.backend, type, "matmul");
  if (out->size() == 0) return out;
  const auto p = describe(a, b, type.shape);
  if (p.k == 0) {
    std::memset(out->data(), 0, static_cast<std::size_t>(out->size()) * size_of(type.dtype));
    return out;
  }
  constexpr std::int64_t tiny_product = 256;  // multiplications; from here on oneDNN's 0.3 us are cheaper
  if (p.m <= tiny_product && p.n <= tiny_product && p.k <= tiny_product && p.m * p.n * p.k <= tiny_product) {
    tiny(p, a, b, *out);
    return out;
  }
  switch (type.dtype) {
    case DType::f32:
    case DType::bf16: {
      if (!usable(a)) return multiply(*contiguous(a, "matmul"), b, type);
      if (!usable(b)) return multiply(a, *contiguous(b, "matmul"), type);
      if (through_onednn(p, a, b, *out)) return out;
      return multiply_as(DType::f32, a, b, type);
    }
    case DType::f16:
      return multiply_as(DType::f32, a, b, type);
    case DType::u8:
      return multiply_as(DType::i32, a, b, type);
    case DType::f64:
      through_gemm<double>(p, a, b, *out);
      break;
    case DType::i64:
      through_gemm<std::int64_t>(p, a, b, *out);
      break;
    default:
      through_gemm<std::int32_t>(p, a, b, *out);
  }
  return out;
}

}  // namespace

FlexRef run(const op::Matmul&, backend::Inputs inputs, const op::TensorType& type) {
  return multiply(flex(inputs[0]), flex(inputs[1]), type);
}

}  // namespace strata::flex
