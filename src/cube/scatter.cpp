#include "cube/scatter.hpp"

#include <algorithm>

#include "cube/arg_sort.hpp"
#include "cube/emit_node.hpp"
#include "cube/index_check.hpp"
#include "cube/lines.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;
using op::ScatterMode;

/// How the entries of a line are worked on. atomics: each by itself. runs: those of one target, side by side
/// once sorted, by one unit. parts, then join: a unit does not go beyond the end of a chunk of places; what a
/// run amounts to in each of its chunks is joined by a second kernel.
enum class Stage : std::uint8_t { atomics, runs, parts, join };

struct Form {
  DType dtype{}, index{};
  ScatterMode mode{};
  Stage stage{};
  bool shared = false;  ///< one line of indices serves all lines
  int units = 1;
};

/// Places of a chunk; longer runs are cut.
constexpr std::int64_t chunk = 256;

Scalar moved(DType t) { return t == DType::boolean ? Scalar::u8 : kernel::scalar_of(t); }

/// Whether the order in which entries take effect cannot be seen, and there are instructions for it.
bool has_atomics(DType t, ScatterMode mode) {
  return (t == DType::i32 || t == DType::i64) && mode != ScatterMode::assign && mode != ScatterMode::mul;
}

Val combine(ScatterMode mode, Val old, Val v) {
  switch (mode) {
    case ScatterMode::assign:
      break;
    case ScatterMode::add:
      return old + v;
    case ScatterMode::mul:
      return old * v;
    case ScatterMode::max:
    case ScatterMode::min: {
      const Val better = mode == ScatterMode::max ? v > old : v < old;
      return kernel::select(kernel::is_float(v.scalar()) ? better | kernel::is_nan(v) : better, v, old);
    }
  }
  return v;
}

/// One unit for each entry of the index: outer x entries x inner; to join, for each chunk of them.
class Recorder {
 public:
  Recorder(kernel::Builder& b, const Form& form) : form_(form) {
    out_ = b.read_write("out", moved(form.dtype));
    if (form.stage == Stage::parts) partials_ = b.write("partials", compute_scalar(form.dtype));
    if (form.stage == Stage::join) {
      partials_ = b.read("partials", compute_scalar(form.dtype));
    } else {
      source_ = b.read("source", moved(form.dtype));
    }
    index_ = b.read("index", kernel::scalar_of(form.index));
    if (form.stage != Stage::atomics) order_ = b.read("order", Scalar::i64);
    if (form.stage != Stage::join) check_ = b.read_write("check", Scalar::i64);
    const auto argument = [&](std::string_view name) { return b.scalar(name, Scalar::i64); };
    source_offset_ = argument("source_offset");
    index_offset_ = argument("index_offset");
    index_stride_ = argument("index_stride");
    extent_ = argument("extent");
    total_ = argument("total");
    entries_ = argument("entries");
    inner_ = argument("inner");
    chunks_ = argument("chunks");
  }

  void record() {
    const Val step = kernel::convert(kernel::cube_count_x(), Scalar::i64) * form_.units;
    kernel::for_(kernel::absolute_pos(), total_, step, [&](Val number) {
      const Val along = form_.stage == Stage::join ? chunks_ : entries_;
      const Val row = number / inner_, outer = row / along;
      const Line line{outer, number - row * inner_};
      const Val place = row - outer * along;
      if (form_.stage == Stage::atomics) return apply(line, place);
      form_.stage == Stage::join ? join_run(line, place) : apply_run(line, place);
    });
  }

 private:
  struct Line {
    Val outer, inner;
  };

  Val at(const Line& line, Val entry) const { return (line.outer * entries_ + entry) * inner_ + line.inner; }
  Val target(const Line& line, Val index) const {
    return (line.outer * extent_ + index) * inner_ + line.inner;
  }
  Val index_of(const Line& line, Val entry) const {
    const Val place = form_.shared ? entry * index_stride_ : at(line, entry);
    return kernel::convert(index_.load(index_offset_ + place), Scalar::i64);
  }
  Val stored(const Line& line, Val entry) const { return source_.load(source_offset_ + at(line, entry)); }
  Val value(const Line& line, Val entry) const { return widen(stored(line, entry), form_.dtype); }
  void if_good(const Line& line, Val entry, Val index, auto&& body) const {
    kernel::if_(in_range(index, extent_), body, [&] { check_.atomic_min(0, at(line, entry)); });
  }

  void apply(const Line& line, Val entry) const {
    const Val index = index_of(line, entry);
    if_good(line, entry, index, [&] {
      const Val to = target(line, index), v = value(line, entry);
      if (form_.mode == ScatterMode::add) out_.atomic_add(to, v);
      if (form_.mode == ScatterMode::max) out_.atomic_max(to, v);
      if (form_.mode == ScatterMode::min) out_.atomic_min(to, v);
    });
  }

