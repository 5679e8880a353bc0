#include "cube/arg_reduce.hpp"

#include <algorithm>
#include <cstdlib>

#include "cube/emit_node.hpp"
#include "cube/index_math.hpp"
#include "cube/limits.hpp"
#include "cube/line_units.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;

/// rows: units lie along a line. columns: units lie across lines. join: rows of pairs.
enum class Walk : std::uint8_t { rows, columns, join };

struct Form {
  op::ExtremumKind kind{};
  DType dtype{};
  Walk walk{};
  bool split = false;  ///< writes the pairs of parts
  bool wide = false;   ///< indices need 64 bits
  int lanes = 1;       ///< elements of one load
  int kept_rank = 1;
  LineUnits cube{};  ///< columns: the units alone count
};

struct Plan {
  Form form;
  std::int64_t parts = 1, part_length = 0, cubes = 0;
};

/// Booleans are compared as bytes.
DType moved(DType t) { return t == DType::boolean ? DType::u8 : t; }
/// What the values of pairs are kept in.
DType paired(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : moved(t); }

/// The best pair so far, one a lane.
class Best {
 public:
  Best(op::ExtremumKind kind, Scalar value, Scalar index, int lanes)
      : largest_(kind == op::ExtremumKind::max),
        value_(extreme(kernel::make_type(value, lanes), !largest_)),
        index_(kernel::constant(kernel::make_type(index, lanes), nowhere(index))) {}

  /// The index of a pair before any element: behind all of them.
  static std::int64_t nowhere(Scalar index) {
    return index == Scalar::i64 ? std::numeric_limits<std::int64_t>::max() / 2
                                : std::numeric_limits<std::int32_t>::max() / 2;
  }
  Val value() const { return value_; }
  Val index() const { return index_; }

  /// An element that stands after all before it. The first one wins, though it may be as bad as can be.
  void offer(Val v, Val index) const {
    const Val first = index_.get() == nowhere(index.scalar());
    take(beats(v, value_) | first, v, index);
  }
  /// A pair from anywhere.
  void merge(Val v, Val index) const {
    const Val loses = beats(value_, v), tie_won = (!loses) & (index < index_);
    take(beats(v, value_) | tie_won, v, index);
  }
  /// The best of all lanes; lane l holds the element l after its index.
  void merge_lanes(const Best& lanes) const {
    const Val value = lanes.value_, index = lanes.index_;
    for (int l = 0; l < value.lanes(); ++l) {
      merge(value.lanes() == 1 ? value : kernel::extract(value, l),
            (index.lanes() == 1 ? index : kernel::extract(index, l)) + l);
    }
  }

 private:
  Val beats(Val a, Val b) const {
    if (!kernel::is_float(a.scalar())) return largest_ ? a > b : a < b;
    const Val no_better = largest_ ? a <= b : a >= b;  // false beside NaN
    return (!no_better) & (!kernel::is_nan(b));
  }
  void take(Val wins, Val v, Val index) const {
    value_.set(kernel::select(wins, v, value_));
    index_.set(kernel::select(wins, index, index_));
  }

  bool largest_;
  Var value_, index_;
};

class Recorder {
 public:
  Recorder(kernel::Builder& b, const Form& form)
      : form_(form),
        value_scalar_(kernel::scalar_of(paired(form.dtype))),
        index_scalar_(form.wide || form.walk == Walk::join ? Scalar::i64 : Scalar::i32) {
    if (form.split) out_values_ = b.write("values", value_scalar_);
    out_ = b.write("indices", Scalar::i64);
    if (form.walk == Walk::join) {
      in_ = b.read("part_values", value_scalar_);
      in_indices_ = b.read("part_indices", Scalar::i64);
    } else {
      in_ = b.read("in", kernel::scalar_of(moved(form.dtype)));
    }
    const auto argument = [&](std::string_view name) { return b.scalar(name, Scalar::i64); };
    offset_ = argument("offset");
    tasks_ = argument("tasks");
    length_ = argument("length");
    stride_ = argument("stride");
    parts_ = argument("parts");
    part_length_ = argument("part_length");
    for (int i = 0; i < form.kept_rank; ++i) extents_.push_back(argument("extent" + std::to_string(i)));
    for (int i = 0; i < form.kept_rank; ++i) strides_.push_back(argument("stride" + std::to_string(i)));
    if (form.walk != Walk::columns && form.cube.planes() > 1) {
      shared_values_ = kernel::shared_array(value_scalar_, form.cube.planes(), "best_values");
      shared_indices_ = kernel::shared_array(index_scalar_, form.cube.planes(), "best_indices");
    }
  }

  void record() {
    if (form_.walk == Walk::columns) {
      const Val step = index64(kernel::cube_count_x()) * form_.cube.units;
      kernel::for_(kernel::absolute_pos(), tasks_, step, [&](Val task) { record_column(task); });
      return;
    }
    for_each_line(form_.cube, tasks_, [&](Val task) { record_row(task); });
  }

