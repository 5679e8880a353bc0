#include "cube/cumulative.hpp"

#include <algorithm>
#include <optional>

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
using op::CumulativeKind;

struct Form {
  CumulativeKind kind{};
  DType dtype{};
  bool rows = false;
  bool totals = false;   ///< writes the totals of parts, else the result
  bool split = false;    ///< starts from the totals of the parts before
  bool vectors = false;  ///< rows: elements of a unit are one aligned load
  int elements = 1;      ///< rows: of a unit in a tile
  LineUnits cube{};      ///< columns: the units alone count
};

/// What totals are kept in.
DType total_dtype(CumulativeKind kind, DType t) {
  if (t == DType::f16 || t == DType::bf16) return DType::f32;
  const bool extremum = kind == CumulativeKind::max || kind == CumulativeKind::min;
  return t == DType::f32 && !extremum ? DType::f64 : t;
}

class Recorder {
 public:
  Recorder(kernel::Builder& b, const Form& form)
      : form_(form), scalar_(kernel::scalar_of(total_dtype(form.kind, form.dtype))) {
    out_ = b.write("out", form.totals ? scalar_ : kernel::scalar_of(form.dtype));
    x_ = b.read("x", kernel::scalar_of(form.dtype));
    if (form.split) totals_ = b.read("totals", scalar_);
    const auto argument = [&](std::string_view name) { return b.scalar(name, Scalar::i64); };
    offset_ = argument("offset");
    tasks_ = argument("tasks");
    length_ = argument("length");
    inner_ = argument("inner");
    parts_ = argument("parts");
    part_length_ = argument("part_length");
    if (!form.rows) return;
    if (form.totals || form.split) line_.emplace(form.cube, scalar_);
    if (!form.totals && form.cube.planes() > 1)
      shared_ = kernel::shared_array(scalar_, form.cube.planes(), "plane_totals");
  }

  void record() {
    if (form_.rows) return for_each_line(form_.cube, tasks_, [&](Val task) { record_row(task); });
    const Val step = index64(kernel::cube_count_x()) * form_.cube.units;
    kernel::for_(kernel::absolute_pos(), tasks_, step, [&](Val task) { record_column(task); });
  }

 private:
  static Val index64(Val v) { return kernel::convert(v, Scalar::i64); }

  Val nothing() const {
    const auto t = kernel::make_type(scalar_);
    if (form_.kind == CumulativeKind::sum) return kernel::constant(t, 0);
    if (form_.kind == CumulativeKind::prod) return kernel::constant(t, 1);
    return extreme(t, form_.kind == CumulativeKind::min);
  }
  Val join(Val before, Val v) const {
    switch (form_.kind) {
      case CumulativeKind::sum:
        return before + v;
      case CumulativeKind::prod:
        return before * v;
      case CumulativeKind::max:
        return kernel::max(before, v);
      case CumulativeKind::min:
        return kernel::min(before, v);
    }
    return v;
  }
  Val total_of(Val stored) const {
    return stored.scalar() == scalar_ ? stored : kernel::convert(stored, scalar_);
  }
  Val stored_of(Val total) const {
    return total.scalar() == x_.scalar() ? total : kernel::convert(total, x_.scalar());
  }

  // --- columns

  void record_column(Val task) const {
    Val row = task / inner_, part = index_constant(0), outer = row;
    const Val column = task - row * inner_;
    Val begin = index_constant(0), end = length_;
    if (form_.totals || form_.split) {
      outer = row / parts_;
      part = row - outer * parts_;
      begin = part * part_length_;
      end = kernel::min(begin + part_length_, length_);
    }
    const Val line = outer * length_ * inner_ + column;
    const Var total(nothing());
    if (form_.split) {
      const Val first = outer * parts_ * inner_ + column;
      kernel::for_(0, part, 1, [&](Val p) { total.set(join(total, totals_.load(first + p * inner_))); });
    }
    const Var next(begin);
    const auto take = [&](int steps) {
      const Val from = next;
      std::vector<Val> values;
      for (int k = 0; k < steps; ++k) {
        values.push_back(total_of(x_.load(offset_ + line + (from + k) * inner_)));
      }
      for (int k = 0; k < steps; ++k) {
        total.set(join(total, values[static_cast<std::size_t>(k)]));
        if (!form_.totals) out_.store(line + (from + k) * inner_, stored_of(total));
      }
      next.set(from + steps);
    };
    constexpr int in_flight = 8;
    kernel::while_([&] { return next.get() + in_flight <= end; }, [&] { take(in_flight); });
    kernel::while_([&] { return next.get() < end; }, [&] { take(1); });
    if (form_.totals) out_.store(task, total);
  }

  // --- rows

