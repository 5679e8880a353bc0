#include <limits>
#include <optional>

#include "cube/emit_node.hpp"
#include "cube/index_math.hpp"
#include "cube/reduce.hpp"
#include "kernel/math.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;
using op::ReduceKind;

/// Additions into one f32 lane before they go into the compensated total (errors stay near those of pairwise
/// sums).
constexpr int block_length = 16;

Val combine(ReduceKind kind, Val a, Val b) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      return a + b;
    case ReduceKind::prod:
      return a * b;
    case ReduceKind::max:
      return kernel::max(a, b);
    case ReduceKind::min:
      return kernel::min(a, b);
  }
  return a;
}

Val combine_lanes(ReduceKind kind, Val v) {
  if (v.lanes() == 1) return v;
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      return kernel::reduce_add(v);
    case ReduceKind::prod:
      return kernel::reduce_mul(v);
    case ReduceKind::max:
      return kernel::reduce_max(v);
    case ReduceKind::min:
      return kernel::reduce_min(v);
  }
  return v;
}

Val identity(ReduceKind kind, Scalar s, int lanes) {
  const auto t = kernel::make_type(s, lanes);
  if (kind == ReduceKind::sum || kind == ReduceKind::mean) return kernel::constant(t, 0);
  if (kind == ReduceKind::prod) return kernel::constant(t, 1);
  const bool lowest = kind == ReduceKind::max;
  if (kernel::is_float(s)) {
    const double inf = std::numeric_limits<double>::infinity();
    return kernel::constant(t, lowest ? -inf : inf);
  }
  switch (s) {
    case Scalar::i64:
      return kernel::constant(
          t, lowest ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max());
    case Scalar::i32:
      return kernel::constant(
          t, lowest ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int32_t>::max());
    default:
      return kernel::constant(t, lowest ? 0 : 255);
  }
}

/// One running result a lane. f32 sums add up short blocks, whose sums enter a compensated total (Knuth's
/// two-sum).
class Accumulator {
 public:
  Accumulator(ReduceKind kind, Scalar scalar, int lanes)
      : kind_(kind),
        compensated_(scalar == Scalar::f32 && (kind == ReduceKind::sum || kind == ReduceKind::mean)),
        block_(identity(kind, scalar, lanes)) {
    if (!compensated_) return;
    total_.emplace(identity(kind, scalar, lanes));
    carry_.emplace(identity(kind, scalar, lanes));
  }
  bool compensated() const { return compensated_; }
  void add(Val v) { block_.set(combine(kind_, block_, v)); }
  /// To be called at least every `block_length` additions.
  void close_block() {
    if (!compensated_) return;
    const Val a = *total_, b = block_, sum = a + b;
    const Val b_part = sum - a;
    const Val error = (a - (sum - b_part)) + (b - b_part);
    total_->set(sum);
    carry_->set(carry_->get() + error);
    block_.set(kernel::constant(block_.type(), 0));
  }
  /// One value a lane, or with `across` one for all lanes.
  Val result(bool across) const {
    if (!compensated_) return across ? combine_lanes(kind_, block_) : block_.get();
    const Val total = across ? combine_lanes(kind_, *total_) : total_->get();
    const Val carry = across ? combine_lanes(kind_, *carry_) : carry_->get();
    // Infinite sums leave NaN in the carry; the total is then right as it stands.
    return kernel::select(kernel::is_nan(carry), total, total + carry);
  }

 private:
  ReduceKind kind_;
  bool compensated_;
  Var block_;
  std::optional<Var> total_, carry_;
};

/// Records a reduction kernel. Constructor: arguments in the order of plan_reduce.
class ReduceRecorder {
 public:
  ReduceRecorder(kernel::Builder& b, const ReduceKernelForm& form)
      : form_(form), scalar_(kernel::scalar_of(accumulator_dtype(form.in))) {
    out_ = b.write("out", kernel::scalar_of(form.out));
    in_ = b.read("in", kernel::scalar_of(form.in));
    const auto argument = [&](const std::string& name) { return b.scalar(name, Scalar::i64); };
    offset_ = argument("offset");
    tasks_ = argument("tasks");
    tasks_per_cube_ = argument("tasks_per_cube");
    parts_ = argument("parts");
    inner_parts_ = argument("inner_parts");
    outer_chunk_ = argument("outer_chunk");
    inner_chunk_ = argument("inner_chunk");
    outer_ = argument("reduced_outer");
    inner_ = argument("reduced_inner");
    segments_ = argument("segments");
    outputs_ = argument("outputs");
    count_ = argument("count");
    for (int i = 0; i < form.kept_rank; ++i)
      kept_extents_.push_back(argument("kept_extent" + std::to_string(i)));
    for (int i = 0; i < form.kept_rank; ++i)
      kept_strides_.push_back(argument("kept_stride" + std::to_string(i)));
    for (int i = 0; i < form.reduced_rank; ++i) {
      reduced_extents_.push_back(argument("reduced_extent" + std::to_string(i)));
    }
    for (int i = 0; i < form.reduced_rank; ++i) {
      reduced_strides_.push_back(argument("reduced_stride" + std::to_string(i)));
    }
    if (form.form == ReduceForm::rows && planes() > 1)
      shared_ = kernel::shared_array(scalar_, planes() * form.units_y, "partial");
    if (form.form == ReduceForm::columns && form.units_y > 1)
      shared_ = kernel::shared_array(scalar_, std::int64_t{form.units()} * form.lanes, "partial");
  }

