#include "flex/reduce.hpp"

#include "base/convert.hpp"
#include "flex/parallel.hpp"
#include "flex/reader.hpp"
#include "flex/reduce_kernels.hpp"

namespace strata::flex {
namespace {

/// How an input is walked: `outer` x `reduced` x `columns` in row-major order of the nest. Result o * columns
/// + c reduces the elements (o, *, c). With one column a result is the reduction of a row.
struct Walk {
  std::int64_t outer = 1, reduced = 1, columns = 1;
  Nest nest;
};

Walk plan(const FlexValue& x, const Axes& axes) {
  Shape outer, reduced, columns;
  Strides outer_strides, reduced_strides, column_strides;
  // Trailing kept axes that lie densely are reduced side by side.
  std::int64_t dense = 1;
  int first_column = x.shape.rank();
  for (int i = x.shape.rank() - 1; i >= 0; --i) {
    if (axes.contains(i)) {
      if (x.shape[i] != 1 && first_column < x.shape.rank()) break;
      if (x.shape[i] != 1) break;
      continue;
    }
    if (x.shape[i] != 1 && x.strides()[i] != dense) break;
    dense *= x.shape[i];
    first_column = i;
  }
  constexpr std::int64_t fewest_columns = 16;
  if (dense < fewest_columns) first_column = x.shape.rank();
  for (int i = 0; i < x.shape.rank(); ++i) {
    const bool gone = axes.contains(i), column = !gone && i >= first_column;
    (gone ? reduced : column ? columns : outer).push_back(x.shape[i]);
    (gone ? reduced_strides : column ? column_strides : outer_strides).push_back(x.strides()[i]);
  }
  Walk walk{outer.product(), reduced.product(), columns.product(), {}};
  for (int i = 0; i < reduced.rank(); ++i) {
    outer.push_back(reduced[i]);
    outer_strides.push_back(reduced_strides[i]);
  }
  for (int i = 0; i < columns.rank(); ++i) {
    outer.push_back(columns[i]);
    outer_strides.push_back(column_strides[i]);
  }
  walk.nest = collapse(outer, outer_strides);
  return walk;
}

/// Partial results of f32 meet in f64: the error then comes from one block alone.
template <class C>
using Total = std::conditional_t<std::is_same_v<C, float>, double, C>;

/// f(combination of two) for the kind, so that the choice stands outside of loops.
template <class T, class F>
void with_combination(op::ReduceKind kind, F&& f) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;  // wraps
  switch (kind) {
    case op::ReduceKind::sum:
    case op::ReduceKind::mean:
      return f([](T a, T b) { return static_cast<T>(static_cast<Sum>(a) + static_cast<Sum>(b)); });
    case op::ReduceKind::prod:
      return f([](T a, T b) { return static_cast<T>(static_cast<Sum>(a) * static_cast<Sum>(b)); });
    case op::ReduceKind::max:
      return f([](T a, T b) { return b > a || b != b ? b : a; });
    case op::ReduceKind::min:
      return f([](T a, T b) { return b < a || b != b ? b : a; });
  }
}

/// totals[i] = totals[i] op parts[i].
template <class T, class Part>
void combine(op::ReduceKind kind, T* totals, const Part* parts, std::int64_t n) {
  with_combination<T>(kind, [&](auto join) {
    for (std::int64_t i = 0; i < n; ++i) totals[i] = join(totals[i], static_cast<T>(parts[i]));
  });
}

template <class T>
T floor_divide(T a, std::int64_t n) {
  const auto wide = static_cast<std::int64_t>(a), q = wide / n;
  return static_cast<T>(q - (wide % n != 0 && wide < 0));
}

template <class S>
class Reduction {
 public:
  using C = Compute<S>;
  using T = Total<C>;

  Reduction(op::ReduceKind kind, const FlexValue& x, const Walk& walk, FlexValue& out)
      : kind_(kind), kernels_(reduce_kernels<C>(kind)), x_(x), walk_(walk), out_(out) {
    // A few long reductions are cut into segments, whatever the number of threads, so that the result is
    // always the same.
    constexpr std::int64_t few = 8, segment_elements = 1 << 16;
    const auto units = walk.outer * column_blocks();
    segment_ = units >= few ? std::max<std::int64_t>(walk.reduced, 1)
                            : std::max<std::int64_t>(segment_elements / std::min(walk.columns, block), 1);
    segments_ = std::max<std::int64_t>((walk.reduced + segment_ - 1) / segment_, 1);
  }

  void run() {
    const auto bytes = x_.size() * static_cast<std::int64_t>(sizeof(S));
    if (segments_ > 1) return run_segmented(bytes);
    if (walk_.columns == 1 && walk_.reduced < block) {
      const auto rows = block / std::max<std::int64_t>(walk_.reduced, 1);
      parallel(walk_.outer, rows, bytes, [&](auto begin, auto end) { short_rows(begin, end, rows); });
      return;
    }
    parallel(walk_.outer * column_blocks(), 1, bytes, [&](std::int64_t begin, std::int64_t end) {
      Reader<S> reader(x_.data(), walk_.nest);
      T totals[block];
      for (auto unit = begin; unit < end; ++unit) {
        reduce_unit(reader, unit, 0, walk_.reduced, totals);
        finish(unit, totals);
      }
    });
  }