  Val joined(Val v) const {
    return line_->all(v, [&](Val a, Val b) { return join(a, b); });
  }
  /// Position among the units that share a line within a plane.
  Val place() const { return kernel::unit_x() & (form_.cube.in_plane() - 1); }

  struct Scanned {
    Val before, all;  ///< of the units before this one; of all
  };
  Scanned scanned(Val v) const {
    const int width = form_.cube.in_plane(), planes = form_.cube.planes();
    const Val lane = kernel::builtin(kernel::Builtin::plane_lane);
    for (int d = 1; d < width; d *= 2) {
      const Val other = kernel::plane_shuffle(v, kernel::max(lane - d, 0));
      v = kernel::select(place() >= d, join(other, v), v);
    }
    Scanned result{nothing(), v};
    if (width > 1) {
      const Val left = kernel::plane_shuffle(v, kernel::max(lane - 1, 0));
      result.before = kernel::select(place() == 0, nothing(), left);
      result.all = kernel::plane_shuffle(v, lane | (width - 1));
    }
    if (planes == 1) return result;
    const Val plane = kernel::unit_x() / plane_size;
    kernel::if_(place() == plane_size - 1, [&] { shared_.store(plane, v); });
    kernel::barrier();
    Val all = nothing(), before = nothing();
    for (int p = 0; p < planes; ++p) {
      before = kernel::select(plane == p, all, before);
      all = p == 0 ? shared_.load(0) : join(all, shared_.load(p));
    }
    kernel::barrier();
    return {join(before, result.before), all};
  }

  void record_row(Val task) const {
    Val line = task, part = index_constant(0), begin = index_constant(0), end = length_;
    if (form_.totals || form_.split) {
      line = task / parts_;
      part = task - line * parts_;
      begin = part * part_length_;
      end = kernel::min(begin + part_length_, length_);
    }
    const Val base = line * length_;
    const std::int64_t tile = std::int64_t{form_.cube.units} * form_.elements;
    const Var carry(nothing());
    if (form_.split) {  // there are no more parts than units
      const Val unit = index64(kernel::unit_x());
      const Val at = line * parts_ + kernel::min(unit, parts_ - 1);
      carry.set(joined(kernel::select(unit < part, totals_.load(at), nothing())));
    }
    kernel::for_(begin, end, tile, [&](Val first) {
      const Val mine = first + index64(kernel::unit_x()) * form_.elements;
      auto values = load(base, mine, end);
      for (std::size_t k = 1; k < values.size(); ++k) values[k] = join(values[k - 1], values[k]);
      if (form_.totals) return carry.set(join(carry, values.back()));
      const Scanned units = scanned(values.back());
      const Val before = join(carry, units.before);
      for (auto& v : values) v = join(before, v);
      store(base, mine, end, values);
      carry.set(join(carry, units.all));
    });
    if (!form_.totals) return;
    const Val total = joined(carry);
    kernel::if_(kernel::unit_x() == 0, [&] { out_.store(task, total); });
  }

  /// The unit's elements of a tile; beyond the end, nothing.
  std::vector<Val> load(Val base, Val mine, Val end) const {
    std::vector<Val> values;
    if (form_.vectors) {
      const Val at = offset_ + base + kernel::min(mine, length_ - form_.elements);
      const Val loaded = x_.load(at, form_.elements, {.flags = kernel::aligned});
      for (int k = 0; k < form_.elements; ++k) {
        const Val v = form_.elements == 1 ? loaded : kernel::extract(loaded, k);
        values.push_back(kernel::select(mine < end, total_of(v), nothing()));
      }
      return values;
    }
    for (int k = 0; k < form_.elements; ++k) {
      const Val v = x_.load(offset_ + base + kernel::min(mine + k, length_ - 1));
      values.push_back(kernel::select(mine + k < end, total_of(v), nothing()));
    }
    return values;
  }

  void store(Val base, Val mine, Val end, const std::vector<Val>& values) const {
    if (!form_.vectors) {
      for (int k = 0; k < form_.elements; ++k) {
        kernel::if_(mine + k < end,
                    [&] { out_.store(base + mine + k, stored_of(values[static_cast<std::size_t>(k)])); });
      }
      return;
    }
    kernel::if_(mine < end, [&] {
      Val all = kernel::splat(stored_of(values[0]), form_.elements);
      for (int k = 1; k < form_.elements; ++k) {
        all = kernel::insert(all, stored_of(values[static_cast<std::size_t>(k)]), k);
      }
      out_.store(base + mine, all, {.flags = kernel::aligned});
    });
  }

  const Form& form_;
  const Scalar scalar_;  ///< of totals
  Buffer out_, x_, totals_, shared_;
  std::optional<LineReduction> line_;
  Val offset_, tasks_, length_, inner_, parts_, part_length_;
};

