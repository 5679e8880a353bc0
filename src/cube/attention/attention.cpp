#include "cube/attention/attention.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "cube/attention/kernels.hpp"
#include "cube/grid.hpp"

namespace strata::cube::attention {
namespace {

const CubeValue& value(const backend::ValueRef& v) { return static_cast<const CubeValue&>(*v); }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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
    form_.tile = tile_form(backend.target(), form_.dtype, q_->shape[2]);
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

  /// Parts of the keys, so that there is work for a whole device.
  std::int64_t parts() const {
    constexpr std::int64_t enough = 256, tiles_of_part = 4, most = 64;  // enough: cubes
    const auto n = k_->shape[2], least = tiles_of_part * form_.tile.tile_columns();
    return std::clamp<std::int64_t>(std::min(enough / tasks(q_, form_.tile), n / least), 1, most);
  }

  void launch(KernelKind kind, std::initializer_list<CubeRef> results, std::int64_t parts = 1) const {
    auto form = form_;
    form.kind = kind;
    form.split = parts > 1;
    const bool keys = kind == KernelKind::key_gradient;
    if (keys) form.tile = tile_form(backend_.target(), form.dtype, k_->shape[2]);
    form.tile.loaded = aligned() ? TileForm::lanes : 1;
    form.key_vectors = kind == KernelKind::forward ? 0 : form.tile.vectors(q_->shape[3]);
    form.value_vectors = kind == KernelKind::query_gradient ? 0 : form.tile.vectors(v_->shape[3]);
    const auto& matrices = keys ? k_ : q_;
    const auto tiles = tiles_of(matrices, form.tile), all = tasks(matrices, form.tile) * parts;
    std::vector<runtime::BufferRef> buffers;
    for (const auto& r : results) buffers.push_back(r->buffer);
    for (const auto* x : {&q_, &k_, &v_, &mask_, &log_sum_, &g_, &delta_})
      if (*x) buffers.push_back((*x)->buffer);
    std::vector<std::int64_t> scalars{all,          tiles,        q_->shape[1], k_->shape[1],
                                      q_->shape[2], k_->shape[2], q_->shape[3], v_->shape[3]};
    if (form.split) {
      const std::int64_t columns = form.tile.tile_columns(), all_tiles = ceil_div(k_->shape[2], columns);
      scalars.insert(scalars.end(), {parts, ceil_div(all_tiles, parts) * columns});
    }
    scalars.push_back(std::bit_cast<std::int64_t>(scale_));
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
    const auto cubes = std::min<std::int64_t>(all, std::numeric_limits<std::int32_t>::max());
    backend_.launch(program, {static_cast<std::uint32_t>(cubes), 1, 1}, buffers, scalars);
  }

 private:
  /// Whether rows may be loaded in vectors.
  bool aligned() const {
    const auto good = [](std::int64_t n) { return n % TileForm::lanes == 0; };
    for (const auto* x : {&q_, &k_, &v_, &g_}) {
      if (*x && !(good((*x)->offset) && good((*x)->shape[3]) && good((*x)->strides[0]) &&
                  good((*x)->strides[1]) && good((*x)->strides[2])))
        return false;
    }
    return true;
  }
  static std::int64_t tiles_of(const CubeRef& x, const TileForm& tile) {
    return ceil_div(x->shape[2], tile.tile_rows());
  }
  static std::int64_t tasks(const CubeRef& x, const TileForm& tile) {
    return tiles_of(x, tile) * x->shape[0] * x->shape[1];
  }

  CubeBackend& backend_;
  KernelForm form_;
  CubeRef q_, k_, v_, mask_, log_sum_, g_, delta_;
  double scale_;
};

void combine(CubeBackend& backend, std::int64_t parts, const CubeRef& out, const CubeRef& log_sum,
             const CubeRef& outs, const CubeRef& log_sums) {
  const auto elements = out->shape.product();
  const CombineForm form{out->dtype, backend.target().units, index_scalar({outs->shape.product()})};
  const auto& program = backend.kernels().get(combine_key(form), [&] { return build_combine(form); });
  const runtime::BufferRef buffers[] = {out->buffer, log_sum->buffer, outs->buffer, log_sums->buffer};
  const std::int64_t scalars[] = {elements, out->shape[3], out->shape[2], parts};
  backend.launch(program, {cubes_for(backend.target(), elements), 1, 1}, buffers, scalars);
}

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
  const Call call(backend, op.causal, op.scale, inputs);
  if (const auto parts = call.parts(); parts == 1) {
    call.launch(KernelKind::forward, {out, log_sum});
  } else {
    const auto& rows = types[1].shape;
    const auto wide = types[1].dtype;
    const auto outs = backend.allocate({wide, {rows[0], rows[1], parts, rows[2], types[0].shape[3]}}),
               log_sums = backend.allocate({wide, {rows[0], rows[1], parts, rows[2]}});
    call.launch(KernelKind::forward, {outs, log_sums}, parts);
    combine(backend, parts, out, log_sum, outs, log_sums);
  }
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