 private:
  std::int64_t column_blocks() const { return (walk_.columns + block - 1) / block; }
  std::int64_t first_column(std::int64_t unit) const { return unit % column_blocks() * block; }
  std::int64_t width(std::int64_t unit) const { return std::min(block, walk_.columns - first_column(unit)); }

  T identity() const { return static_cast<T>(kernels_.row(nullptr, 0)); }

  void store(std::int64_t at, T total) {
    if (kind_ == op::ReduceKind::mean) {
      if constexpr (std::is_floating_point_v<T>) {
        total /= static_cast<T>(walk_.reduced);
      } else {
        total = floor_divide(total, walk_.reduced);
      }
    }
    if constexpr (std::is_same_v<S, bool>) {
      out_.as<bool>()[at] = total != 0;
    } else {
      out_.as<S>()[at] = base::convert<S>(static_cast<C>(total));
    }
  }

  void finish(std::int64_t unit, const T* totals) {
    const auto first = unit / column_blocks() * walk_.columns + first_column(unit);
    for (std::int64_t c = 0; c < width(unit); ++c) store(first + c, totals[c]);
  }

  /// Several rows per block.
  void short_rows(std::int64_t begin, std::int64_t end, std::int64_t rows_at_once) {
    Reader<S> reader(x_.data(), walk_.nest);
    const auto n = walk_.reduced;
    for (auto row = begin; row < end; row += rows_at_once) {
      const auto rows = std::min(rows_at_once, end - row);
      const C* x = n > 0 ? reader.load(row * n, rows * n) : nullptr;
      for (std::int64_t i = 0; i < rows; ++i) {
        store(row + i, static_cast<T>(kernels_.row(x + i * n, static_cast<std::size_t>(n))));
      }
    }
  }

  /// totals[c] for the elements [begin, end) along the reduced axes.
  void reduce_unit(Reader<S>& reader, std::int64_t unit, std::int64_t begin, std::int64_t end, T* totals) {
    if (walk_.columns == 1) {
      T total = identity();
      for (auto at = begin; at < end; at += block) {
        const auto n = std::min(block, end - at);
        const C part = kernels_.row(reader.load(unit * walk_.reduced + at, n), static_cast<std::size_t>(n));
        combine(kind_, &total, &part, 1);
      }
      totals[0] = total;
      return;
    }
    constexpr std::int64_t rows_at_once = 32;  // summed in the compute type before they join the total
    const auto n = width(unit);
    const auto outer = unit / column_blocks() * walk_.reduced, column = first_column(unit);
    std::fill(totals, totals + n, identity());
    C parts[block];
    for (auto at = begin; at < end; at += rows_at_once) {
      std::fill(parts, parts + n, static_cast<C>(identity()));
      const auto rows = std::min(rows_at_once, end - at), first = (outer + at) * walk_.columns + column;
      if (const C* x = reader.dense()) {
        kernels_.columns(x + first, walk_.columns, static_cast<std::size_t>(rows), parts,
                         static_cast<std::size_t>(n));
      } else {
        for (std::int64_t row = 0; row < rows; ++row) {
          kernels_.columns(reader.load(first + row * walk_.columns, n), 0, 1, parts,
                           static_cast<std::size_t>(n));
        }
      }
      combine(kind_, totals, parts, n);
    }
  }

  void run_segmented(std::int64_t bytes) {
    const auto units = walk_.outer * column_blocks(), stride = std::min(walk_.columns, block);
    const auto scratch_bytes = units * segments_ * stride * static_cast<std::int64_t>(sizeof(T));
    const auto scratch = FlexValue::make(out_.backend, {DType::u8, Shape{scratch_bytes}}, name_of(kind_));
    T* partial = scratch->as<T>();
    const auto totals_of = [&](std::int64_t unit, std::int64_t s) {
      return partial + (unit * segments_ + s) * stride;
    };
    parallel(units * segments_, 1, bytes, [&](std::int64_t begin, std::int64_t end) {
      Reader<S> reader(x_.data(), walk_.nest);
      for (auto i = begin; i < end; ++i) {
        const auto unit = i / segments_, s = i % segments_;
        reduce_unit(reader, unit, s * segment_, std::min((s + 1) * segment_, walk_.reduced),
                    totals_of(unit, s));
      }
    });
    for (std::int64_t unit = 0; unit < units; ++unit) {
      T* totals = totals_of(unit, 0);
      for (std::int64_t s = 1; s < segments_; ++s) combine(kind_, totals, totals_of(unit, s), width(unit));
      finish(unit, totals);
    }
  }

  const op::ReduceKind kind_;
  const ReduceKernels<C> kernels_;
  const FlexValue& x_;
  const Walk& walk_;
  FlexValue& out_;
  std::int64_t segment_ = 0, segments_ = 1;
};

}  // namespace

FlexRef run(const op::Reduce& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  auto out = FlexValue::make(x.backend, type, "reduce_" + std::string(name_of(op.kind)));
  if (out->size() == 0) return out;
  const auto walk = plan(x, op.axes);
  visit_dtype(type.dtype, [&]<class S>() { Reduction<S>(op.kind, x, walk, *out).run(); });
  return out;
}

}  // namespace strata::flex
