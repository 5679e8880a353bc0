#include "flex/order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include <hwy/contrib/sort/vqsort.h>

#include "base/convert.hpp"
#include "flex/lines.hpp"
#include "flex/parallel.hpp"
#include "flex/reader.hpp"
#include "flex/reduce_kernels.hpp"

namespace strata::flex {
namespace {

template <class T>
bool is_nan(T x) {
  return x != x;
}

template <class S>
Compute<S> computed(S x) {
  if constexpr (is_half<S>) {
    return static_cast<float>(x);
  } else {
    return static_cast<Compute<S>>(x);
  }
}

/// The first index of the extremum of a row: block by block the extremum, then where in the block it stands.
template <class S>
std::int64_t arg_extremum(const S* x, std::int64_t n, const ReduceKernels<Compute<S>>& kernels,
                          bool largest) {
  using C = Compute<S>;
  union {
    alignas(64) C converted[is_half<S> ? block : 1];
  };
  C best{};
  std::int64_t at = -1;
  for (std::int64_t first = 0; first < n; first += block) {
    const auto count = std::min(block, n - first);
    const C* part;
    if constexpr (is_half<S>) {
      to_float(x + first, converted, static_cast<std::size_t>(count));
      part = converted;
    } else {
      part = reinterpret_cast<const C*>(x + first);
    }
    const C found = kernels.row(part, static_cast<std::size_t>(count));
    if (at >= 0 && !is_nan(found) && !(largest ? found > best : found < best)) continue;
    best = found;
    at = first +
         (std::find_if(part, part + count, [&](C v) { return v == found || (is_nan(v) && is_nan(found)); }) -
          part);
    if (is_nan(found)) return at;
  }
  return at;
}

template <class S>
void arg_reduce(const op::ArgReduce& op, const S* x, std::int64_t rows, std::int64_t n, std::int64_t* out) {
  const bool largest = op.kind == op::ExtremumKind::max;
  const auto kernels = reduce_kernels<Compute<S>>(largest ? op::ReduceKind::max : op::ReduceKind::min);
  parallel(rows, std::max<std::int64_t>(block / n, 1), rows * n * static_cast<std::int64_t>(sizeof(S)),
           [&](std::int64_t begin, std::int64_t end) {
             for (auto row = begin; row < end; ++row)
               out[row] = arg_extremum(x + row * n, n, kernels, largest);
           });
}

/// A total order: NaN above all numbers, equal elements by their index.
template <class S>
struct Before {
  const S* x;
  bool descending;
  bool operator()(std::int64_t i, std::int64_t j) const {
    const auto a = computed(x[i]), b = computed(x[j]);
    const bool less = a < b || (is_nan(b) && !is_nan(a)), greater = a > b || (is_nan(a) && !is_nan(b));
    if (less || greater) return descending ? greater : less;
    return i < j;
  }
};

/// The first `count` indices of a row in order. No memory besides the result's.
template <class S>
void argsort_row(const S* x, std::int64_t n, bool descending, std::int64_t* out, std::int64_t count) {
  const Before<S> before{x, descending};
  std::iota(out, out + count, std::int64_t{0});
  if (count == n) return std::sort(out, out + n, before);
  std::make_heap(out, out + count, before);  // its top is the worst of the best so far
  for (auto i = count; i < n; ++i) {
    if (!before(i, out[0])) continue;
    std::pop_heap(out, out + count, before);
    out[count - 1] = i;
    std::push_heap(out, out + count, before);
  }
  std::sort_heap(out, out + count, before);
}

/// Elements of up to 32 bits and their index as one number, in the order of `Before`.
template <class S>
std::uint64_t packed(S x, std::int64_t index, bool descending) {
  std::uint32_t key;
  if constexpr (std::is_integral_v<S>) {
    key = std::bit_cast<std::uint32_t>(static_cast<std::int32_t>(x)) ^ 0x80000000u;
  } else {
    const float v = static_cast<float>(x) + 0.0f;  // -0 becomes +0
    const auto bits = std::bit_cast<std::uint32_t>(v);
    const std::uint32_t ordered = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
    key = v == v ? ordered : 0xffffffffu;
  }
  return std::uint64_t{descending ? ~key : key} << 32 | static_cast<std::uint32_t>(index);
}
template <class S>
constexpr bool packs = sizeof(S) <= 4;
constexpr std::int64_t most_packed = std::int64_t{1} << 32;

template <class S>
void sort_packed(const S* x, std::int64_t n, bool descending, std::int64_t* out, hwy::Sorter& sorter) {
  auto* keys = reinterpret_cast<std::uint64_t*>(out);
  for (std::int64_t i = 0; i < n; ++i) keys[i] = packed(x[i], i, descending);
  sorter(keys, static_cast<std::size_t>(n), hwy::SortAscending());
  for (std::int64_t i = 0; i < n; ++i) keys[i] &= 0xffffffffu;
}

/// The smallest keys so far, of which `keys[0]` is the largest: few of them in descending order, many as a
/// heap.
class Best {
 public:
  Best(std::uint64_t* keys, std::int64_t count) : keys_(keys), count_(count) {
    sorted() ? std::sort(keys, keys + count, std::greater()) : std::make_heap(keys, keys + count);
  }
  std::uint64_t worst() const { return keys_[0]; }
  void replace_worst(std::uint64_t key) {
    if (sorted()) {
      std::int64_t i = 1;
      for (; i < count_ && keys_[i] > key; ++i) keys_[i - 1] = keys_[i];
      keys_[i - 1] = key;
    } else {
      std::pop_heap(keys_, keys_ + count_);
      keys_[count_ - 1] = key;
      std::push_heap(keys_, keys_ + count_);
    }
  }
  void sort_ascending() {
    sorted() ? std::reverse(keys_, keys_ + count_) : std::sort_heap(keys_, keys_ + count_);
  }

