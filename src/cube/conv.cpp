#include "cube/conv.hpp"

#include <algorithm>

#include "cube/grid.hpp"

namespace strata::cube::window {
namespace {

/// A convolution's sizes; channels are those of one group.
struct Problem {
  Geometry geometry;
  int rank;
  std::int64_t batch, groups, in_channels, out_channels;
  bool transposed;
  DType dtype;

  Problem(const op::Conv& op, const Shape& x, const Shape& weight, const op::TensorType& result)
      : geometry(Geometry::of(op, x, spatial(weight), result.shape)),
        rank(x.rank() - 2),
        batch(x[0]),
        groups(op.groups),
        in_channels(x[1] / op.groups),
        out_channels(result.shape[1] / op.groups),
        transposed(op.transposed),
        dtype(result.dtype) {}

  std::int64_t taps() const { return product(geometry.window); }
  std::int64_t in_size() const { return product(geometry.in); }
  std::int64_t out_size() const { return product(geometry.out); }
  std::int64_t outputs() const { return batch * groups * out_channels * out_size(); }
  /// Products added up for one element of the result.
  std::int64_t terms() const { return in_channels * taps(); }
  /// Every element of the result meets one entry of x, its own.
  bool pointwise() const {
    return taps() == 1 && geometry.stride == Triple{1, 1, 1} && geometry.padding == Triple{} &&
           geometry.in == geometry.out;
  }
  /// Elements of the products that folding one image takes.
  std::int64_t products() const { return groups * out_channels * taps() * in_size(); }

