#include "flex/index.hpp"

#include <cstring>

#include "base/convert.hpp"
#include "flex/copy.hpp"
#include "flex/elementwise.hpp"
#include "flex/index_check.hpp"
#include "flex/moving_kernels.hpp"
#include "flex/nest.hpp"
#include "flex/parallel.hpp"
#include "flex/reader.hpp"

namespace strata::flex {
namespace {

/// How the elements of an index lie around `axis`: outer x entries x inner, row-major.
struct Layout {
  std::int64_t outer = 1, entries = 1, inner = 1;
  Layout(const Shape& shape, int axis) : entries(shape[axis]) {
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  }
};

/// Indices as i64, dense. One that is the same on every axis but `axis` stays one row: `shared`.
struct Index {
  bool shared = true;
  FlexRef dense;

  Index(const FlexValue& index, int axis, std::string_view op) {
    for (int i = 0; i < index.shape.rank(); ++i) {
      shared = shared && (i == axis || index.shape[i] == 1 || index.strides()[i] == 0);
    }
    FlexRef source(const_cast<FlexValue*>(&index));
    if (shared) source = FlexValue::view_of(index, {{index.shape[axis]}, {index.strides()[axis]}, 0});
    if (index.dtype == DType::i64) {
      dense = contiguous(*source, op);
    } else {
      const backend::ValueRef input(source);
      dense = run(op::Cast{DType::i64}, {&input, 1}, {DType::i64, source->shape});
    }
  }
  const std::int64_t* data() const { return dense->as<std::int64_t>(); }
};

/// Copies whole inner blocks by a shared index. Bytes, so one loop serves all dtypes.
void gather_blocks(const FlexValue& x, const Index& index, const Layout& to, std::int64_t extent,
                   FlexValue& out, IndexCheck& check) {
  const auto bytes = to.inner * static_cast<std::int64_t>(size_of(x.dtype));
  const auto* indices = index.data();
  parallel(to.outer * to.entries, std::max<std::int64_t>(4096 / std::max<std::int64_t>(bytes, 1), 1),
           2 * to.outer * to.entries * bytes, [&](std::int64_t begin, std::int64_t end) {
             for (auto i = begin; i < end; ++i) {
               const auto outer = i / to.entries, at = indices[i % to.entries];
               if (!check.good(at, i % to.entries)) continue;
               std::memcpy(out.data() + i * bytes, x.data() + (outer * extent + at) * bytes,
                           static_cast<std::size_t>(bytes));
             }
           });
}

/// out[k] = row[at[k]]; false when an index is out of range, and then not all is written.
template <class S>
bool gather_row(const S* row, std::int64_t extent, const std::int64_t* at, std::int64_t n, S* out) {
  for (std::int64_t first = 0; first < n; first += block) {
    const auto last = std::min(first + block, n);
    if (!all_below(at + first, static_cast<std::size_t>(last - first), extent)) return false;
    for (auto k = first; k < last; ++k) out[k] = row[at[k]];
  }
  return true;
}

/// Element by element; `x` and the index are dense.
template <class S>
void gather_elements(const S* x, const std::int64_t* indices, bool shared, const Layout& to,
                     std::int64_t extent, S* out, IndexCheck& check) {
  parallel(to.outer * to.entries, std::max<std::int64_t>(block / to.inner, 1),
           to.outer * to.entries * to.inner * static_cast<std::int64_t>(2 * sizeof(S) + 8),
           [&](std::int64_t begin, std::int64_t end) {
             for (auto i = begin; i < end;) {  // one row of x, as many entries as lie in it, at a time
               const auto outer = i / to.entries, entry = i % to.entries;
               const auto entries = std::min(to.entries - entry, end - i), n = entries * to.inner;
               const auto* row = x + outer * extent * to.inner;
               const auto first = shared ? entry : i * to.inner;
               const auto* at = indices + first;
               S* result = out + i * to.inner;
               const bool done = to.inner == 1 && gather_row(row, extent, at, n, result);
               for (std::int64_t k = 0; !done && k < n; ++k) {
                 const auto position = shared ? k / to.inner : k;
                 if (check.good(at[position], first + position)) {
                   result[k] = row[at[position] * to.inner + k % to.inner];
                 }
               }
               i += entries;
             }
           });
}

template <class T>
T combined(op::ScatterMode mode, T old, T value) {
  using op::ScatterMode;
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;  // wraps
  switch (mode) {
    case ScatterMode::assign:
      break;
    case ScatterMode::add:
      return static_cast<T>(static_cast<Sum>(old) + static_cast<Sum>(value));
    case ScatterMode::mul:
      return static_cast<T>(static_cast<Sum>(old) * static_cast<Sum>(value));
    case ScatterMode::max:
      return value > old || value != value ? value : old;
    case ScatterMode::min:
      return value < old || value != value ? value : old;
  }
  return value;
}

/// Entries of one line along the axis take effect in order; different lines share nothing, so they may run
/// side by side. A strip of neighbouring lines is walked together.
template <class T, class Combine>
void scatter_elements(T* out, std::int64_t extent, const std::int64_t* indices, bool shared, const T* source,
                      const Layout& from, IndexCheck& check, Combine combine) {
  const auto strip = std::clamp<std::int64_t>(from.inner, 1, 64), strips = (from.inner + strip - 1) / strip;
  const auto bytes = from.outer * from.entries * from.inner * static_cast<std::int64_t>(3 * sizeof(T) + 8);
  parallel(from.outer * strips, 1, bytes, [&](std::int64_t begin, std::int64_t end) {
    for (auto unit = begin; unit < end; ++unit) {
      const auto outer = unit / strips, first = unit % strips * strip,
                 last = std::min(first + strip, from.inner);
      T* line = out + outer * extent * from.inner;
      const T* values = source + outer * from.entries * from.inner;
      const auto offset = shared ? 0 : outer * from.entries * from.inner;
      const auto* at = indices + offset;
      if (from.inner == 1 && all_below(at, static_cast<std::size_t>(from.entries), extent)) {
        for (std::int64_t j = 0; j < from.entries; ++j) line[at[j]] = combine(line[at[j]], values[j]);
        continue;
      }
      for (std::int64_t j = 0; j < from.entries; ++j) {
        for (auto k = first; k < last; ++k) {
          const auto position = shared ? j : j * from.inner + k;
          if (!check.good(at[position], offset + position)) continue;
          T& target = line[at[position] * from.inner + k];
          target = combine(target, values[j * from.inner + k]);
        }
      }
    }
  });
}

/// `f` gets the function that a mode combines two elements with.
template <class T, class F>
void with_combine(op::ScatterMode mode, F&& f) {
  using op::ScatterMode;
  switch (mode) {
    case ScatterMode::assign:
      return f([](T, T value) { return value; });
    case ScatterMode::add:
      return f([](T old, T value) { return combined(ScatterMode::add, old, value); });
    case ScatterMode::mul:
      return f([](T old, T value) { return combined(ScatterMode::mul, old, value); });
    case ScatterMode::max:
      return f([](T old, T value) { return combined(ScatterMode::max, old, value); });
    case ScatterMode::min:
      return f([](T old, T value) { return combined(ScatterMode::min, old, value); });
  }
}

/// A dense copy that may be written.
FlexRef copy_of(const FlexValue& x, std::string_view op) {
  auto out = FlexValue::make(x.backend, x.type(), op);
  if (out->size() > 0) copy_elements(x, out->data(), out->strides());
  return out;
}

}  // namespace

FlexRef run(const op::Gather& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  const auto& given = flex(inputs[1]);
  auto out = FlexValue::make(x.backend, type, "gather");
  if (out->size() == 0) return out;
  const Index index(given, op.axis, "gather");
  const auto dense = contiguous(x, "gather");
  const Layout to(type.shape, op.axis);
  const auto extent = x.shape[op.axis];
  IndexCheck check(extent);
  if (index.shared && to.inner > 1) {
    gather_blocks(*dense, index, to, extent, *out, check);
  } else {
    visit_dtype(x.dtype, [&]<class S>() {
      gather_elements(dense->as<S>(), index.data(), index.shared, to, extent, out->as<S>(), check);
    });
  }
  check.throw_if_bad("gather", x, given, op.axis, [&](std::int64_t i) { return index.data()[i]; });
  return out;
}

FlexRef run(const op::Scatter& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  const auto& given = flex(inputs[1]);
  const auto& source = flex(inputs[2]);
  if (type.dtype == DType::f16 || type.dtype == DType::bf16) {  // in f32, so that a sum rounds once
    const backend::ValueRef wide[] = {cast_to(x, DType::f32), inputs[1], cast_to(source, DType::f32)};
    return cast_to(*run(op, wide, {DType::f32, type.shape}), type.dtype);
  }
  auto out = copy_of(x, "scatter");
  if (source.size() == 0) return out;
  const Index index(given, op.axis, "scatter");
  const auto dense = contiguous(source, "scatter");
  IndexCheck check(x.shape[op.axis]);
  visit_dtype(type.dtype, [&]<class S>() {
    using Stored = std::conditional_t<std::is_same_v<S, bool>, std::uint8_t, S>;
    if constexpr (!is_half<S>) {
      with_combine<Stored>(op.mode, [&](auto combine) {
        scatter_elements(out->as<Stored>(), x.shape[op.axis], index.data(), index.shared, dense->as<Stored>(),
                         Layout(given.shape, op.axis), check, combine);
      });
    }
  });
  check.throw_if_bad("scatter", x, given, op.axis, [&](std::int64_t i) { return index.data()[i]; });
  return out;
}

FlexRef run(const op::SliceAssign& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& source = flex(inputs[1]);
  auto out = copy_of(flex(inputs[0]), "slice_assign");
  if (source.size() == 0) return out;
  const auto place = op::sliced(out->view(), {op.start, op.stop, op.step});
  copy_elements(source, out->data() + place.offset * static_cast<std::int64_t>(size_of(type.dtype)),
                place.strides);
  return out;
}

}  // namespace strata::flex
