#include "cube/attention/attention.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "cube/attention/kernels.hpp"

namespace strata::cube::attention {
namespace {

const CubeValue& value(const backend::ValueRef& v) { return static_cast<const CubeValue&>(*v); }

/// Rows of q, k, v and g lie dense in memory, whatever the strides of the other axes.
CubeRef with_dense_rows(CubeBackend& backend, const backend::ValueRef& v) {
  CubeRef x(static_cast<CubeValue*>(v.get()));
  return x->shape[3] == 1 || x->strides[3] == 1 ? x : backend.contiguous(x);
}

/// What the kernels of one call share. `operands` are q, k, v and perhaps a mask.
class Call {
 public:
  Call(CubeBackend& backend, bool causal, double scale, backend::Inputs operands)
      : backend_(backend),
        q_(with_dense_rows(backend, operands[0])),
        k_(with_dense_rows(backend, operands[1])),
        v_(with_dense_rows(backend, operands[2])),
        scale_(scale) {
    form_.causal = causal;
    form_.dtype = q_->dtype;
    form_.tile = tile_form(backend.target(), form_.dtype);
    form_.key_vectors = form_.tile.vectors(q_->shape[3]);
    form_.value_vectors = form_.tile.vectors(v_->shape[3]);
    if (operands.size() < 4) return;
    const auto& given = value(operands[3]);
    const Shape scores{q_->shape[0], q_->shape[1], q_->shape[2], k_->shape[2]};
    mask_ = backend.view(given, op::expanded(given.view(), {scores}));
    form_.mask = given.dtype == DType::boolean ? MaskKind::boolean : MaskKind::additive;
  }

  /// The inputs of gradients alone.
  void add_gradient(const backend::ValueRef& log_sum, const backend::ValueRef& g,
                    const backend::ValueRef& delta) {
    log_sum_ = backend_.contiguous(CubeRef(static_cast<CubeValue*>(log_sum.get())));
    g_ = with_dense_rows(backend_, g);
    delta_ = backend_.contiguous(CubeRef(static_cast<CubeValue*>(delta.get())));
  }

  void launch(KernelKind kind, std::initializer_list<CubeRef> results) const {
    auto form = form_;
    form.kind = kind;
    if (kind == KernelKind::forward) form.key_vectors = 0;
    const bool keys = kind == KernelKind::key_gradient;
    const auto& matrices = keys ? k_ : q_;
    const std::int64_t rows = form.tile.tile_rows(), tiles = (matrices->shape[2] + rows - 1) / rows,
                       tasks = tiles * matrices->shape[0] * matrices->shape[1];
    std::vector<runtime::BufferRef> buffers;
    for (const auto& r : results) buffers.push_back(r->buffer);
    for (const auto* x : {&q_, &k_, &v_, &mask_, &log_sum_, &g_, &delta_})
      if (*x) buffers.push_back((*x)->buffer);
    std::vector<std::int64_t> scalars{tasks,        tiles,        q_->shape[1],
                                      k_->shape[1], q_->shape[2], k_->shape[2],
                                      q_->shape[3], v_->shape[3], std::bit_cast<std::int64_t>(scale_)};
    const auto add = [&](const CubeRef& x, int axes) {
      scalars.push_back(x->offset);
      for (int axis = 0; axis < axes; ++axis) scalars.push_back(x->strides[axis]);
    };
    for (const auto* x : {&q_, &k_, &v_}) add(*x, 3);
    if (mask_) add(mask_, 4);
    if (g_) {
      add(g_, 3);
      add(log_sum_, 0);
      add(delta_, 0);
    }
    const auto& program = backend_.kernels().get(kernel_key(form), [&] { return build(form); });
    const auto cubes = std::min<std::int64_t>(tasks, std::numeric_limits<std::int32_t>::max());
    backend_.launch(program, {static_cast<std::uint32_t>(cubes), 1, 1}, buffers, scalars);
  }

 private:
  CubeBackend& backend_;
  KernelForm form_;
  CubeRef q_, k_, v_, mask_, log_sum_, g_, delta_;
  double scale_;
};

}  // namespace

bool serves(backend::Inputs inputs) {
  const auto good = [](const backend::ValueRef& x) {
    return x->shape.product() > 0 && x->shape[3] <= widest_row;
  };
  return std::ranges::all_of(inputs.first(3), good);
}

backend::Values execute(CubeBackend& backend, const op::Attention& op, backend::Inputs inputs,
                        const op::TensorTypes& types) {
  const auto out = backend.allocate(types[0]), log_sum = backend.allocate(types[1]);
  Call(backend, op.causal, op.scale, inputs).launch(KernelKind::forward, {out, log_sum});
  backend::Values results;
  results.push_back(out);
  results.push_back(log_sum);
  return results;
}

backend::Values execute(CubeBackend& backend, const op::AttentionGradient& op, backend::Inputs inputs,
                        const op::TensorTypes& types) {
  const auto operands = inputs.size() - 3;
  Call call(backend, op.causal, op.scale, inputs.first(operands));
  call.add_gradient(inputs[operands], inputs[operands + 1], inputs[operands + 2]);
  const auto dq = backend.allocate(types[0]), dk = backend.allocate(types[1]),
             dv = backend.allocate(types[2]);
  call.launch(KernelKind::query_gradient, {dq});
  call.launch(KernelKind::key_gradient, {dk, dv});
  backend::Values results;
  for (const auto& r : {dq, dk, dv}) results.push_back(r);
  return results;
}

}  // namespace strata::cube::attention