 private:
  static Val index64(Val v) { return kernel::convert(v, Scalar::i64); }
  Val narrow_index(Val v) const { return kernel::convert(v, index_scalar_); }
  Best nothing(int lanes) const { return Best(form_.kind, value_scalar_, index_scalar_, lanes); }
  Val load(Val at, int lanes) const {
    const std::uint8_t flags = lanes > 1 ? kernel::aligned : kernel::no_flags;
    return widen(in_.load(at, lanes, {.flags = flags}), form_.dtype);
  }
  Val start_of(Val line) const { return offset_ + offset_of(line, std::span(extents_).subspan(1), strides_); }

  void record_row(Val task) {
    Val line = task, begin = index_constant(0), end = length_;
    if (form_.split) {
      line = task / parts_;
      begin = (task - line * parts_) * part_length_;
      end = kernel::min(begin + part_length_, length_);
    }
    const Best best = nothing(1);
    if (form_.walk == Walk::join) {
      kernel::for_(index64(kernel::unit_x()), parts_, form_.cube.units, [&](Val part) {
        const Val at = line * parts_ + part;
        best.merge(in_.load(at), in_indices_.load(at));
      });
    } else {
      walk(best, start_of(line), begin, end);
    }
    exchange(best);
    kernel::if_(kernel::unit_x() == 0, [&] { store(task, best); });
    if (form_.cube.planes() > 1) kernel::barrier();  // before the next line writes the shared arrays
  }

  void walk(const Best& best, Val base, Val begin, Val end) const {
    const int lanes = form_.lanes, in_flight = lanes > 1 ? 4 : 8;
    const std::int64_t step = std::int64_t{form_.cube.units} * lanes;
    const Best mine = nothing(lanes);
    const Val unit = form_.cube.units == 1 ? index_constant(0) : index64(kernel::unit_x());
    const Var at(begin + unit * lanes);
    const auto take = [&](int loads) {
      std::vector<Val> loaded;
      const Val first = at;
      for (int k = 0; k < loads; ++k) {
        const Val i = first + k * step;
        loaded.push_back(load(lanes > 1 ? base + i : base + i * stride_, lanes));
      }
      for (int k = 0; k < loads; ++k) {
        mine.offer(loaded[static_cast<std::size_t>(k)], kernel::splat(narrow_index(first + k * step), lanes));
      }
      at.set(first + loads * step);
    };
    kernel::while_([&] { return at.get() + ((in_flight - 1) * step + lanes) <= end; },
                   [&] { take(in_flight); });
    kernel::while_([&] { return at.get() + lanes <= end; }, [&] { take(1); });
    best.merge_lanes(mine);
    if (lanes == 1) return;
    kernel::for_(begin + ((end - begin) & -lanes) + unit, end, form_.cube.units,
                 [&](Val i) { best.merge(load(base + i, 1), narrow_index(i)); });
  }

  /// Gives the best pair of a line to its first unit at least.
  void exchange(const Best& best) const {
    const auto within_plane = [&](int units) {
      for (int d = 1; d < units; d *= 2) {
        const Val mask = kernel::constant(kernel::make_type(Scalar::i32), d);
        const Val value = kernel::plane_shuffle_xor(best.value(), mask);
        best.merge(value, kernel::plane_shuffle_xor(best.index(), mask));
      }
    };
    within_plane(form_.cube.in_plane());
    const int planes = form_.cube.planes();
    if (planes == 1) return;
    kernel::if_((kernel::unit_x() & (plane_size - 1)) == 0, [&] {
      const Val plane = kernel::unit_x() / plane_size;
      shared_values_.store(plane, best.value());
      shared_indices_.store(plane, best.index());
    });
    kernel::barrier();
    const Val from = kernel::unit_x() & (planes - 1);
    best.merge(shared_values_.load(from), shared_indices_.load(from));
    within_plane(planes);
  }

  /// Parts of a column are interleaved, so that neighbouring units stay near each other.
  void record_column(Val task) {
    Val line = task, part = index_constant(0);
    if (form_.split) {
      const Val columns = extents_.back(), row = task / columns, outer = row / parts_;
      part = row - outer * parts_;
      line = outer * columns + (task - row * columns);
    }
    const Val base = start_of(line), step = form_.split ? parts_ : index_constant(1);
    const Best best = nothing(1);
    const Var at(part);
    const auto take = [&](int loads) {
      std::vector<Val> loaded;
      const Val first = at;
      for (int k = 0; k < loads; ++k) loaded.push_back(load(base + (first + step * k) * stride_, 1));
      for (int k = 0; k < loads; ++k) {
        best.offer(loaded[static_cast<std::size_t>(k)], narrow_index(first + step * k));
      }
      at.set(first + step * loads);
    };
    constexpr int in_flight = 8;
    kernel::while_([&] { return at.get() + step * (in_flight - 1) < length_; }, [&] { take(in_flight); });
    kernel::while_([&] { return at.get() < length_; }, [&] { take(1); });
    store(form_.split ? line * parts_ + part : line, best);
  }

  void store(Val at, const Best& best) const {
    out_.store(at, index64(best.index()));
    if (form_.split) out_values_.store(at, best.value());
  }