kernel::Kernel build(const Form& form) {
  std::string name = "cum" + std::string(op::name_of(form.kind)) + (form.rows ? "_rows" : "_columns");
  if (form.totals) name += "_totals";
  kernel::Builder builder(name + '_' + std::string(name_of(form.dtype)), form.cube.cube_dim());
  Recorder(builder, form).record();
  return builder.finish();
}

KernelKey key_of(const Form& form) {
  KernelKeyHasher h("cumulative");
  h.add(form.kind);
  h.add(form.dtype);
  for (bool v : {form.rows, form.totals, form.split, form.vectors}) h.add(v);
  for (int v : {form.elements, form.cube.units, form.cube.lines}) h.add(v);
  return h.key();
}

/// `x` is row-major: outer x length x inner.
struct Work {
  CubeRef x;
  std::int64_t outer = 1, length = 1, inner = 1;
};

struct Plan {
  Form form;
  std::int64_t parts = 1, part_length = 1;
};

Plan plan_of(const Target& target, CumulativeKind kind, const Work& work) {
  constexpr std::int64_t enough_cubes = 1024;
  Plan plan{{kind, work.x->dtype}, 1, work.length};
  Form& form = plan.form;
  form.rows = work.inner == 1;
  form.cube.units = target.units;
  const std::int64_t lines = work.outer * work.inner;
  std::int64_t wanted = 1, granule = 64;
  if (form.rows) {
    const int vector = std::min(8, target.vector_bytes / static_cast<int>(size_of(form.dtype)));
    form.elements = vector;
    form.vectors = work.length % vector == 0 && work.x->offset % vector == 0;
    form.cube = line_units(target, ceil_div(work.length, vector));
    granule = 4 * std::int64_t{form.cube.units} * vector;
    if (form.cube.units == target.units) wanted = std::min<std::int64_t>(enough_cubes / lines, target.units);
  } else {
    wanted = std::min<std::int64_t>(enough_cubes * target.units / lines, 64);
  }
  if (wanted > 1) {
    plan.part_length = ceil_div(ceil_div(work.length, wanted), granule) * granule;
    plan.parts = ceil_div(work.length, plan.part_length);
  }
  return plan;
}

void launch(CubeBackend& backend, const Form& form, const Plan& plan, const Work& work,
            std::span<const runtime::BufferRef> buffers) {
  const auto tasks = work.outer * plan.parts * work.inner;
  const auto cubes = std::min(ceil_div(tasks, form.rows ? form.cube.lines : form.cube.units), most_cubes);
  const std::int64_t scalars[] = {work.x->offset, tasks,      work.length,
                                  work.inner,     plan.parts, plan.part_length};
  backend.launch(backend.kernels().get(key_of(form), [&] { return build(form); }),
                 {static_cast<std::uint32_t>(cubes), 1, 1}, buffers, scalars);
}

void scan(CubeBackend& backend, CumulativeKind kind, const Work& work, const CubeRef& out) {
  const Plan plan = plan_of(backend.target(), kind, work);
  std::vector<runtime::BufferRef> buffers{out->buffer, work.x->buffer};
  Form form = plan.form;
  if (plan.parts > 1) {
    const auto totals =
        backend.allocate({total_dtype(kind, work.x->dtype), {work.outer * plan.parts * work.inner}});
    form.totals = true;
    const runtime::BufferRef first[] = {totals->buffer, work.x->buffer};
    launch(backend, form, plan, work, first);
    form.totals = false;
    form.split = true;
    buffers.push_back(totals->buffer);
  }
  launch(backend, form, plan, work, buffers);
}

}  // namespace

CubeRef cumulative(CubeBackend& backend, const op::Cumulative& op, const CubeRef& input,
                   const op::TensorType& type) {
  constexpr std::int64_t enough_columns = 16;  // for neighbouring units to touch neighbouring addresses
  if (type.shape.product() == 0) return backend.allocate(type);
  Work work;
  work.length = type.shape[op.axis];
  for (int i = op.axis + 1; i < type.shape.rank(); ++i) work.inner *= type.shape[i];
  work.outer = type.shape.product() / (work.length * work.inner);
  if (work.inner >= enough_columns || work.inner == 1) {
    const auto out = backend.allocate(type);
    work.x = backend.contiguous(input);
    scan(backend, op.kind, work, out);
    return out;
  }
  work.x = backend.contiguous(backend.view(*input, axis_last(input->view(), op.axis)));
  work.outer *= work.inner;
  work.inner = 1;
  const auto out = backend.allocate({type.dtype, work.x->shape});
  scan(backend, op.kind, work, out);
  return backend.view(*out, axis_back(out->view(), op.axis));
}

}  // namespace strata::cube
