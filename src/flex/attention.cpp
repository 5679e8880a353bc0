#include "flex/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "flex/attention_kernels.hpp"
#include "flex/elementwise.hpp"
#include "flex/gemm_kernels.hpp"
#include "flex/matmul_onednn.hpp"
#include "flex/parallel.hpp"

namespace strata::flex {
namespace {

// Tiles whose scores, keys and values stay in the second-level cache.
constexpr std::int64_t forward_queries = 128, forward_keys = 512;
constexpr std::int64_t gradient_queries = 64, gradient_keys = 256;
/// Up to here a matrix product costs more to set up than to compute row by row.
constexpr std::int64_t few_rows = 4;

std::int64_t blocks_of(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }

/// [batch, heads, rows, columns] with dense rows.
template <class T>
struct Matrices {
  FlexRef held;
  T* data = nullptr;
  std::int64_t batch_stride = 0, head_stride = 0, row_stride = 0;

  explicit Matrices(FlexRef x) : held(std::move(x)) {
    const auto& s = held->strides();
    data = held->as<T>();
    batch_stride = s[0];
    head_stride = s[1];
    row_stride = held->shape[2] == 1 ? held->shape[3] : s[2];
  }
  /// Null where there are no elements.
  T* at(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return data ? data + batch * batch_stride + head * head_stride + row * row_stride : nullptr;
  }
};

/// An operand in T with dense rows: itself, or a copy.
template <class T>
Matrices<T> matrices(const backend::ValueRef& v, DType dtype) {
  auto x = cast_to(flex(v), dtype);
  const auto& s = x->strides();
  const bool dense = (s[3] == 1 || x->shape[3] == 1) && (s[2] >= x->shape[3] || x->shape[2] == 1);
  return Matrices<T>(dense ? std::move(x) : contiguous(*x, "attention"));
}

/// What may be looked at, and what is added to the scores, in the shape of the scores; strides of 0 repeat.
template <class T>
struct Mask {
  FlexRef held;
  const std::uint8_t* allowed = nullptr;
  const T* bias = nullptr;
  Strides strides{0, 0, 0, 0};

  Mask(const FlexValue* given, DType dtype, const Shape& scores) {
    if (!given) return;
    const auto own =
        given->dtype == DType::boolean ? FlexRef(const_cast<FlexValue*>(given)) : cast_to(*given, dtype);
    held = FlexValue::view_of(*own, op::expanded(own->view(), {scores}));
    strides = held->strides();
    if (given->dtype == DType::boolean) {
      allowed = held->as<std::uint8_t>();
    } else {
      bias = held->as<T>();
    }
  }
  void apply(const AttentionKernels<T>& kernels, std::int64_t batch, std::int64_t head, std::int64_t query,
             std::int64_t key, T* row, std::int64_t n) const {
    if (!held) return;
    const auto first = batch * strides[0] + head * strides[1] + query * strides[2] + key * strides[3];
    if (allowed) kernels.hide(row, allowed + first, strides[3], static_cast<std::size_t>(n));
    if (bias) kernels.shift(row, bias + first, strides[3], static_cast<std::size_t>(n));
  }
};

struct Sizes {
  std::int64_t batch, heads, groups, m, n, d, e;
  bool causal;

  Sizes(const FlexValue& q, const FlexValue& k, const FlexValue& v, bool is_causal)
      : batch(q.shape[0]),
        heads(q.shape[1]),
        groups(k.shape[1]),
        m(q.shape[2]),
        n(k.shape[2]),
        d(q.shape[3]),
        e(v.shape[3]),
        causal(is_causal) {}
  std::int64_t per_group() const { return heads / groups; }
  /// How many keys query i may look at.
  std::int64_t visible(std::int64_t i) const {
    return causal ? std::clamp<std::int64_t>(i + 1 + n - m, 0, n) : n;
  }
  /// Work as `parallel` counts it: a thread pays from about 10^5 multiplications.
  std::int64_t work() const { return batch * heads * m * n * (d + e) * 4; }
};

/// Scratch of one thread: `count` elements, uninitialised.
template <class T>
class Scratch {
 public:
  Scratch(backend::Backend& home, std::int64_t count)
      : block_(FlexValue::make(home, {dtype_of<T>(), {count}}, "attention")), next_(block_->as<T>()) {}
  T* take(std::int64_t count) { return std::exchange(next_, next_ + count); }

