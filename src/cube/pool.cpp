#include <limits>

#include "cube/emit_node.hpp"
#include "cube/grid.hpp"
#include "cube/pool.hpp"

namespace strata::cube::window {
namespace {

using kernel::Scalar;
using kernel::Val;
using kernel::Var;

Val lowest(Scalar s) {
  const auto type = kernel::make_type(s);
  if (kernel::is_float(s)) return kernel::constant(type, -std::numeric_limits<double>::infinity());
  if (s == Scalar::i64) return kernel::constant(type, std::numeric_limits<std::int64_t>::min());
  return kernel::constant(type, s == Scalar::i32 ? std::numeric_limits<std::int32_t>::min() : 0);
}

/// Records a pool. Constructor: arguments in the order of plan_pool.
class PoolRecorder {
 public:
  PoolRecorder(kernel::Builder& b, const PoolForm& form)
      : form_(form),
        out_(b.write("out", form.where ? Scalar::i64 : kernel::scalar_of(form.dtype))),
        x_(b.read("x", kernel::scalar_of(form.dtype))),
        total_(b.scalar("total", form.window.index)),
        offset_(b.scalar("offset", Scalar::i64)),
        axes_(b, form.window) {}

  void record() {
    for_each_element(total_, [&](Val at) {
      Digits digits(at);
      const auto o = axes_.out_point(digits);
      const Val plane = digits.rest() * axes_.in_size();
      if (form_.where) {
        out_.store(at, kernel::convert(where_largest(plane, o), Scalar::i64));
      } else {
        out_.store(at,
                   narrow(form_.kind == op::PoolKind::max ? largest(plane, o) : mean(plane, o), form_.dtype));
      }
    });
  }

 private:
  Val load(Val plane, const WindowAxes::Source& source) const {
    const Val at = kernel::convert(plane + source.position, Scalar::i64) + offset_;
    return widen(x_.load(at), form_.dtype);
  }
  static Val beats(Val v, Val best) { return (v > best) | kernel::is_nan(v); }
  Val scalar_beats(Val v, Val best) const { return kernel::is_float(v.scalar()) ? beats(v, best) : v > best; }

  Val largest(Val plane, const WindowAxes::Point& o) const {
    const Var best(lowest(compute_scalar(form_.dtype)));
    axes_.for_each_tap([&](const WindowAxes::Point& k) {
      const auto source = axes_.source(o, k);
      const Val v = load(plane, source);
      best = kernel::select(source.inside & scalar_beats(v, best), v, best.get());
    });
    return best;
  }

  /// The first of equal ones; NaN is largest.
  Val where_largest(Val plane, const WindowAxes::Point& o) const {
    const Var best(lowest(compute_scalar(form_.dtype))), at(axes_.index(-1));
    axes_.for_each_tap([&](const WindowAxes::Point& k) {
      const auto source = axes_.source(o, k);
      const Val v = load(plane, source);
      Val better = scalar_beats(v, best);
      if (kernel::is_float(v.scalar())) better = better & !kernel::is_nan(best);
      const Val takes = source.inside & (better | (at.get() < 0));
      best = kernel::select(takes, v, best.get());
      at = kernel::select(takes, source.position, at.get());
    });
    return at;
  }

  Val mean(Val plane, const WindowAxes::Point& o) const {
    const auto type = kernel::make_type(compute_scalar(form_.dtype));
    const Var sum(kernel::constant(type, 0)), count(axes_.index(0));
    axes_.for_each_tap([&](const WindowAxes::Point& k) {
      const auto source = axes_.source(o, k);
      sum += kernel::select(source.inside, load(plane, source), 0);
      if (!form_.count_padding) count += kernel::select(source.inside, axes_.index(1), 0);
    });
    return sum / kernel::convert(form_.count_padding ? axes_.counted(o) : count.get(), type.scalar);
  }

  const PoolForm form_;
  const kernel::Buffer out_, x_;
  const Val total_, offset_;
  const WindowAxes axes_;
};

/// A window that is all of x: a reduction, which spreads one result over many units.
bool covers_everything(const op::Pool& op, const Shape& x) {
  for (int i = 0; i < op.window.rank(); ++i) {
    if (op.window[i] != x[2 + i] || op.dilation[i] != 1 || op.padding[i] != 0) return false;
  }
  return true;
}

template <class Op>
backend::Values launch_pool(CubeBackend& backend, const Op& op, PoolForm form, const CubeRef& given,
                            const op::TensorType& type) {
  auto out = backend.allocate(type);
  if (type.shape.product() == 0) return backend::Values(std::move(out));
  const auto x = backend.contiguous(given);
  const auto g = Geometry::of(op, x->shape, op.window, type.shape);
  form.dtype = x->dtype;
  form.units = backend.target().units;
  form.window = window_form(
      g, op.window.rank(),
      index_scalar({type.shape.product(), x->shape.product(), g.largest_position(), product(g.window)}));
  std::vector<std::int64_t> scalars{type.shape.product(), x->offset};
  append_arguments(form.window, g, scalars);
  const auto& program = backend.kernels().get(pool_key(form), [&] { return build_pool(form); });
  const runtime::BufferRef buffers[] = {out->buffer, x->buffer};
  backend.launch(program, {cubes_for(backend.target(), type.shape.product()), 1, 1}, buffers, scalars);
  return backend::Values(std::move(out));
}

}  // namespace

KernelKey pool_key(const PoolForm& form) {
  KernelKeyHasher h("pool");
  h.add(form.kind);
  h.add(form.where);
  h.add(form.count_padding);
  h.add(form.dtype);
  h.add(form.units);
  hash_into(h, form.window);
  return h.key();
}

kernel::Kernel build_pool(const PoolForm& form) {
  const auto family = form.where ? std::string("arg_max_pool") : std::string(op::name_of(form.kind));
  kernel::Builder builder(family + '_' + std::string(name_of(form.dtype)),
                          {static_cast<std::uint32_t>(form.units), 1, 1});
  PoolRecorder(builder, form).record();
  return builder.finish();
}

backend::Values execute(CubeBackend& backend, const op::Pool& op, const CubeRef& x,
                        const op::TensorType& type) {
  if (type.shape.product() > 0 && covers_everything(op, x->shape)) {
    op::Reduce whole{op.kind == op::PoolKind::max ? op::ReduceKind::max : op::ReduceKind::mean, {}, true};
    for (int axis = 2; axis < x->shape.rank(); ++axis) whole.axes.push_back(axis);
    const backend::ValueRef input(x);
    return backend.execute(whole, {&input, 1});
  }
  PoolForm form;
  form.kind = op.kind;
  form.count_padding = op.count_padding;
  return launch_pool(backend, op, form, x, type);
}

backend::Values execute(CubeBackend& backend, const op::ArgPool& op, const CubeRef& x,
                        const op::TensorType& type) {
  PoolForm form;
  form.where = true;
  return launch_pool(backend, op, form, x, type);
}

}  // namespace strata::cube::window