  void record() {
    const Val first = kernel::convert(kernel::cube_x(), Scalar::i64) * tasks_per_cube_;
    const bool rows = form_.form == ReduceForm::rows;
    kernel::for_(first, kernel::min(first + tasks_per_cube_, tasks_), rows ? form_.units_y : 1,
                 [&](Val task) {
                   if (rows) {
                     record_row(task);
                   } else {
                     record_strip(task);
                   }
                 });
  }

 private:
  /// What part of the reduced axes this task walks.
  struct Range {
    Val outer_begin, outer_end, inner_begin, inner_end;
  };
  Range range_of(Val part) const {
    if (!form_.split) return {index_constant(0), outer_, index_constant(0), inner_};
    const Val outer_part = part / inner_parts_, inner_part = part - outer_part * inner_parts_;
    const Val ob = outer_part * outer_chunk_, ib = inner_part * inner_chunk_;
    return {ob, kernel::min(ob + outer_chunk_, outer_), ib, kernel::min(ib + inner_chunk_, inner_)};
  }

  static std::span<const Val> tail(const std::vector<Val>& v) { return std::span(v).subspan(1); }

  /// Calls body(base) for each combination of the reduced axes but the innermost.
  template <class Body>
  void for_each_outer(const Range& range, Val base, Body&& body) const {
    if (form_.reduced_rank == 1) return body(base);
    const auto outer_axes = static_cast<std::size_t>(form_.reduced_rank - 1);
    kernel::for_(range.outer_begin, range.outer_end, 1, [&](Val i) {
      body(base + offset_of(i, std::span(reduced_extents_).subspan(1, outer_axes - 1),
                            std::span(reduced_strides_).first(outer_axes)));
    });
  }

  /// `lanes` elements from `at` on, in the accumulator's type; `steps` are the lanes' element offsets when
  /// they are neither consecutive nor one.
  Val load(Val at, int lanes, Val stride, Val mask) const {
    Val v;
    switch (form_.access) {
      case Access::contiguous:
        v = in_.load(at, lanes, {.mask = mask, .flags = form_.aligned ? kernel::aligned : kernel::no_flags});
        break;
      case Access::broadcast:
        v = kernel::splat(in_.load(at), lanes);
        break;
      case Access::strided:
      case Access::reversed:
        v = in_.gather(
            kernel::splat(at, lanes) + kernel::lane_index(kernel::make_type(Scalar::i64, lanes)) * stride,
            mask);
        break;
    }
    v = v.scalar() == scalar_ ? v : kernel::convert(v, scalar_);
    return mask.present() ? kernel::select(mask, v, identity(form_.kind, scalar_, lanes)) : v;
  }

  Val tail_mask(Val left, int lanes) const {
    const Val count = kernel::splat(kernel::convert(left, Scalar::i32), lanes);
    return kernel::lane_index(kernel::make_type(Scalar::i32, lanes)) < count;
  }

  // --- rows
  // ---------------------------------------------------------------------------------------------------------

  void record_row(Val task) {
    Val there{};  // whether this row of the cube has a task
    if (form_.units_y > 1) {
      task = task + kernel::convert(kernel::unit_y(), Scalar::i64);
      there = task < tasks_;
      task = kernel::min(task, tasks_ - 1);  // all units of a plane come along
    }
    Val output = task, part = index_constant(0);
    if (form_.split) {
      output = task / parts_;
      part = task - output * parts_;
    }
    const Range range = range_of(part);
    const Val base = offset_ + offset_of(output, tail(kept_extents_), kept_strides_);
    Accumulator acc(form_.kind, scalar_, form_.lanes);
    for_each_outer(range, base, [&](Val start) { walk_row(acc, start, range); });
    const Val mine = acc.result(true);
    if (form_.units() == 1) {
      store(task, mine, Val{});
      return;
    }
    const Val all = combine_units(mine);
    Val storing = kernel::unit_x() == 0;
    if (there.present()) storing = storing & there;
    kernel::if_(storing, [&] { store(task, all, Val{}); });
    if (planes() > 1) kernel::barrier();  // before the next task writes the shared array
  }