 private:
  FlexRef block_;
  T* next_;
};

template <class T>
std::int64_t packing(std::int64_t inner, std::int64_t columns) {
  if constexpr (std::is_same_v<T, double>) {
    return packed_size<double>(inner, columns);
  } else {
    return 0;
  }
}

/// out = a x b, dense; `packed` holds packing<T>(b.rows, b.columns) elements.
template <class T>
void product(const StridedMatrix<T>& a, const StridedMatrix<T>& b, T* out, [[maybe_unused]] T* packed) {
  if (a.rows == 0 || b.columns == 0) return;
  if (b.rows == 0) {
    std::fill(out, out + a.rows * b.columns, T{0});
  } else if constexpr (std::is_same_v<T, float>) {
    const auto batch = [](const StridedMatrix<float>& x) {
      return MatrixBatch{
          reinterpret_cast<const std::byte*>(x.data), x.rows, x.columns, x.row_stride, x.column_stride, 0};
    };
    onednn_matmul(DType::f32, 1, batch(a), batch(b), reinterpret_cast<std::byte*>(out));
  } else {
    gemm<T>(a, b, out, packed);
  }
}

/// Scores of a few queries (rows of d elements) against keys.
template <class T>
void scores_of(const T* q, std::int64_t rows, const T* k, std::int64_t k_stride, std::int64_t keys,
               std::int64_t d, T* out, T* packed) {
  if (rows > few_rows) return product<T>({q, rows, d, d, 1}, {k, d, keys, 1, k_stride}, out, packed);
  for (std::int64_t i = 0; i < rows; ++i) {
    attention_kernels<T>().dots(q + i * d, k, k_stride, static_cast<std::size_t>(keys),
                                static_cast<std::size_t>(d), out + i * keys);
  }
}

// ---- forward

template <class T>
struct Forward {
  Sizes size;
  T factor;
  Matrices<T> q, k, v, out;
  Mask<T> mask;
  T* log_sum;

  std::int64_t queries() const { return std::min(forward_queries, size.m); }
  std::int64_t keys() const { return std::min(forward_keys, size.n); }

  /// Tiles of one head, the first and the last in turn, so that causal ones of equal work lie together.
  std::int64_t tile_of(std::int64_t unit, std::int64_t tiles) const {
    return unit % 2 ? tiles - 1 - unit / 2 : unit / 2;
  }

  void run(backend::Backend& home) const {
    const auto tiles = blocks_of(size.m, queries());
    parallel_or_throw(
        size.batch * size.heads * tiles, 1, size.work(), [&](std::int64_t begin, std::int64_t end) {
          const auto packed = std::max(packing<T>(size.d, keys()), packing<T>(keys(), size.e));
          const auto rows = queries();
          Scratch<T> scratch(home, rows * (size.d + keys() + 2 * size.e + 2) + packed);
          const Tile tile{scratch.take(rows * size.d), scratch.take(rows * keys()),
                          scratch.take(rows * size.e), scratch.take(rows * size.e),
                          scratch.take(rows),          scratch.take(rows),
                          scratch.take(packed)};
          for (auto unit = begin; unit < end; ++unit) {
            const auto head = unit / tiles;
            look(head / size.heads, head % size.heads, tile_of(unit % tiles, tiles) * rows, tile);
          }
        });
  }

 private:
  struct Tile {
    T *queries, *scores, *sums, *added, *top, *factors, *packed;
  };