  Val entry_at(const Line& line, Val place) const {
    return order_.load(form_.shared ? place : at(line, place));
  }

  Val index_in_order(const Line& line, Val place) const { return index_of(line, entry_at(line, place)); }

  /// Does the run of entries of one target that begins (assign: ends) at `place`, if one does.
  void apply_run(const Line& line, Val place) const {
    const Val entry = entry_at(line, place), index = index_of(line, entry);
    const bool assigns = form_.mode == ScatterMode::assign;
    const Val beyond = assigns ? place + 1 : place - 1;
    const Val at_edge = assigns ? beyond == entries_ : beyond < 0;
    const Val neighbour = index_in_order(line, kernel::select(at_edge, place, beyond));
    const Val first = at_edge | (neighbour != index);
    if_good(line, entry, index, [&] {
      if (assigns) return kernel::if_(first, [&] { out_.store(target(line, index), stored(line, entry)); });
      const Val opens = place % chunk == 0;
      kernel::if_(form_.stage == Stage::parts ? first | opens : first, [&] {
        const Val to = target(line, index), end = end_of_run(line, place, index);
        const auto whole = [&] {
          const Val total = combined(line, widen(out_.load(to), form_.dtype), place, end);
          out_.store(to, narrow(total, form_.dtype));
        };
        if (form_.stage == Stage::runs) return whole();
        const Val cut = (place / chunk + 1) * chunk;
        kernel::if_(first & (end <= cut), whole, [&] {
          const Val total = combined(line, value(line, entry), place + 1, kernel::min(end, cut));
          partials_.store(partial(line, place / chunk, opens), total);
        });
      });
    });
  }

  /// `start` combined with the entries at places [from, to), in order.
  Val combined(const Line& line, Val start, Val from, Val to) const {
    const Var total(start), next(from);
    const auto take = [&](int count) {
      std::vector<Val> entries, values;
      for (int k = 0; k < count; ++k) entries.push_back(entry_at(line, next.get() + k));
      for (const Val& entry : entries) values.push_back(value(line, entry));
      for (const Val& v : values) total.set(combine(form_.mode, total, v));
      next.set(next.get() + count);
    };
    constexpr int in_flight = 4;
    kernel::while_([&] { return next.get() + in_flight <= to; }, [&] { take(in_flight); });
    kernel::while_([&] { return next.get() < to; }, [&] { take(1); });
    return total;
  }

  /// A chunk has at most two: of the run at its first place, and of one that begins later and goes on.
  Val partial(const Line& line, Val of_chunk, Val opens) const {
    const Val which = kernel::select(opens, index_constant(0), index_constant(1));
    return ((line.outer * chunks_ + of_chunk) * 2 + which) * inner_ + line.inner;
  }

  /// Joins what the run that begins in this chunk and goes on beyond it amounts to, if there is one.
  void join_run(const Line& line, Val of_chunk) const {
    const Val begin = of_chunk * chunk, next = begin + chunk;
    kernel::if_(next < entries_, [&] {
      const Val index = index_in_order(line, next);
      const Val before = index_in_order(line, kernel::max(begin - 1, 0));
      const Val begins_here = (begin == 0) | (before != index);
      const Val goes_on = index_in_order(line, next - 1) == index;
      kernel::if_(begins_here & goes_on & in_range(index, extent_), [&] {
        const Val to = target(line, index), end = end_of_run(line, next, index);
        const Val opens = index_in_order(line, begin) == index;
        const Val mine = partials_.load(partial(line, of_chunk, opens));
        const Var total(combine(form_.mode, widen(out_.load(to), form_.dtype), mine));
        kernel::for_(of_chunk + 1, (end + (chunk - 1)) / chunk, 1, [&](Val c) {
          const Val rest =
              partials_.load(partial(line, c, kernel::constant(kernel::make_type(Scalar::boolean), 1)));
          total.set(combine(form_.mode, total, rest));
        });
        out_.store(to, narrow(total, form_.dtype));
      });
    });
  }

  /// By steps that double, then halve: runs are mostly short.
  Val end_of_run(const Line& line, Val place, Val index) const {
    const auto holds = [&](Val p) {
      const Val inside = p < entries_;
      return inside & (index_in_order(line, kernel::select(inside, p, place)) == index);
    };
    const Var last(place), step(index_constant(1));
    kernel::while_([&] { return holds(last.get() + step); },
                   [&] {
                     last.set(last.get() + step);
                     step.set(step.get() * 2);
                   });
    kernel::while_([&] { return step.get() > 1; },
                   [&] {
                     step.set(step.get() >> 1);
                     const Val further = last.get() + step;
                     last.set(kernel::select(holds(further), further, last));
                   });
    return last.get() + 1;
  }

