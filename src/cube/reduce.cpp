#include "cube/reduce.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "cube/emit_node.hpp"

namespace strata::cube {
namespace {

using op::ReduceKind;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::int64_t most_parts = 1024;

/// How the reduced axes of one result are cut: either the outer axes (taken together) or the innermost.
struct Parts {
  std::int64_t outer = 1, inner = 1;  ///< number of parts along each; one of them is 1
  std::int64_t outer_chunk = 1, inner_chunk = 1;
  std::int64_t count() const { return outer * inner; }
};

/// Cuts into about `wanted` parts; inner chunks are multiples of `inner_granule`.
Parts cut(const ReduceNest& nest, std::int64_t wanted, std::int64_t inner_granule) {
  const std::int64_t inner = nest.reduced_extents.back(), outer = nest.reduced() / inner;
  Parts parts{1, 1, outer, inner};
  if (wanted <= 1) return parts;
  if (outer >= wanted) {
    parts.outer_chunk = ceil_div(outer, wanted);
    parts.outer = ceil_div(outer, parts.outer_chunk);
  } else {
    parts.inner_chunk = ceil_div(ceil_div(inner, wanted), inner_granule) * inner_granule;
    parts.inner = ceil_div(inner, parts.inner_chunk);
  }
  return parts;
}

int lanes_for(const Target& target, std::size_t bytes, std::int64_t extent) {
  constexpr int most = 64, narrow = 4, medium = 16;
  const int full = std::min(most, target.vectors * target.vector_bytes / static_cast<int>(bytes));
  if (extent <= narrow) return std::min(narrow, full);
  return extent <= medium ? std::min(medium, full) : full;
}

/// Tasks of one part: results (as many as a cube takes side by side) in rows, strips of results in columns.
std::int64_t natural_tasks(const ReduceNest& nest, const ReduceKernelForm& form) {
  if (nest.form == ReduceForm::rows) return ceil_div(nest.outputs(), form.units_y);
  const std::int64_t width = std::int64_t{form.lanes} * form.vectors * form.units_x;
  return nest.outputs() / nest.kept_extents.back() * ceil_div(nest.kept_extents.back(), width);
}

void choose_widths(const Target& target, const ReduceNest& nest, ReduceKernelForm& form) {
  // A unit of many holds each lane in a register of its own: what counts is the width of its accesses.
  const auto bytes = target.units > 1 ? size_of(form.in)
                                      : std::max(kernel::size_of(compute_scalar(form.in)),
                                                 size_of(accumulator_dtype(form.in)));
  const bool rows = nest.form == ReduceForm::rows;
  const std::int64_t extent = rows ? nest.reduced_extents.back() : nest.kept_extents.back();
  form.lanes = lanes_for(target, bytes, extent);
  if (target.units == 1) {
    constexpr int strip = 4;  // vectors: whole cache lines of several rows in flight
    form.vectors = !rows && extent >= strip * form.lanes ? strip : 1;
    return;
  }
  // Rows: short ones share a cube. Columns: two planes side by side, the rest of the cube along what is
  // reduced.
  constexpr int widest_strip = 64;
  const auto vectors = static_cast<std::uint64_t>(ceil_div(extent, form.lanes));
  form.units_x = static_cast<int>(std::min<std::uint64_t>(
      std::bit_ceil(vectors),
      static_cast<std::uint64_t>(rows ? target.units : std::min(target.units, widest_strip))));
  form.units_y = target.units / form.units_x;
  const auto multiple = [&](std::int64_t v) { return v % form.lanes == 0; };
  const auto strides = [&](const Strides& s, int skipped) {
    for (int i = 0; i < s.rank() - skipped; ++i) {
      if (!multiple(s[i])) return false;
    }
    return true;
  };
  form.aligned = form.access == Access::contiguous && multiple(nest.offset) &&
                 strides(nest.kept_strides, rows ? 0 : 1) && strides(nest.reduced_strides, rows ? 1 : 0);
}

ReduceStage make_stage(const Target& target, const ReduceNest& nest, ReduceKernelForm form,
                       const Parts& parts, std::int64_t count) {
  ReduceStage stage;
  form.split = parts.count() > 1;
  const bool rows = nest.form == ReduceForm::rows;
  const std::int64_t strips = rows ? nest.outputs() : natural_tasks(nest, form),
                     tasks = rows ? ceil_div(strips * parts.count(), form.units_y) : strips * parts.count();
  const std::int64_t element = static_cast<std::int64_t>(size_of(form.in));
  const std::int64_t task_elements = std::max<std::int64_t>(1, nest.outputs() * nest.reduced() / tasks);
  std::int64_t tasks_per_cube = 1;
  if (target.units == 1)
    tasks_per_cube = std::max<std::int64_t>(1, target.cube_bytes / (task_elements * element));
  tasks_per_cube = std::max(tasks_per_cube, ceil_div(tasks, std::numeric_limits<std::int32_t>::max()));
  stage.cubes = static_cast<std::uint32_t>(ceil_div(tasks, tasks_per_cube));
  const std::int64_t inner = nest.reduced_extents.back();
  stage.scalars = {nest.offset,
                   rows ? strips * parts.count() : tasks,
                   tasks_per_cube * (rows ? form.units_y : 1),
                   parts.count(),
                   parts.inner,
                   parts.outer_chunk,
                   parts.inner_chunk,
                   nest.reduced() / inner,
                   inner,
                   strips,
                   nest.outputs(),
                   count};
  for (const auto* dims :
       {&nest.kept_extents, &nest.kept_strides, &nest.reduced_extents, &nest.reduced_strides}) {
    stage.scalars.insert(stage.scalars.end(), dims->begin(), dims->end());
  }
  if (form.split) {
    stage.out_shape = nest.form == ReduceForm::rows ? Shape{nest.outputs(), parts.count()}
                                                    : Shape{parts.count(), nest.outputs()};
  } else {
    stage.out_shape = Shape{nest.outputs()};
  }
  stage.form = form;
  return stage;
}

ReduceKernelForm form_of(const Target& target, ReduceKind kind, DType in, DType out, const ReduceNest& nest) {
  ReduceKernelForm form;
  form.kind = kind;
  form.in = in;
  form.out = out;
  form.form = nest.form;
  form.kept_rank = nest.kept_extents.rank();
  form.reduced_rank = nest.reduced_extents.rank();
  form.access =
      access_of(nest.form == ReduceForm::rows ? nest.reduced_strides.back() : nest.kept_strides.back());
  choose_widths(target, nest, form);
  return form;
}

}  // namespace

DType accumulator_dtype(DType t) {
  switch (t) {
    case DType::f16:
    case DType::bf16:
      return DType::f32;
    case DType::boolean:
      return DType::u8;
    default:
      return t;
  }
}

std::vector<ReduceStage> plan_reduce(const Target& target, ReduceKind kind, DType in, const op::View& input,
                                     const Axes& axes) {
  const ReduceNest nest = analyse_reduce(input, axes);
  auto form = form_of(target, kind, in, in, nest);
  const std::int64_t bytes = nest.outputs() * nest.reduced() * static_cast<std::int64_t>(size_of(in));
  const std::int64_t tasks = natural_tasks(nest, form);
  std::int64_t wanted = 1;
  if (tasks < target.enough_cubes) {
    wanted = std::min({most_parts, bytes / (tasks * std::max<std::int64_t>(1, target.part_bytes)),
                       nest.reduced() / 2, ceil_div(target.most_cubes, tasks)});
  }
  constexpr std::int64_t block_length = 16;  // additions, see reduce_kernel.cpp
  const std::int64_t granule =
      nest.form == ReduceForm::rows ? form.lanes * form.units_x * block_length : block_length;
  const Parts parts = cut(nest, wanted, granule);
  form.divide = kind == ReduceKind::mean;
  if (parts.count() == 1) return {make_stage(target, nest, form, parts, nest.reduced())};

  const DType partial = accumulator_dtype(in);
  form.divide = false;
  form.out = partial;
  auto first = make_stage(target, nest, form, parts, 1);
  const op::View partials{first.out_shape, op::contiguous_strides(first.out_shape), 0};
  const auto second_nest = analyse_reduce(partials, Axes{nest.form == ReduceForm::rows ? 1 : 0});
  auto second_form = form_of(target, kind, partial, in, second_nest);
  second_form.divide = kind == ReduceKind::mean;
  auto second = make_stage(target, second_nest, second_form, Parts{1, 1, 1, 1}, nest.reduced());
  return {std::move(first), std::move(second)};
}

KernelKey reduce_key(const ReduceKernelForm& form) {
  KernelKeyHasher h("reduce");
  h.add(form.kind);
  h.add(form.in);
  h.add(form.out);
  h.add(form.divide);
  h.add(form.form);
  h.add(form.access);
  h.add(form.split);
  for (int v : {form.kept_rank, form.reduced_rank, form.lanes, form.vectors, form.units_x, form.units_y})
    h.add(v);
  h.add(form.aligned);
  return h.key();
}

std::string reduce_name(const ReduceKernelForm& form) {
  std::string name = "reduce_" + std::string(op::name_of(form.kind));
  name += form.form == ReduceForm::rows ? "_rows" : "_columns";
  if (form.split) name += "_partial";
  return name + '_' + std::string(name_of(form.in));
}

}  // namespace strata::cube