  /// Queries from `first` on of one head.
  void look(std::int64_t batch, std::int64_t head, std::int64_t first, const Tile& t) const {
    const auto& kernels = attention_kernels<T>();
    const auto group = head / size.per_group(), rows = std::min(queries(), size.m - first);
    const auto width = static_cast<std::size_t>(size.e);
    double sums[forward_queries];
    for (std::int64_t i = 0; i < rows; ++i) {
      kernels.scale(q.at(batch, head, first + i), factor, t.queries + i * size.d,
                    static_cast<std::size_t>(size.d));
      t.top[i] = -std::numeric_limits<T>::infinity();
      sums[i] = 0;
    }
    const auto seen = size.visible(first + rows - 1);
    for (std::int64_t key = 0; key < seen; key += keys()) {
      const auto count = std::min(keys(), size.n - key);
      scores_of(t.queries, rows, k.at(batch, group, key), k.row_stride, count, size.d, t.scores, t.packed);
      for (std::int64_t i = 0; i < rows; ++i) {
        T* row = t.scores + i * count;
        const auto open = std::clamp<std::int64_t>(size.visible(first + i) - key, 0, count);
        mask.apply(kernels, batch, head, first + i, key, row, open);
        t.factors[i] = kernels.step(row, static_cast<std::size_t>(open), t.top + i, sums + i);
        std::fill(row + open, row + count, T{0});
      }
      T* target = key == 0 ? t.sums : t.added;
      const T* values = v.at(batch, group, key);
      if (rows > few_rows) {
        product<T>({t.scores, rows, count, count, 1}, {values, count, size.e, v.row_stride, 1}, target,
                   t.packed);
      } else {
        for (std::int64_t i = 0; i < rows; ++i) {
          kernels.mix(t.scores + i * count, values, v.row_stride, static_cast<std::size_t>(count), width,
                      target + i * size.e);
        }
      }
      for (std::int64_t i = 0; key > 0 && i < rows; ++i)
        kernels.accumulate(t.sums + i * size.e, t.factors[i], t.added + i * size.e, width);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      T* result = out.at(batch, head, first + i);
      auto& logarithm = log_sum[(batch * size.heads + head) * size.m + first + i];
      logarithm = static_cast<T>(static_cast<double>(t.top[i]) + std::log(sums[i]));
      if (sums[i] == 0) {
        logarithm = -std::numeric_limits<T>::infinity();
        std::fill(result, result + size.e, T{0});
      } else {
        kernels.scale(t.sums + i * size.e, static_cast<T>(1 / sums[i]), result, width);
      }
    }
  }
};

const FlexValue* mask_of(backend::Inputs inputs, std::size_t operands) {
  return operands > 3 ? &flex(inputs[3]) : nullptr;
}
Shape scores_shape(const Sizes& s) { return {s.batch, s.heads, s.m, s.n}; }

template <class T>
backend::Values forward(const op::Attention& op, backend::Inputs inputs, const op::TensorTypes& types) {
  constexpr auto dtype = dtype_of<T>();
  const Sizes size(flex(inputs[0]), flex(inputs[1]), flex(inputs[2]), op.causal);
  auto& home = flex(inputs[0]).backend;
  auto out = FlexValue::make(home, {dtype, types[0].shape}, "attention");
  auto log_sum = FlexValue::make(home, types[1], "attention");
  if (log_sum->size() > 0) {
    Forward<T>{size,
               static_cast<T>(op.scale),
               matrices<T>(inputs[0], dtype),
               matrices<T>(inputs[1], dtype),
               matrices<T>(inputs[2], dtype),
               Matrices<T>(out),
               Mask<T>(mask_of(inputs, inputs.size()), dtype, scores_shape(size)),
               log_sum->as<T>()}
        .run(home);
  }
  backend::Values values(backend::ValueRef(cast_to(*out, types[0].dtype)));
  values.push_back(std::move(log_sum));
  return values;
}

// ---- gradients

template <class T>
struct Backward {
  Sizes size;
  T factor;
  Matrices<T> q, k, v, gradient;
  Mask<T> mask;
  const T *log_sum, *delta;
  T *dq, *dk, *dv;     ///< dense; dq once for each part
  std::int64_t parts;  ///< of the keys of a group, each with a dq of its own

  std::int64_t queries() const { return std::min(gradient_queries, size.m); }
  std::int64_t keys() const { return std::min(gradient_keys, size.n); }
  std::int64_t query_elements() const { return size.batch * size.heads * size.m * size.d; }

