#include "cube/cube_backend.hpp"

#include <limits>

#include <fmt/format.h>

#include "base/detached.hpp"
#include "bridge/expand.hpp"
#include "cube/arg_reduce.hpp"
#include "cube/arg_sort.hpp"
#include "cube/attention/attention.hpp"
#include "cube/cross_entropy.hpp"
#include "cube/cumulative.hpp"
#include "cube/custom_kernel.hpp"
#include "cube/elementwise.hpp"
#include "cube/gather.hpp"
#include "cube/matmul/matmul.hpp"
#include "cube/normalise.hpp"
#include "cube/reduce.hpp"
#include "cube/scatter.hpp"
#include "cube/transpose.hpp"
#include "cube/window.hpp"
#include "strata/error.hpp"
#include "trace/span.hpp"

namespace strata::cube {
namespace {

CubeRef cube_ref(const backend::ValueRef& v) { return CubeRef(static_cast<CubeValue*>(v.get())); }

op::View dense_view(const Shape& shape) { return {shape, op::contiguous_strides(shape), 0}; }

/// A block of one operation.
Block single(const op::Operation& op, backend::Inputs inputs, const op::TensorType& type) {
  Block block;
  Node node{op, {}, type};
  block.inputs.reserve(inputs.size());
  for (const auto& v : inputs) {
    node.operands.push_back(static_cast<int>(block.inputs.size()));
    block.inputs.push_back(backend::type_of(*v));
  }
  block.outputs.push_back(static_cast<int>(block.inputs.size()));
  block.nodes.push_back(std::move(node));
  return block;
}

/// A block that only moves elements.
Block copy_block(const op::TensorType& type) {
  Block block;
  block.inputs.push_back(type);
  block.nodes.push_back({op::Cast{type.dtype}, {0}, type});
  block.outputs.push_back(1);
  return block;
}

/// The value of a reduction over nothing.
op::Number value_of_empty(op::ReduceKind kind) {
  if (kind == op::ReduceKind::prod) return 1;
  return kind == op::ReduceKind::mean ? op::Number(std::numeric_limits<double>::quiet_NaN()) : op::Number(0);
}

/// Gives the bytes of a row-major tensor their type when they are there.
base::Detached deliver(Future<std::shared_ptr<const std::byte>> bytes, DType dtype, Shape shape,
                       Promise<TensorData> result) {
  try {
    result.set_value(dtype, shape, co_await std::move(bytes));
  } catch (...) {
    result.set_exception(std::current_exception());
  }
}

}  // namespace

CubeBackend::CubeBackend(runtime::Client& client, backend::HostExecute host)
    : client_(client),
      name_(fmt::format("cube<{}<{}>>", client.properties().runtime, client.properties().compiler)),
      target_(target_of(client.properties())),
      host_(std::move(host)),
      kernels_(client) {}

backend::Values CubeBackend::execute(const op::Operation& op, backend::Inputs inputs) {
  trace::Span span("cube", "execute");
  if (span.recording()) span.field("op", op::name_of(op));
  const auto types = backend::infer(op, inputs, name_);
  const auto layout = [&](const op::View& v) {
    return backend::Values(view(static_cast<const CubeValue&>(*inputs[0]), v));
  };
  if (expands(op, inputs)) return backend::Values(bridge::expand(op, inputs));
  const auto host = [&] { return on_host(op, inputs, types); };
  const auto input = [&](std::size_t i) { return cube_ref(inputs[i]); };
  const bool gpu = target_.units > 1;  // on a CPU flex's code is as fast and shares the memory
  const auto input_view = [&] { return static_cast<const CubeValue&>(*inputs[0]).view(); };
  return std::visit(
      op::Overload{
          [&](const op::Permute& o) { return layout(op::permuted(input_view(), o)); },
          [&](const op::Expand& o) { return layout(op::expanded(input_view(), o)); },
          [&](const op::Slice& o) { return layout(op::sliced(input_view(), o)); },
          [&](const op::Flip& o) { return layout(op::flipped(input_view(), o)); },
          [&](const op::Unfold& o) { return layout(op::unfolded(input_view(), o)); },
          [&](const op::SliceAssign& o) { return backend::Values(slice_assign(o, inputs, types[0])); },
          [&](const op::ArgReduce& o) {
            return gpu ? backend::Values(arg_reduce(*this, o, input(0), types[0])) : host();
          },
          [&](const op::ArgSort& o) {
            return gpu ? backend::Values(arg_sort(*this, o, input(0), types[0])) : host();
          },
          [&](const op::Cumulative& o) {
            return gpu ? backend::Values(cumulative(*this, o, input(0), types[0])) : host();
          },
          [&](const op::Gather& o) {
            return gpu ? backend::Values(gather(*this, o, input(0), input(1), types[0])) : host();
          },
          [&](const op::Scatter& o) {
            return gpu ? backend::Values(scatter(*this, o, input(0), input(1), input(2), types[0])) : host();
          },
          [&](const op::Conv& o) {
            return gpu ? window::execute(*this, o, cube_ref(inputs[0]), cube_ref(inputs[1]), types[0])
                       : host();
          },
          [&](const op::Pool& o) {
            return gpu ? window::execute(*this, o, cube_ref(inputs[0]), types[0]) : host();
          },
          [&](const op::Linalg&) { return host(); },
          [&](const op::ArgPool& o) {
            return gpu ? window::execute(*this, o, cube_ref(inputs[0]), types[0]) : host();
          },
          [&](const op::Fft&) { return host(); },
          [&](const op::Attention& o) {
            return gpu && attention::serves(inputs) ? attention::execute(*this, o, inputs, types) : host();
          },
          [&](const op::AttentionGradient& o) {
            return gpu && attention::serves(inputs) ? attention::execute(*this, o, inputs, types) : host();
          },
          [&](const op::CrossEntropy& o) {
            return gpu && inputs[0]->shape.product() > 0 ? cross_entropy(*this, o, inputs, types) : host();
          },
          [&](const op::CrossEntropyGradient& o) {
            return gpu && types[0].shape.product() > 0
                       ? backend::Values(cross_entropy_gradient(*this, o, inputs, types[0]))
                       : host();
          },
          [&](const op::Ctc&) { return host(); },
          [&](const op::CtcGradient&) { return host(); },
          [&](const op::CustomKernel& o) { return custom_kernel(*this, o, inputs, types); },
          [&](const op::Softmax&) { return execute_rows(*this, op, inputs); },
          [&](const op::Norm&) { return execute_rows(*this, op, inputs); },
          [&](const op::Reshape& o) { return backend::Values(reshape(o, cube_ref(inputs[0]))); },
          [&](const op::Cat& o) { return backend::Values(cat(o, inputs, types[0])); },
          [&](const op::Reduce& o) { return backend::Values(reduce(o, cube_ref(inputs[0]), types[0])); },
          [&](const auto&) {
            return backend::Values(execute_block(single(op, inputs, types[0]), inputs)[0]);
          }},
      op);
}

bool CubeBackend::expands(const op::Operation& op, backend::Inputs inputs) const {
  return bridge::expands(op) && !has_row_kernel(target_, op, backend::type_of(*inputs[0]));
}
bool CubeBackend::expands(const op::Operation& op, std::span<const op::TensorType> inputs) const {
  return bridge::expands(op) && !has_row_kernel(target_, op, inputs[0]);
}

std::vector<backend::ValueRef> CubeBackend::execute_block(const Block& block, backend::Inputs inputs) {
  if (block.has_matmul() && block.space().product() > 0) return matmul::execute(*this, block, inputs);
  std::vector<backend::ValueRef> results;
  std::vector<CubeRef> outputs, operands;
  for (auto v : block.outputs) {
    outputs.push_back(allocate(block.type(v)));
    results.push_back(outputs.back());
  }
  if (block.space().product() == 0) return results;
  operands.reserve(inputs.size());
  for (const auto& v : inputs) operands.push_back(near_row_major(cube_ref(v)));
  run_elementwise(block, operands, outputs);
  return results;
}

void CubeBackend::run_elementwise(const Block& block, std::span<const CubeRef> inputs,
                                  std::span<const CubeRef> outputs) {
  std::vector<op::View> in, out;
  std::vector<runtime::BufferRef> buffers;
  in.reserve(inputs.size());
  out.reserve(outputs.size());
  buffers.reserve(inputs.size() + outputs.size());
  for (const auto& v : outputs) {
    out.push_back(v->view());
    buffers.push_back(v->buffer);
  }
  for (const auto& v : inputs) {
    in.push_back(v->view());
    buffers.push_back(v->buffer);
  }
  const auto planned = plan_elementwise(target_, block, in, out);
  const auto& program = kernels_.get(elementwise_key(block, planned.form),
                                     [&] { return build_elementwise(block, planned.form); });
  launch(program, {planned.cubes, 1, 1}, buffers, planned.scalars);
}

CubeRef CubeBackend::allocate(const op::TensorType& type) {
  const auto bytes = static_cast<std::size_t>(type.shape.product()) * size_of(type.dtype);
  auto buffer = planning_ ? runtime::BufferRef() : client_.allocate(bytes);
  return CubeRef(new CubeValue(*this, type.dtype, dense_view(type.shape), std::move(buffer)));
}

CubeRef CubeBackend::view(const CubeValue& value, const op::View& layout) {
  return CubeRef(new CubeValue(*this, value.dtype, layout, value.buffer));
}

CubeRef CubeBackend::contiguous(const CubeRef& value) {
  return op::is_contiguous(value->view()) ? value : copy(*value);
}

CubeRef CubeBackend::packed(const CubeRef& value) {
  const auto bytes = static_cast<std::size_t>(value->shape.product()) * size_of(value->dtype);
  const bool whole = op::is_contiguous(value->view()) && (planning_ || value->buffer->bytes() == bytes);
  return whole ? value : copy(*value);
}

CubeRef CubeBackend::copy(const CubeValue& value) {
  const auto type = backend::type_of(value);
  auto out = allocate(type);
  if (type.shape.product() == 0) return out;
  if (const auto planned = plan_transpose(target_, type.dtype, value.view())) {
    const auto& program =
        kernels_.get(transpose_key(planned->form), [&] { return build_transpose(planned->form); });
    const runtime::BufferRef buffers[] = {out->buffer, value.buffer};
    launch(program, {planned->cubes, 1, 1}, buffers, planned->scalars);
    return out;
  }
  const CubeRef input = view(value, value.view());
  run_elementwise(copy_block(type), {&input, 1}, {&out, 1});
  return out;
}

CubeRef CubeBackend::near_row_major(CubeRef value) {
  constexpr std::int64_t worth_a_copy = 1 << 14;
  if (value->shape.product() < worth_a_copy || op::is_contiguous(value->view())) return value;
  return plan_transpose(target_, value->dtype, value->view()) ? copy(*value) : value;
}

CubeRef CubeBackend::reshape(const op::Reshape& op, const CubeRef& input) {
  op::View out;
  if (op::reshaped(input->view(), op.shape, out)) return view(*input, out);
  const auto dense = copy(*input);
  return view(*dense, dense_view(op.shape));
}

CubeRef CubeBackend::cat(const op::Cat& op, backend::Inputs inputs, const op::TensorType& type) {
  auto out = allocate(type);
  std::int64_t start = 0;
  for (const auto& input : inputs) {
    const auto extent = input->shape[op.axis];
    const op::Slice place{Dims::filled(type.shape.rank(), 0), type.shape, Dims::filled(type.shape.rank(), 1)};
    auto part = place;
    part.start[op.axis] = start;
    part.stop[op.axis] = start + extent;
    start += extent;
    if (input->shape.product() == 0) continue;
    const CubeRef source = cube_ref(input), target = view(*out, op::sliced(out->view(), part));
    run_elementwise(copy_block(backend::type_of(*input)), {&source, 1}, {&target, 1});
  }
  return out;
}

CubeRef CubeBackend::slice_assign(const op::SliceAssign& op, backend::Inputs inputs,
                                  const op::TensorType& type) {
  auto out = copy(static_cast<const CubeValue&>(*inputs[0]));
  const CubeRef source = cube_ref(inputs[1]);
  if (source->shape.product() == 0) return out;
  const CubeRef target = view(*out, op::sliced(out->view(), {op.start, op.stop, op.step}));
  run_elementwise(copy_block({type.dtype, source->shape}), {&source, 1}, {&target, 1});
  return out;
}

backend::Values CubeBackend::on_host(const op::Operation& op, backend::Inputs inputs,
                                     const op::TensorTypes& types) {
  backend::Values results;
  runtime::HostCall call{std::string(op::name_of(op)), {}, {}, {}};
  std::int64_t elements = 0;
  for (const auto& type : types) {
    const auto out = allocate(type);
    call.outputs.push_back(out->buffer);
    results.push_back(out);
    elements += type.shape.product();
  }
  if (elements == 0) return results;
  if (planning_) {
    planning_->push_back({fmt::format("{} (on the host)", op::name_of(op)), nullptr, {1, 1, 1}});
    return results;
  }
  if (!host_) {
    throw RuntimeError(fmt::format("[{}] {} has no kernel for {}, and no host to compute it", op::name_of(op),
                                   name_, types[0].to_string()));
  }
  std::vector<backend::HostTensor> tensors;
  for (const auto& input : inputs) {
    const auto value = cube_ref(input);
    tensors.push_back({value->dtype, value->view(), nullptr, value->buffer->bytes()});
    call.inputs.push_back(value->buffer);
  }
  call.run = [this, op, tensors = std::move(tensors)](std::span<const std::byte* const> bytes,
                                                      std::span<std::byte* const> outputs) mutable {
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = bytes[i];
    host_(op, tensors, outputs);
  };
  client_.host_call(std::move(call));
  return results;
}

CubeRef CubeBackend::reduce(const op::Reduce& op, const CubeRef& input, const op::TensorType& type) {
  if (type.shape.product() > 0 && input->shape.product() == 0) {
    const op::Fill fill{type.shape, type.dtype, value_of_empty(op.kind)};
    return cube_ref(execute_block(single(fill, {}, type), {})[0]);
  }
  if (type.shape.product() == 0) return allocate(type);
  if (type.shape.product() == input->shape.product()) {  // every reduced axis has extent 1
    op::View out{type.shape, {}, input->offset};
    for (int axis = 0; axis < input->shape.rank(); ++axis) {
      if (op.keep_dims || !op.axes.contains(axis)) out.strides.push_back(input->strides[axis]);
    }
    return view(*input, out);
  }
  CubeRef current = input;
  for (const auto& stage : plan_reduce(target_, op.kind, input->dtype, input->view(), op.axes)) {
    const auto& program = kernels_.get(reduce_key(stage.form), [&] { return build_reduce(stage.form); });
    auto out = allocate({stage.form.out, stage.out_shape});
    const runtime::BufferRef buffers[] = {out->buffer, current->buffer};
    launch(program, {stage.cubes, 1, 1}, buffers, stage.scalars);
    current = std::move(out);
  }
  return view(*current, dense_view(type.shape));
}

void CubeBackend::launch(const Program& program, std::array<std::uint32_t, 3> cubes,
                         std::span<const runtime::BufferRef> buffers, std::span<const std::int64_t> scalars,
                         runtime::CheckRef check) {
  if (planning_) {
    planning_->push_back({program.ir->name, program.ir, cubes});
    return;
  }
  client_.launch(program.handle, cubes, buffers, scalars, std::move(check));
}

std::vector<PlannedLaunch> CubeBackend::plan(const op::Operation& op,
                                             std::span<const op::TensorType> inputs) {
  std::vector<PlannedLaunch> launches;
  std::vector<backend::ValueRef> values;
  for (const auto& t : inputs) {
    values.emplace_back(new CubeValue(*this, t.dtype, dense_view(t.shape), runtime::BufferRef()));
  }
  struct Reset {
    CubeBackend& backend;
    ~Reset() { backend.planning_ = nullptr; }
  } reset{*this};
  planning_ = &launches;
  execute(op, values);
  return launches;
}

backend::ValueRef CubeBackend::from_data(const TensorData& data) {
  trace::Span span("cube", "from_data");
  auto value = allocate({data.dtype(), data.shape()});
  if (data.byte_size() > 0) client_.write(value->buffer, data.shared_bytes(), data.byte_size());
  return value;
}

Future<TensorData> CubeBackend::into_data(const backend::ValueRef& value) {
  trace::Span span("cube", "into_data");
  auto source = cube_ref(value);
  const auto bytes = static_cast<std::size_t>(source->shape.product()) * size_of(source->dtype);
  if (bytes == 0) return make_ready_future<TensorData>(source->dtype, source->shape, TensorData::allocate(0));
  source = packed(source);  // a client reads whole buffers: no more than the elements travel
  Promise<TensorData> promise;
  auto future = promise.future();
  deliver(client_.read(source->buffer), source->dtype, source->shape, std::move(promise));
  return future;
}

Future<runtime::Lent> CubeBackend::lend(const backend::ValueRef& value) {
  return client_.lend(packed(cube_ref(value))->buffer);
}

backend::ValueRef CubeBackend::from_lent(const op::TensorType& type, runtime::Lent source) {
  auto value = allocate(type);
  client_.copy(value->buffer, std::move(source));
  return value;
}

void CubeBackend::sync() { client_.sync(); }

}  // namespace strata::cube