  const Form& form_;
  Buffer out_, partials_, source_, index_, order_, check_;
  Val source_offset_, index_offset_, index_stride_, extent_, total_, entries_, inner_, chunks_;
};

kernel::Kernel build(const Form& form) {
  std::string name = "scatter_" + std::string(op::name_of(form.mode));
  if (form.shared) name += "_rows";
  if (form.stage == Stage::parts) name += "_parts";
  if (form.stage == Stage::join) name += "_join";
  kernel::Builder builder(name + '_' + std::string(name_of(form.dtype)),
                          {static_cast<std::uint32_t>(form.units), 1, 1});
  Recorder(builder, form).record();
  return builder.finish();
}

KernelKey key_of(const Form& form) {
  KernelKeyHasher h("scatter");
  h.add(form.dtype);
  h.add(form.index);
  h.add(form.mode);
  h.add(form.stage);
  h.add(form.shared);
  h.add(form.units);
  return h.key();
}

Stage stage_of(DType t, ScatterMode mode, std::int64_t entries) {
  constexpr std::int64_t few = 4 * chunk;
  if (has_atomics(t, mode)) return Stage::atomics;
  return mode == ScatterMode::assign || entries <= few ? Stage::runs : Stage::parts;
}

/// Whether the index is the same along every axis but `axis`.
bool is_shared(const op::View& index, int axis) {
  bool shared = true;
  for (int i = 0; i < index.shape.rank(); ++i) {
    shared = shared && (i == axis || index.shape[i] == 1 || index.strides[i] == 0);
  }
  return shared;
}

}  // namespace

CubeRef scatter(CubeBackend& backend, const op::Scatter& op, const CubeRef& x, const CubeRef& index,
                const CubeRef& source, const op::TensorType& type) {
  const auto out = backend.copy(*x);
  const auto total = index->shape.product(), entries = index->shape[op.axis];
  if (total == 0 || type.shape.product() == 0) return out;
  Form form{type.dtype, index->dtype, op.mode, stage_of(type.dtype, op.mode, entries)};
  form.shared = is_shared(index->view(), op.axis);
  form.units = backend.target().units;
  const auto line = [&] {
    return backend.view(*index, {{entries}, {index->strides[op.axis]}, index->offset});
  };
  const CubeRef indices = form.shared ? line() : backend.contiguous(index);
  const CubeRef values = backend.contiguous(source);
  std::int64_t inner = 1;
  for (int i = op.axis + 1; i < index->shape.rank(); ++i) inner *= index->shape[i];
  const auto chunks = ceil_div(entries, chunk), outer = total / (entries * inner);

  const auto launch = [&](std::int64_t tasks, std::span<const runtime::BufferRef> buffers,
                          runtime::CheckRef check) {
    const std::int64_t scalars[] = {values->offset,
                                    indices->offset,
                                    form.shared ? indices->strides[0] : 0,
                                    x->shape[op.axis],
                                    tasks,
                                    entries,
                                    inner,
                                    chunks};
    const auto cubes = std::min(ceil_div(tasks, form.units), most_cubes);
    backend.launch(backend.kernels().get(key_of(form), [&] { return build(form); }),
                   {static_cast<std::uint32_t>(cubes), 1, 1}, buffers, scalars, std::move(check));
  };
  const auto check = index_check(backend, "scatter", op.axis, backend::type_of(*x), index);
  std::vector<runtime::BufferRef> buffers{out->buffer, values->buffer, indices->buffer};
  if (form.stage == Stage::atomics) {
    launch(total, buffers, check);
    return out;
  }
  const op::ArgSort sort{form.shared ? 0 : op.axis};
  const auto order =
      backend.contiguous(arg_sort(backend, sort, indices, {DType::i64, indices->shape}))->buffer;
  buffers.push_back(order);
  if (form.stage == Stage::runs) {
    launch(total, buffers, check);
    return out;
  }
  const DType wide = type.dtype == DType::f16 || type.dtype == DType::bf16 ? DType::f32 : type.dtype;
  const auto partials = backend.allocate({wide, {outer, chunks, 2, inner}})->buffer;
  buffers.insert(buffers.begin() + 1, partials);
  launch(total, buffers, check);
  form.stage = Stage::join;
  const runtime::BufferRef joined[] = {out->buffer, partials, indices->buffer, order};
  launch(outer * chunks * inner, joined, {});
  return out;
}

}  // namespace strata::cube