  void run(backend::Backend& home) const {
    const auto blocks = blocks_of(size.n, keys());
    parallel_or_throw(
        size.batch * size.groups * parts, 1, 3 * size.work(), [&](std::int64_t begin, std::int64_t end) {
          const auto wide = std::max(size.d, size.e), tallest = std::max(queries(), keys());
          const auto packed =
              std::max({packing<T>(wide, keys()), packing<T>(keys(), wide), packing<T>(queries(), wide)});
          Scratch<T> scratch(home, queries() * (size.d + 2 * keys()) + tallest * wide + packed);
          const Tile tile{scratch.take(queries() * size.d), scratch.take(queries() * keys()),
                          scratch.take(queries() * keys()), scratch.take(tallest * wide),
                          scratch.take(packed)};
          for (auto unit = begin; unit < end; ++unit) {
            const auto group = unit / parts, part = unit % parts;
            const auto batch = group / size.groups;
            clear_queries(part, batch, group % size.groups);
            for (auto block = blocks * part / parts; block < blocks * (part + 1) / parts; ++block)
              add_keys(part, batch, group % size.groups, block * keys(), tile);
          }
        });
    for (std::int64_t part = 1; part < parts; ++part) {
      parallel(query_elements(), 1024, 3 * query_elements() * static_cast<std::int64_t>(sizeof(T)),
               [&](std::int64_t begin, std::int64_t end) {
                 attention_kernels<T>().accumulate(dq + begin, T{1}, dq + part * query_elements() + begin,
                                                   static_cast<std::size_t>(end - begin));
               });
    }
  }

 private:
  struct Tile {
    T *queries, *scores, *products, *result, *packed;
  };

  T* query_gradient(std::int64_t part, std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return dq + part * query_elements() + ((batch * size.heads + head) * size.m + row) * size.d;
  }
  void clear_queries(std::int64_t part, std::int64_t batch, std::int64_t group) const {
    T* first = query_gradient(part, batch, group * size.per_group(), 0);
    std::fill(first, first + size.per_group() * size.m * size.d, T{0});
  }

  /// Everything that the keys from `key` on of a group take part in.
  void add_keys(std::int64_t part, std::int64_t batch, std::int64_t group, std::int64_t key,
                const Tile& t) const {
    const auto count = std::min(keys(), size.n - key);
    const auto row = (batch * size.groups + group) * size.n + key;
    std::fill(dk + row * size.d, dk + (row + count) * size.d, T{0});
    std::fill(dv + row * size.e, dv + (row + count) * size.e, T{0});
    for (auto head = group * size.per_group(); head < (group + 1) * size.per_group(); ++head) {
      for (std::int64_t first = 0; first < size.m; first += queries()) {
        const auto rows = std::min(queries(), size.m - first);
        if (size.visible(first + rows - 1) <= key) continue;
        weigh(batch, head, first, rows, key, count, t);
        const auto add = [&](T* out, std::int64_t n) {
          attention_kernels<T>().accumulate(out, T{1}, t.result, static_cast<std::size_t>(n));
        };
        const StridedMatrix<T> weights{t.scores, count, rows, 1, count},
            slopes{t.products, count, rows, 1, count};
        product<T>(weights, {gradient.at(batch, head, first), rows, size.e, gradient.row_stride, 1}, t.result,
                   t.packed);
        add(dv + row * size.e, count * size.e);
        product<T>(slopes, {t.queries, rows, size.d, size.d, 1}, t.result, t.packed);
        add(dk + row * size.d, count * size.d);
        product<T>({t.products, rows, count, count, 1},
                   {k.at(batch, group, key), count, size.d, k.row_stride, 1}, t.result, t.packed);
        const auto n = static_cast<std::size_t>(rows * size.d);
        attention_kernels<T>().scale(t.result, factor, t.queries, n);
        attention_kernels<T>().accumulate(query_gradient(part, batch, head, first), T{1}, t.queries, n);
      }
    }
  }