 private:
  static Dims spatial(const Shape& weight) {
    Dims extents;
    for (int i = 2; i < weight.rank(); ++i) extents.push_back(weight[i]);
    return extents;
  }
};

CubeRef run(CubeBackend& backend, const op::Operation& op, std::initializer_list<CubeRef> inputs) {
  const std::vector<backend::ValueRef> values(inputs.begin(), inputs.end());
  return CubeRef(static_cast<CubeValue*>(backend.execute(op, values)[0].get()));
}
CubeRef reshaped(CubeBackend& backend, const CubeRef& x, const Shape& shape) {
  return run(backend, op::Reshape{shape}, {x});
}

/// A kernel of build_conv over `images` images, into `out` from image `first` on.
void launch_sums(CubeBackend& backend, const Problem& p, ConvForm form, const CubeRef& out,
                 std::int64_t first, std::int64_t images, const CubeRef& x, const CubeRef& weight) {
  const auto image = p.outputs() / p.batch, elements = images * image;
  form.transposed = p.transposed;
  form.in = x->dtype;
  form.out = p.dtype;
  form.units = backend.target().units;
  form.window = window_form(p.geometry, p.rank,
                            index_scalar({p.outputs(), x->shape.product(), weight->shape.product(),
                                          p.geometry.largest_position()}));
  std::vector<std::int64_t> scalars{elements,      p.in_channels, p.out_channels, p.groups,
                                    first * image, x->offset,     weight->offset};
  append_arguments(form.window, p.geometry, scalars);
  std::vector<runtime::BufferRef> buffers{out->buffer, x->buffer};
  if (!form.fold) buffers.push_back(weight->buffer);
  const auto& program = backend.kernels().get(conv_key(form), [&] { return build_conv(form); });
  const auto units = form.whole_cube ? elements * form.units : elements;
  backend.launch(program, {cubes_for(backend.target(), units), 1, 1}, buffers, scalars);
}

CubeRef sum_directly(CubeBackend& backend, const Problem& p, bool by_cubes, const CubeRef& x,
                     const CubeRef& weight, const op::TensorType& type) {
  auto out = backend.allocate(type);
  ConvForm form;
  form.whole_cube = by_cubes;
  auto source = backend.contiguous(x);
  if (x->shape.product() == 0) {  // only padding, for which the kernel reads the first element in vain
    const auto zero = run(backend, op::Fill{{}, x->dtype, 0}, {});
    source = backend.view(*zero, {x->shape, op::contiguous_strides(x->shape), 0});
  }
  launch_sums(backend, p, form, out, 0, p.batch, source, backend.contiguous(weight));
  return out;
}

/// [groups, out channels, rest of the terms], the left side of every product.
CubeRef weight_matrix(CubeBackend& backend, const Problem& p, const CubeRef& weight) {
  if (!p.transposed) return reshaped(backend, weight, {p.groups, p.out_channels, p.terms()});
  const auto by_channel = reshaped(backend, weight, {p.groups, p.in_channels, p.out_channels * p.taps()});
  return run(backend, op::Permute{{0, 2, 1}}, {by_channel});
}
/// [batch, groups, in channels, positions].
CubeRef channels(CubeBackend& backend, const Problem& p, const CubeRef& x) {
  return reshaped(backend, x, {p.batch, p.groups, p.in_channels, p.in_size()});
}

/// The windows of `count` positions from `first` on, [groups, terms, positions].
CubeRef unfold(CubeBackend& backend, const Problem& p, const CubeRef& x, std::int64_t first,
               std::int64_t count) {
  // Positions and terms look alike. The longer innermost axis of the two goes along memory.
  const auto image = p.out_size(), step = p.in_size(), steps = step * p.groups * p.in_channels;
  const bool swapped = first % image == 0 && count % image == 0 && p.taps() > image;
  auto g = p.geometry;
  if (swapped) {
    std::swap(g.window, g.out);
    std::swap(g.dilation, g.stride);
  }
  const auto rows = swapped ? count / image : p.in_channels, columns = swapped ? p.terms() : count;
  const auto out = backend.allocate(
      {p.dtype, swapped ? Shape{p.groups, count, columns} : Shape{p.groups, p.terms(), columns}});
  UnfoldForm form;
  form.dtype = p.dtype;
  form.units = backend.target().units;
  form.window = window_form(
      g, p.rank,
      index_scalar({out->shape.product(), x->shape.product(), p.batch * image, g.largest_position()}));
  const auto elements = p.groups * rows * columns;
  std::vector<std::int64_t> scalars{elements,
                                    rows,
                                    swapped ? 0 : first,
                                    columns,
                                    step * p.in_channels,
                                    swapped ? steps : step,
                                    swapped ? step : steps,
                                    x->offset + (swapped ? first / image * steps : 0)};
  append_arguments(form.window, g, scalars);
  const runtime::BufferRef buffers[] = {out->buffer, x->buffer};
  const auto& program = backend.kernels().get(unfold_key(form), [&] { return build_unfold(form); });
  backend.launch(program, {cubes_for(backend.target(), elements), 1, 1}, buffers, scalars);
  return swapped ? run(backend, op::Permute{{0, 2, 1}}, {out}) : out;
}

/// Calls body(first, count) for parts of `total`, each of at most `most` and a multiple of `granule` but the
/// last.
template <class Body>
void for_each_part(std::int64_t total, std::int64_t most, std::int64_t granule, Body&& body) {
  const auto part = std::max<std::int64_t>(most / granule, 1) * granule;
  for (std::int64_t first = 0; first < total; first += part) body(first, std::min(part, total - first));
}

CubeRef multiply_windows(CubeBackend& backend, const Problem& p, std::int64_t workspace, const CubeRef& given,
                         const CubeRef& weight, const op::TensorType& type) {
  const auto x = backend.contiguous(given);
  const auto image = p.out_size();
  const auto column = p.groups * p.terms() * static_cast<std::int64_t>(size_of(p.dtype));
  constexpr std::int64_t line = 32;  // keeps rows of the matrices aligned
  std::vector<backend::ValueRef> parts;
  for_each_part(p.batch * image, workspace / column, p.taps() > image ? image : line,
                [&](std::int64_t first, std::int64_t count) {
                  parts.push_back(run(backend, op::Matmul{}, {weight, unfold(backend, p, x, first, count)}));
                });
  const auto whole = parts.size() == 1 ? parts[0] : backend.execute(op::Cat{2}, parts)[0];
  const auto by_channel = reshaped(backend, CubeRef(static_cast<CubeValue*>(whole.get())),
                                   {p.groups, p.out_channels, p.batch, image});
  return reshaped(backend, run(backend, op::Permute{{2, 0, 1, 3}}, {by_channel}), type.shape);
}

CubeRef fold_products(CubeBackend& backend, const Problem& p, std::int64_t workspace, const CubeRef& x,
                      const CubeRef& weight, const op::TensorType& type) {
  // Products of halves are added up before they round.
  const DType sums = type.dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto summed = [&](const CubeRef& v) {
    return v->dtype == sums ? v : run(backend, op::Cast{sums}, {v});
  };
  const auto wide_weight = summed(weight), wide_x = summed(channels(backend, p, x));
  auto out = backend.allocate(type);
  ConvForm form;
  form.fold = true;
  const auto bytes = p.products() * static_cast<std::int64_t>(size_of(sums));
  for_each_part(p.batch, workspace / bytes, 1, [&](std::int64_t first, std::int64_t count) {
    auto stop = wide_x->shape;
    stop[0] = first + count;
    const auto images = run(backend, op::Slice{{first, 0, 0, 0}, stop, {1, 1, 1, 1}}, {wide_x});
    const auto products = run(backend, op::Matmul{}, {wide_weight, images});
    launch_sums(backend, p, form, out, first, count, backend.contiguous(products), weight);
  });
  return out;
}

}  // namespace

ConvPlan plan_conv(const Target& target, const op::Conv& op, const op::TensorType& x,
                   const op::TensorType& weight, const op::TensorType& type) {
  // Matrices that second-level caches hold for the most part, large enough to fill the device.
  constexpr std::int64_t workspace = 128 << 20;
  constexpr std::int64_t worth_a_product = 1 << 18;  // multiplications
  constexpr std::int64_t few = 8;         // channels: a product would do more moving than multiplying
  constexpr std::int64_t idle = 1 << 15;  // results that leave most of a device idle
  constexpr std::int64_t long_sum = 16;   // terms a unit
  const Problem p(op, x.shape, weight.shape, type);
  const auto inner = p.transposed ? p.in_channels : p.terms();
  const auto products = p.products() * static_cast<std::int64_t>(size_of(DType::f64));
  if (p.out_channels >= few && inner >= few && p.outputs() * p.terms() >= worth_a_product &&
      (!p.transposed || p.pointwise() || products <= workspace)) {
    return {ConvMethod::product, workspace};
  }
  const bool cubes = p.outputs() <= idle && p.terms() >= long_sum * target.units;
  return {cubes ? ConvMethod::by_cubes : ConvMethod::direct, 0};
}

CubeRef convolve(CubeBackend& backend, const ConvPlan& plan, const op::Conv& op, const CubeRef& x,
                 const CubeRef& weight, const op::TensorType& type) {
  const Problem p(op, x->shape, weight->shape, type);
  if (plan.method != ConvMethod::product || p.terms() == 0 || x->shape.product() == 0)
    return sum_directly(backend, p, plan.method == ConvMethod::by_cubes, x, weight, type);
  const auto matrix = weight_matrix(backend, p, weight);
  if (p.pointwise())
    return reshaped(backend, run(backend, op::Matmul{}, {matrix, channels(backend, p, x)}), type.shape);
  return p.transposed ? fold_products(backend, p, plan.workspace, x, matrix, type)
                      : multiply_windows(backend, p, plan.workspace, x, matrix, type);
}

backend::Values execute(CubeBackend& backend, const op::Conv& op, const CubeRef& x, const CubeRef& weight,
                        const op::TensorType& type) {
  if (type.shape.product() == 0) return backend::Values(backend.allocate(type));
  const auto plan = plan_conv(backend.target(), op, backend::type_of(*x), backend::type_of(*weight), type);
  return backend::Values(convolve(backend, plan, op, x, weight, type));
}

}  // namespace strata::cube::window