 private:
  bool sorted() const { return count_ <= 16; }

  std::uint64_t* keys_;
  std::int64_t count_;
};

/// The best `count` of a row. Blocks whose extremum does not beat the worst of the best so far are passed
/// over.
template <class S>
void select_packed(const S* x, std::int64_t n, bool descending, std::int64_t* out, std::int64_t count,
                   const ReduceKernels<Compute<S>>& extremum) {
  using C = Compute<S>;
  auto* keys = reinterpret_cast<std::uint64_t*>(out);
  for (std::int64_t i = 0; i < count; ++i) keys[i] = packed(x[i], i, descending);
  Best selected(keys, count);
  constexpr std::int64_t at_once = 64;
  union {
    alignas(64) C converted[is_half<S> ? at_once : 1];
  };
  for (auto first = count; first < n; first += at_once) {
    const auto m = std::min(at_once, n - first);
    const C* part;
    if constexpr (is_half<S>) {
      to_float(x + first, converted, static_cast<std::size_t>(m));
      part = converted;
    } else {
      part = reinterpret_cast<const C*>(x + first);
    }
    const C best = extremum.row(part, static_cast<std::size_t>(m)),
            worst = computed(x[selected.worst() & 0xffffffffu]);
    if (!is_nan(best) && !is_nan(worst) && !(descending ? best > worst : best < worst)) continue;
    for (auto i = first; i < first + m; ++i) {
      const auto candidate = packed(x[i], i, descending);
      if (candidate < selected.worst()) selected.replace_worst(candidate);
    }
  }
  selected.sort_ascending();
  for (std::int64_t i = 0; i < count; ++i) keys[i] &= 0xffffffffu;
}

/// f32 accumulates in f64, halves in f32, integers wrap.
template <class S>
using Running = std::conditional_t<std::is_same_v<S, float>, double,
                                   std::conditional_t<std::is_integral_v<S>, std::uint64_t, Compute<S>>>;

template <op::CumulativeKind kind, class T>
T joined(T total, T v) {
  using enum op::CumulativeKind;
  if constexpr (kind == sum) return total + v;
  if constexpr (kind == prod) return total * v;
  if constexpr (kind == max) return !is_nan(total) && (is_nan(v) || v > total) ? v : total;
  if constexpr (kind == min) return !is_nan(total) && (is_nan(v) || v < total) ? v : total;
}

/// Running totals along `width` lines of `n` elements, side by side so that no addition waits for the last:
/// elements of a line are `step` apart, lines `across`.
template <op::CumulativeKind kind, class S>
void accumulate(const S* x, std::int64_t n, std::int64_t step, std::int64_t width, std::int64_t across,
                S* out) {
  constexpr bool extremum = kind == op::CumulativeKind::max || kind == op::CumulativeKind::min;
  using T = std::conditional_t<extremum, Compute<S>, Running<S>>;
  constexpr std::int64_t most = 64;
  const auto value = [](S v) { return static_cast<T>(computed(v)); };
  const auto stored = [](T v) {
    if constexpr (is_half<S>) {
      return S(v);
    } else {
      return static_cast<S>(v);
    }
  };
  const auto run = [&](std::int64_t first, auto lines) {  // a constant number of lines stays in registers
    T totals[most];
    for (std::int64_t c = 0; c < lines; ++c) totals[c] = value(x[(first + c) * across]);
    for (std::int64_t c = 0; c < lines; ++c) out[(first + c) * across] = stored(totals[c]);
    for (std::int64_t i = 1; i < n; ++i) {
      const S* from = x + i * step + first * across;
      S* to = out + i * step + first * across;
      for (std::int64_t c = 0; c < lines; ++c) totals[c] = joined<kind>(totals[c], value(from[c * across]));
      for (std::int64_t c = 0; c < lines; ++c) to[c * across] = stored(totals[c]);
    }
  };
  std::int64_t first = 0;
  if (across == 1) {
    for (; first + most <= width; first += most) run(first, std::integral_constant<std::int64_t, most>());
    if (first < width) run(first, width - first);
    return;
  }
  // Rows a power of two apart share one set of the cache: few at once.
  for (; first + 4 <= width; first += 4) run(first, std::integral_constant<std::int64_t, 4>());
  for (; first < width; ++first) run(first, std::integral_constant<std::int64_t, 1>());
}

template <class S>
void accumulate(op::CumulativeKind kind, const S* x, const Columns& all, S* out) {
  using op::CumulativeKind;
  const auto run = [&]<CumulativeKind k>() {
    const auto n = all.length;
    const auto bytes = 2 * all.matrices * n * all.count * static_cast<std::int64_t>(sizeof(S));
    if (all.count == 1) {
      return parallel(all.matrices, std::max<std::int64_t>(block / n, 1), bytes,
                      [&](std::int64_t begin, std::int64_t end) {
                        accumulate<k>(x + begin * n, n, 1, end - begin, n, out + begin * n);
                      });
    }
    constexpr std::int64_t width = 512;
    const auto panels = (all.count + width - 1) / width;
    parallel(all.matrices * panels, 1, bytes, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto column = i % panels * width, at = i / panels * n * all.count + column;
        accumulate<k>(x + at, n, all.count, std::min(width, all.count - column), 1, out + at);
      }
    });
  };
  switch (kind) {
    case CumulativeKind::sum:
      return run.template operator()<CumulativeKind::sum>();
    case CumulativeKind::prod:
      return run.template operator()<CumulativeKind::prod>();
    case CumulativeKind::max:
      return run.template operator()<CumulativeKind::max>();
    case CumulativeKind::min:
      return run.template operator()<CumulativeKind::min>();
  }
}

}  // namespace

