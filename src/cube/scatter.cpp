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

struct Form {
  DType dtype{}, index{};
  ScatterMode mode{};
  bool shared = false;   ///< one line of indices serves all lines
  bool atomics = false;  ///< else: entries in the order of their indices
  int units = 1;
};

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

/// One unit for each entry of the index: outer x entries x inner.
class Recorder {
 public:
  Recorder(kernel::Builder& b, const Form& form) : form_(form) {
    out_ = b.read_write("out", moved(form.dtype));
    source_ = b.read("source", moved(form.dtype));
    index_ = b.read("index", kernel::scalar_of(form.index));
    if (!form.atomics) order_ = b.read("order", Scalar::i64);
    check_ = b.read_write("check", Scalar::i64);
    const auto argument = [&](std::string_view name) { return b.scalar(name, Scalar::i64); };
    source_offset_ = argument("source_offset");
    index_offset_ = argument("index_offset");
    index_stride_ = argument("index_stride");
    extent_ = argument("extent");
    total_ = argument("total");
    entries_ = argument("entries");
    inner_ = argument("inner");
  }

  void record() {
    const Val step = kernel::convert(kernel::cube_count_x(), Scalar::i64) * form_.units;
    kernel::for_(kernel::absolute_pos(), total_, step, [&](Val number) {
      const Val row = number / inner_, outer = row / entries_;
      const Line line{outer, number - row * inner_};
      const Val place = row - outer * entries_;
      form_.atomics ? apply(line, place) : apply_run(line, place);
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

  /// Does the entries of equal index that begin (assign: end) at `place`, if any do.
  void apply_run(const Line& line, Val place) const {
    const Val entry = entry_at(line, place), index = index_of(line, entry);
    const bool assigns = form_.mode == ScatterMode::assign;
    const Val beyond = assigns ? place + 1 : place - 1;
    const Val is_end = assigns ? beyond == entries_ : beyond < 0;
    const Val neighbour = index_of(line, entry_at(line, kernel::select(is_end, place, beyond)));
    if_good(line, entry, index, [&] {
      kernel::if_(is_end | (neighbour != index), [&] {
        const Val to = target(line, index);
        if (assigns) return out_.store(to, stored(line, entry));
        const Val end = end_of_run(line, place, index);
        const Var total(widen(out_.load(to), form_.dtype)), next(place);
        const auto take = [&](int entries) {
          std::vector<Val> values;
          for (int k = 0; k < entries; ++k) values.push_back(value(line, entry_at(line, next.get() + k)));
          for (const Val& v : values) total.set(combine(form_.mode, total, v));
          next.set(next.get() + entries);
        };
        constexpr int in_flight = 4;
        kernel::while_([&] { return next.get() + in_flight <= end; }, [&] { take(in_flight); });
        kernel::while_([&] { return next.get() < end; }, [&] { take(1); });
        out_.store(to, narrow(total, form_.dtype));
      });
    });
  }

  /// By steps that double, then halve: runs are mostly short.
  Val end_of_run(const Line& line, Val place, Val index) const {
    const auto holds = [&](Val p) {
      const Val inside = p < entries_;
      return inside & (index_of(line, entry_at(line, kernel::select(inside, p, place))) == index);
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
  Buffer out_, source_, index_, order_, check_;
  Val source_offset_, index_offset_, index_stride_, extent_, total_, entries_, inner_;
};

kernel::Kernel build(const Form& form) {
  const auto name = "scatter_" + std::string(op::name_of(form.mode)) + (form.shared ? "_rows_" : "_") +
                    std::string(name_of(form.dtype));
  kernel::Builder builder(name, {static_cast<std::uint32_t>(form.units), 1, 1});
  Recorder(builder, form).record();
  return builder.finish();
}

KernelKey key_of(const Form& form) {
  KernelKeyHasher h("scatter");
  h.add(form.dtype);
  h.add(form.index);
  h.add(form.mode);
  h.add(form.shared);
  h.add(form.atomics);
  h.add(form.units);
  return h.key();
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
  Form form{type.dtype, index->dtype, op.mode};
  form.shared = is_shared(index->view(), op.axis);
  form.atomics = has_atomics(type.dtype, op.mode);
  form.units = backend.target().units;
  const auto line = [&] {
    return backend.view(*index, {{entries}, {index->strides[op.axis]}, index->offset});
  };
  const CubeRef indices = form.shared ? line() : backend.contiguous(index);
  const CubeRef values = backend.contiguous(source);
  std::vector<runtime::BufferRef> buffers{out->buffer, values->buffer, indices->buffer};
  std::int64_t inner = 1;
  for (int i = op.axis + 1; i < index->shape.rank(); ++i) inner *= index->shape[i];
  if (!form.atomics) {
    const op::ArgSort sort{form.shared ? 0 : op.axis};
    buffers.push_back(
        backend.contiguous(arg_sort(backend, sort, indices, {DType::i64, indices->shape}))->buffer);
  }
  const std::int64_t scalars[] = {values->offset,
                                  indices->offset,
                                  form.shared ? indices->strides[0] : 0,
                                  x->shape[op.axis],
                                  total,
                                  entries,
                                  inner};
  const auto cubes = std::min(ceil_div(total, form.units), most_cubes);
  backend.launch(backend.kernels().get(key_of(form), [&] { return build(form); }),
                 {static_cast<std::uint32_t>(cubes), 1, 1}, buffers, scalars,
                 index_check(backend, "scatter", op.axis, backend::type_of(*x), index));
  return out;
}

}  // namespace strata::cube