  const Form& form_;
  const Scalar value_scalar_, index_scalar_;
  Buffer out_values_, out_, in_, in_indices_, shared_values_, shared_indices_;
  Val offset_, tasks_, length_, stride_, parts_, part_length_;
  std::vector<Val> extents_, strides_;
};

std::string name_of(const Form& form) {
  std::string name = form.kind == op::ExtremumKind::max ? "argmax" : "argmin";
  name += form.walk == Walk::rows ? "_rows" : form.walk == Walk::columns ? "_columns" : "_join";
  if (form.split) name += "_partial";
  return name + '_' + std::string(strata::name_of(form.dtype));
}

kernel::Kernel build(const Form& form) {
  kernel::Builder builder(name_of(form), form.cube.cube_dim());
  Recorder(builder, form).record();
  return builder.finish();
}

KernelKey key_of(const Form& form) {
  KernelKeyHasher h("arg_reduce");
  h.add(form.kind);
  h.add(form.dtype);
  h.add(form.walk);
  h.add(form.split);
  h.add(form.wide);
  for (int v : {form.lanes, form.kept_rank, form.cube.units, form.cube.lines}) h.add(v);
  return h.key();
}

Plan plan_of(const Target& target, op::ExtremumKind kind, DType dtype, const Lines& lines) {
  constexpr std::int64_t in_flight = 4, enough_cubes = 1024, most_parts = 1024;
  Plan plan;
  Form& form = plan.form;
  form.kind = kind;
  form.dtype = dtype;
  form.wide = lines.length >= Best::nowhere(Scalar::i32);
  form.kept_rank = lines.extents.rank();
  const bool columns = lines.count() > 1 && std::abs(lines.strides.back()) < std::abs(lines.stride);
  form.walk = columns ? Walk::columns : Walk::rows;
  if (columns) {
    form.cube.units = target.units;
    const std::int64_t wanted = enough_cubes * target.units / lines.count();
    plan.parts = std::clamp<std::int64_t>(std::min(wanted, lines.length / 64), 1, most_parts);
    plan.cubes = ceil_div(lines.count() * plan.parts, form.cube.units);
  } else {
    const int lanes = target.vector_bytes / static_cast<int>(size_of(dtype));
    form.lanes = starts_aligned(lines, lanes) ? lanes : 1;
    form.cube = line_units(target, ceil_div(lines.length, form.lanes * in_flight));
    plan.part_length = lines.length;
    if (form.cube.lines == 1 && lines.count() < enough_cubes) {
      const std::int64_t granule = 4 * in_flight * form.lanes * form.cube.units;
      const std::int64_t parts = std::min(most_parts, enough_cubes / lines.count());
      plan.part_length =
          std::max<std::int64_t>(1, ceil_div(ceil_div(lines.length, parts), granule)) * granule;
      plan.parts = ceil_div(lines.length, plan.part_length);
    }
    plan.cubes = ceil_div(lines.count() * plan.parts, form.cube.lines);
  }
  form.split = plan.parts > 1;
  return plan;
}

void run(CubeBackend& backend, const Plan& plan, const Lines& lines, std::int64_t tasks,
         std::span<const runtime::BufferRef> buffers) {
  std::vector<std::int64_t> scalars{lines.offset, tasks,      lines.length,
                                    lines.stride, plan.parts, plan.part_length};
  for (const auto* dims : {&lines.extents, &lines.strides}) {
    scalars.insert(scalars.end(), dims->begin(), dims->end());
  }
  const auto& program = backend.kernels().get(key_of(plan.form), [&] { return build(plan.form); });
  backend.launch(program, {static_cast<std::uint32_t>(std::min(plan.cubes, most_cubes)), 1, 1}, buffers,
                 scalars);
}

}  // namespace

CubeRef arg_reduce(CubeBackend& backend, const op::ArgReduce& op, const CubeRef& input,
                   const op::TensorType& type) {
  auto out = backend.allocate(type);
  if (type.shape.product() == 0) return out;
  const auto& target = backend.target();
  const Lines lines = lines_of(input->view(), op.axis);
  const Plan plan = plan_of(target, op.kind, input->dtype, lines);
  if (!plan.form.split) {
    const runtime::BufferRef buffers[] = {out->buffer, input->buffer};
    run(backend, plan, lines, lines.count(), buffers);
    return out;
  }
  const Shape parts{lines.count(), plan.parts};
  const auto values = backend.allocate({paired(input->dtype), parts});
  const auto indices = backend.allocate({DType::i64, parts});
  const runtime::BufferRef first[] = {values->buffer, indices->buffer, input->buffer};
  run(backend, plan, lines, lines.count() * plan.parts, first);

  Plan join;
  join.form = {op.kind, paired(input->dtype), Walk::join, false, true, 1, 1, line_units(target, plan.parts)};
  join.parts = plan.parts;
  join.cubes = ceil_div(lines.count(), join.form.cube.lines);
  const runtime::BufferRef second[] = {out->buffer, values->buffer, indices->buffer};
  run(backend, join, Lines{{lines.count()}, {plan.parts}, 0, plan.parts, 1}, lines.count(), second);
  return out;
}

}  // namespace strata::cube