FlexRef run(const op::ArgReduce& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  const char* name = op.kind == op::ExtremumKind::max ? "argmax" : "argmin";
  auto out = FlexValue::make(x.backend, type, name);
  if (out->size() == 0) return out;
  const auto rows = rows_of(x, op.axis, name);
  visit_dtype(x.dtype, [&]<class S>() {
    using Stored = std::conditional_t<std::is_same_v<S, bool>, std::uint8_t, S>;
    arg_reduce(op, rows->as<Stored>(), out->size(), x.shape[op.axis], out->as<std::int64_t>());
  });
  return out;
}

FlexRef run(const op::ArgSort& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  const auto out = FlexValue::make(x.backend, {type.dtype, rows_shape(type.shape, op.axis)}, "argsort");
  if (out->size() == 0) return axis_back(out, op.axis);
  const auto rows = rows_of(x, op.axis, "argsort");
  const auto n = x.shape[op.axis], count = type.shape[op.axis];
  visit_dtype(x.dtype, [&]<class S>() {
    using Stored = std::conditional_t<std::is_same_v<S, bool>, std::uint8_t, S>;
    const auto* data = rows->as<Stored>();
    auto* indices = out->as<std::int64_t>();
    const auto extremum =
        reduce_kernels<Compute<S>>(op.descending ? op::ReduceKind::max : op::ReduceKind::min);
    const bool packing = packs<Stored> && n < most_packed;
    // Sorting costs many times its traffic.
    parallel(out->size() / count, std::max<std::int64_t>(64 / n, 1), x.size() * 32,
             [&](std::int64_t begin, std::int64_t end) {
               std::optional<hwy::Sorter> sorter;
               if (packing && count == n) sorter.emplace();
               for (auto row = begin; row < end; ++row) {
                 const auto* from = data + row * n;
                 auto* to = indices + row * count;
                 if constexpr (packs<Stored>) {
                   if (sorter) {
                     sort_packed(from, n, op.descending, to, *sorter);
                     continue;
                   }
                   if (packing) {
                     select_packed(from, n, op.descending, to, count, extremum);
                     continue;
                   }
                 }
                 argsort_row(from, n, op.descending, to, count);
               }
             });
  });
  return axis_back(out, op.axis);
}

FlexRef run(const op::Cumulative& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto x = contiguous(flex(inputs[0]), "cumulative");
  auto out = FlexValue::make(x->backend, type, "cumulative");
  if (out->size() == 0) return out;
  visit_dtype(x->dtype, [&]<class S>() {
    if constexpr (!std::is_same_v<S, bool>) {
      accumulate(op.kind, x->as<S>(), columns_of(x->shape, op.axis), out->as<S>());
    }
  });
  return out;
}

}  // namespace strata::flex