  void walk_row(Accumulator& acc, Val start, const Range& range) const {
    const int lanes = form_.lanes;
    const Val stride = reduced_strides_.back();
    const auto at = [&](Val i) {
      return form_.access == Access::contiguous ? start + i : start + i * stride;
    };
    const Val full = range.inner_begin + ((range.inner_end - range.inner_begin) & -lanes);
    const int step = lanes * form_.units_x;
    Val begin = range.inner_begin;
    if (form_.units_x > 1) begin = begin + kernel::convert(kernel::unit_x(), Scalar::i64) * lanes;
    const auto vector_at = [&](Val i) { acc.add(load(at(i), lanes, stride, Val{})); };
    if (acc.compensated()) {
      kernel::for_(begin, full, step * block_length, [&](Val block) {
        kernel::for_(block, kernel::min(block + step * block_length, full), step, vector_at);
        acc.close_block();
      });
    } else {
      kernel::for_(begin, full, step, vector_at);
    }
    Val has_tail = full < range.inner_end;
    if (form_.units_x > 1) has_tail = has_tail & (kernel::unit_x() == 0);
    kernel::if_(has_tail, [&] {
      acc.add(load(at(full), lanes, stride, tail_mask(range.inner_end - full, lanes)));
      acc.close_block();
    });
  }

  static constexpr int plane = 32;
  int planes() const { return (form_.units_x + plane - 1) / plane; }

  /// Of all units of a row: first those of a plane, then the planes of the row.
  Val combine_units(Val mine) const {
    for (int step = std::min(form_.units_x, plane) / 2; step > 0; step /= 2) {
      const Val other =
          kernel::plane_shuffle_xor(mine, kernel::constant(kernel::make_type(Scalar::i32), step));
      mine = combine(form_.kind, mine, other);
    }
    if (planes() == 1) return mine;
    const Val first = kernel::unit_y() * planes();
    kernel::if_(kernel::unit_x() % plane == 0,
                [&] { shared_.store(first + kernel::unit_x() / plane, mine); });
    kernel::barrier();
    Val all = shared_.load(first);
    for (int p = 1; p < planes(); ++p) all = combine(form_.kind, all, shared_.load(first + p));
    return all;
  }

  // --- columns
  // ------------------------------------------------------------------------------------------------------

  void record_strip(Val task) {
    Val strip = task, part = index_constant(0);
    if (form_.split) {
      part = task / segments_;  // segments_: strips of one part
      strip = task - part * segments_;
    }
    const int width = form_.lanes * form_.vectors;
    const Val width_of_cube = index_constant(std::int64_t{width} * form_.units_x);
    const Val columns = kept_extents_.back();
    const Val strips_of_row = (columns + (width_of_cube - 1)) / width_of_cube;
    const Val row = form_.kept_rank == 1 ? index_constant(0) : strip / strips_of_row;
    Val column = (strip - row * strips_of_row) * width_of_cube;
    if (form_.units_x > 1) column = column + kernel::convert(kernel::unit_x(), Scalar::i64) * width;

    const auto outer_axes = static_cast<std::size_t>(form_.kept_rank - 1);
    Val base = offset_;
    if (outer_axes > 0) {
      base = base + offset_of(row, std::span(kept_extents_).subspan(1, outer_axes - 1),
                              std::span(kept_strides_).first(outer_axes));
    }
    const Val out = part * outputs_ + row * columns;
    const Range range = range_of(part);
    if (form_.units() > 1) return walk_columns_together(base, out, column, range);
    kernel::if_(
        column + width <= columns, [&] { walk_columns(form_.vectors, base, out, column, range, Val{}); },
        [&] {
          kernel::for_(column, kernel::min(column + width, columns), form_.lanes, [&](Val c) {
            walk_columns(1, base, out, c, range,
                         tail_mask(kernel::min(columns - c, form_.lanes), form_.lanes));
          });
        });
  }