  /// The weights of a tile, and the gradient of its scores.
  void weigh(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t rows, std::int64_t key,
             std::int64_t count, const Tile& t) const {
    const auto& kernels = attention_kernels<T>();
    const auto group = head / size.per_group();
    for (std::int64_t i = 0; i < rows; ++i) {
      kernels.scale(q.at(batch, head, first + i), factor, t.queries + i * size.d,
                    static_cast<std::size_t>(size.d));
    }
    product<T>({t.queries, rows, size.d, size.d, 1},
               {k.at(batch, group, key), size.d, count, 1, k.row_stride}, t.scores, t.packed);
    product<T>({gradient.at(batch, head, first), rows, size.e, gradient.row_stride, 1},
               {v.at(batch, group, key), size.e, count, 1, v.row_stride}, t.products, t.packed);
    for (std::int64_t i = 0; i < rows; ++i) {
      T *scores = t.scores + i * count, *products = t.products + i * count;
      const auto open = std::clamp<std::int64_t>(size.visible(first + i) - key, 0, count);
      mask.apply(kernels, batch, head, first + i, key, scores, open);
      const auto at = (batch * size.heads + head) * size.m + first + i;
      kernels.gradient(scores, products, static_cast<std::size_t>(open), log_sum[at], delta[at]);
      std::fill(scores + open, scores + count, T{0});
      std::fill(products + open, products + count, T{0});
    }
  }
};

template <class T>
backend::Values backward(const op::AttentionGradient& op, backend::Inputs inputs,
                         const op::TensorTypes& types) {
  constexpr auto dtype = dtype_of<T>();
  const auto operands = inputs.size() - 3;
  const Sizes size(flex(inputs[0]), flex(inputs[1]), flex(inputs[2]), op.causal);
  auto& home = flex(inputs[0]).backend;
  // Enough parts to keep a machine busy; as many on every machine, so that sums do not depend on it.
  constexpr std::int64_t busy = 16;
  const auto units = std::max<std::int64_t>(size.batch * size.groups, 1);
  const auto parts = std::clamp<std::int64_t>(blocks_of(size.n, gradient_keys), 1, blocks_of(busy, units));
  auto dq =
      FlexValue::make(home, {dtype, {parts, size.batch, size.heads, size.m, size.d}}, "attention_gradient");
  auto dk = FlexValue::make(home, {dtype, types[1].shape}, "attention_gradient");
  auto dv = FlexValue::make(home, {dtype, types[2].shape}, "attention_gradient");
  const auto log_sum = contiguous(flex(inputs[operands]), "attention_gradient");
  const auto delta = contiguous(flex(inputs[operands + 2]), "attention_gradient");
  const auto zero = [](const FlexRef& x) { std::fill_n(x->as<T>(), x->size(), T{0}); };
  if (size.m == 0 || size.n == 0) {  // nobody looks at anything
    for (const auto& x : {dq, dk, dv}) zero(x);
  } else if (size.batch * size.heads > 0) {
    Backward<T>{size,
                static_cast<T>(op.scale),
                matrices<T>(inputs[0], dtype),
                matrices<T>(inputs[1], dtype),
                matrices<T>(inputs[2], dtype),
                matrices<T>(inputs[operands + 1], dtype),
                Mask<T>(mask_of(inputs, operands), dtype, scores_shape(size)),
                log_sum->as<T>(),
                delta->as<T>(),
                dq->template as<T>(),
                dk->template as<T>(),
                dv->template as<T>(),
                parts}
        .run(home);
  } else {  // groups of keys that no head uses
    for (const auto& x : {dk, dv}) zero(x);
  }
  const auto first = FlexValue::view_of(*dq, {types[0].shape, op::contiguous_strides(types[0].shape), 0});
  backend::Values values(backend::ValueRef(cast_to(*first, types[0].dtype)));
  values.push_back(cast_to(*dk, types[1].dtype));
  values.push_back(cast_to(*dv, types[2].dtype));
  return values;
}

}  // namespace

backend::Values run(const op::Attention& op, backend::Inputs inputs, const op::TensorTypes& types) {
  return types[0].dtype == DType::f64 ? forward<double>(op, inputs, types)
                                      : forward<float>(op, inputs, types);
}

backend::Values run(const op::AttentionGradient& op, backend::Inputs inputs, const op::TensorTypes& types) {
  return types[0].dtype == DType::f64 ? backward<double>(op, inputs, types)
                                      : backward<float>(op, inputs, types);
}

}  // namespace strata::flex