  void walk_columns(int vectors, Val base, Val out, Val column, const Range& range, Val mask) const {
    const int lanes = form_.lanes;
    const Val stride = kept_strides_.back();
    const auto start = form_.access == Access::contiguous ? base + column : base + column * stride;
    std::vector<Accumulator> acc;
    for (int v = 0; v < vectors; ++v) acc.emplace_back(form_.kind, scalar_, lanes);
    for_each_outer(range, start, [&](Val row_base) {
      const auto add_row = [&](Val i) {
        const Val at = row_base + i * reduced_strides_.back();
        for (int v = 0; v < vectors; ++v) {
          const Val first = form_.access == Access::contiguous ? at + v * lanes : at + stride * (v * lanes);
          acc[static_cast<std::size_t>(v)].add(load(first, lanes, stride, mask));
        }
      };
      if (!acc.front().compensated()) return kernel::for_(range.inner_begin, range.inner_end, 1, add_row);
      kernel::for_(range.inner_begin, range.inner_end, block_length, [&](Val block) {
        kernel::for_(block, kernel::min(block + block_length, range.inner_end), 1, add_row);
        for (auto& a : acc) a.close_block();
      });
    });
    for (int v = 0; v < vectors; ++v) {
      store(out + column + v * lanes, acc[static_cast<std::size_t>(v)].result(false), mask);
    }
  }

  /// Units along y take every units_y-th row each; the first of them then combines what they have.
  void walk_columns_together(Val base, Val out, Val column, Range range) const {
    const int lanes = form_.lanes;
    const Val left = kernel::min(kernel::max(kept_extents_.back() - column, index_constant(0)), lanes);
    const Val stride = kept_strides_.back();
    const Val start = form_.access == Access::contiguous ? base + column : base + column * stride;
    if (form_.units_y > 1)
      range.inner_begin = range.inner_begin + kernel::convert(kernel::unit_y(), Scalar::i64);
    const auto sum = [&](Val mask) {
      Accumulator acc(form_.kind, scalar_, lanes);
      for_each_outer(range, start, [&](Val row_base) {
        const auto add_row = [&](Val i) {
          acc.add(load(row_base + i * reduced_strides_.back(), lanes, stride, mask));
        };
        const int step = form_.units_y;
        if (!acc.compensated()) return kernel::for_(range.inner_begin, range.inner_end, step, add_row);
        kernel::for_(range.inner_begin, range.inner_end, step * block_length, [&](Val block) {
          kernel::for_(block, kernel::min(block + step * block_length, range.inner_end), step, add_row);
          acc.close_block();
        });
      });
      return acc.result(false);
    };
    const Val mask = tail_mask(left, lanes);
    const Var result(kernel::make_type(scalar_, lanes));
    kernel::if_(
        left == lanes, [&] { result.set(sum(Val{})); }, [&] { result.set(sum(mask)); });
    if (form_.units_y == 1) return store(out + column, result, mask);
    const auto place = [&](Val y) { return (y * form_.units_x + kernel::unit_x()) * lanes; };
    shared_.store(place(kernel::unit_y()), result, {.flags = kernel::aligned});
    kernel::barrier();
    kernel::if_(kernel::unit_y() == 0, [&] {
      Val total = result.get();
      for (int y = 1; y < form_.units_y; ++y) {
        const Val row = kernel::constant(kernel::make_type(Scalar::i32), y);
        total = combine(form_.kind, total, shared_.load(place(row), lanes, {.flags = kernel::aligned}));
      }
      store(out + column, total, mask);
    });
    kernel::barrier();  // before the next task writes the shared array
  }

  // --- both
  // ---------------------------------------------------------------------------------------------------------

  void store(Val at, Val v, Val mask) const {
    if (form_.divide && kernel::is_float(scalar_)) {
      v = v / kernel::convert(count_, scalar_);
    } else if (form_.divide) {  // the count may not fit the integers summed
      v = kernel::floor_div(kernel::convert(v, Scalar::i64), kernel::splat(count_, v.lanes()));
    }
    const Scalar stored = kernel::scalar_of(form_.out);
    out_.store(at, stored == v.scalar() ? v : kernel::convert(v, stored), {.mask = mask});
  }

  const ReduceKernelForm& form_;
  const Scalar scalar_;  ///< accumulators
  Buffer out_, in_, shared_;
  Val offset_, tasks_, tasks_per_cube_, parts_, inner_parts_, outer_chunk_, inner_chunk_, outer_, inner_,
      segments_, outputs_, count_;
  std::vector<Val> kept_extents_, kept_strides_, reduced_extents_, reduced_strides_;
};

}  // namespace

kernel::Kernel build_reduce(const ReduceKernelForm& form) {
  kernel::Builder builder(reduce_name(form), {static_cast<std::uint32_t>(form.units_x),
                                              static_cast<std::uint32_t>(form.units_y), 1});
  ReduceRecorder(builder, form).record();
  return builder.finish();
}

}  // namespace strata::cube
