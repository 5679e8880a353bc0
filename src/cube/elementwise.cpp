#include "cube/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "cube/emit_node.hpp"

namespace strata::cube {
namespace {

constexpr std::int64_t cache_line = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Bytes of the widest type any value of the block is computed in.
int widest_bytes(const Block& block) {
  std::size_t bytes = 1;
  for (int v = 0; v < block.value_count(); ++v) {
    bytes = std::max(bytes, kernel::size_of(compute_scalar(block.type(v).dtype)));
  }
  const bool wide = std::any_of(block.nodes.begin(), block.nodes.end(), needs_position);  // positions are i64
  return wide ? 8 : static_cast<int>(bytes);
}

/// Bytes of the widest element that is read or written.
int widest_stored_bytes(const Block& block) {
  std::size_t bytes = 1;
  for (const auto& t : block.inputs) bytes = std::max(bytes, size_of(t.dtype));
  for (auto v : block.outputs) bytes = std::max(bytes, size_of(block.type(v).dtype));
  return static_cast<int>(bytes);
}

/// A short inner axis takes short vectors; only a few widths, so that lengths share kernels.
int choose_lanes(const Target& target, const Block& block, std::int64_t inner_extent) {
  constexpr int most = 64, narrow = 4, medium = 16;
  // A unit of many holds each lane in a register of its own: what counts is the width of its accesses.
  const int widest = target.units > 1 ? widest_stored_bytes(block) : widest_bytes(block);
  const int full = std::min(most, target.vectors * target.vector_bytes / widest);
  if (inner_extent <= narrow) return std::min(narrow, full);
  return inner_extent <= medium ? std::min(medium, full) : full;
}

LoopNest nest_of(const Block& block, std::span<const op::View> inputs, std::span<const op::View> outputs) {
  const Shape& space = outputs.front().shape;
  std::vector<Strides> operands;
  operands.reserve(outputs.size() + inputs.size());
  for (const auto& v : outputs) operands.push_back(v.strides);
  for (const auto& v : inputs) operands.push_back(broadcast_strides(v.shape, v.strides, space));
  for (const auto& node : block.nodes) {
    if (!needs_position(node)) continue;
    const auto& shape = node.type.shape;
    operands.push_back(broadcast_strides(shape, op::contiguous_strides(shape), space));
  }
  return collapse(space, std::move(operands));
}

std::int64_t bytes_per_element(const Block& block) {
  std::size_t bytes = 0;
  for (const auto& t : block.inputs) bytes += size_of(t.dtype);
  for (auto v : block.outputs) bytes += size_of(block.type(v).dtype);
  return static_cast<std::int64_t>(bytes);
}

/// Past the caches pays when nothing of the output would stay in them; whole aligned vectors only.
bool wants_non_temporal(const Target& target, const Block& block, const LoopNest& nest,
                        std::span<const op::View> outputs, int lanes) {
  if (target.cache_bytes == 0 || nest.extents.product() * bytes_per_element(block) <= target.cache_bytes)
    return false;
  return std::all_of(outputs.begin(), outputs.end(), [&](const op::View& v) {
    const auto i = static_cast<std::size_t>(&v - outputs.data());
    const auto bytes = static_cast<std::int64_t>(size_of(block.type(block.outputs[i]).dtype));
    const bool rows_aligned = nest.rank() == 1 || nest.inner_extent() * bytes % cache_line == 0;
    return v.offset == 0 && op::is_contiguous(v) && rows_aligned && lanes * bytes >= cache_line;
  });
}

/// Whether whole vectors of an operand begin at multiples of their length. CPUs do not care.
bool is_aligned(const Target& target, const LoopNest& nest, std::size_t operand, std::int64_t offset,
                int lanes) {
  const int layout = nest.layout_of[operand];
  if (target.units == 1 || nest.inner_access(layout) != Access::contiguous || offset % lanes != 0)
    return false;
  const auto& strides = nest.layouts[static_cast<std::size_t>(layout)];
  return std::all_of(strides.begin(), strides.end() - 1, [&](std::int64_t s) { return s % lanes == 0; });
}

}  // namespace

ElementwiseLaunch plan_elementwise(const Target& target, const Block& block, std::span<const op::View> inputs,
                                   std::span<const op::View> outputs) {
  const LoopNest nest = nest_of(block, inputs, outputs);
  ElementwiseLaunch launch;
  auto& form = launch.form;
  form.rank = nest.rank();
  form.lanes = choose_lanes(target, block, nest.inner_extent());
  form.non_temporal = wants_non_temporal(target, block, nest, outputs, form.lanes);
  form.layout_of = nest.layout_of;
  const Strides row_major = op::contiguous_strides(nest.extents);
  for (std::size_t i = 0; i < nest.layouts.size(); ++i) {
    const int layout = static_cast<int>(i);
    const Access inner = nest.layouts[i].back() == -1 ? Access::reversed : nest.inner_access(layout);
    form.layouts.push_back({inner, nest.layouts[i] == row_major, nest.is_scalar(layout)});
  }
  for (const auto& v : outputs)
    form.aligned.push_back(is_aligned(target, nest, form.aligned.size(), v.offset, form.lanes));
  for (const auto& v : inputs)
    form.aligned.push_back(is_aligned(target, nest, form.aligned.size(), v.offset, form.lanes));

  // Segments: as long as a cube's share of work allows; rows shorter than that share a cube.
  const std::int64_t lanes = form.lanes, inner = nest.inner_extent(), rows = nest.rows();
  const std::int64_t share =
      std::max<std::int64_t>(lanes, target.cube_bytes / std::max<std::int64_t>(1, bytes_per_element(block)));
  const std::int64_t segment = std::min(ceil_div(inner, lanes), share / lanes) * lanes;
  const std::int64_t segments = ceil_div(inner, segment), tasks = rows * segments;
  form.whole_rows = segments == 1 && nest.rank() > 1;
  const std::int64_t widest_grid = std::numeric_limits<std::int32_t>::max();
  const std::int64_t tasks_per_cube =
      std::max(std::max<std::int64_t>(1, share / segment), ceil_div(tasks, widest_grid));
  launch.cubes = static_cast<std::uint32_t>(ceil_div(tasks, tasks_per_cube));
  form.units_x = static_cast<int>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(segment / lanes, target.units))));
  form.units_x = std::min(form.units_x, target.units);
  form.units_y = target.units / form.units_x;

  auto& s = launch.scalars;  // the order of Recorder's constructor
  s.insert(s.end(), {inner, segment, segments, tasks, tasks_per_cube});
  for (int axis = 1; axis + 1 < nest.rank(); ++axis) s.push_back(nest.extents[axis]);
  for (std::size_t i = 0; i < nest.layouts.size(); ++i) {
    if (form.layouts[i].dense || form.layouts[i].scalar) continue;
    for (auto stride : nest.layouts[i]) s.push_back(stride);
  }
  for (const auto& v : outputs) s.push_back(v.offset);
  for (const auto& v : inputs) s.push_back(v.offset);
  for (const auto& node : block.nodes) append_arguments(node, s);
  return launch;
}

KernelKey elementwise_key(const Block& block, const ElementwiseForm& form) {
  KernelKeyHasher h("elementwise");
  h.add(block.inputs.size());
  for (const auto& t : block.inputs) h.add(t.dtype);
  for (const auto& node : block.nodes) {
    h.add(node.op.index());
    std::visit(op::Overload{[&](const op::Unary& op) { h.add(op.kind); },
                            [&](const op::Binary& op) { h.add(op.kind); },
                            [&](const op::Compare& op) { h.add(op.kind); },
                            [&](const op::Random& op) { h.add(op.distribution); }, [](const auto&) {}},
               node.op);
    h.add(node.type.dtype);
    for (auto operand : node.operands) h.add(operand);
  }
  h.add(block.outputs.size());
  for (auto v : block.outputs) h.add(v);
  for (int v : {form.rank, form.lanes, form.units_x, form.units_y}) h.add(v);
  h.add(form.whole_rows);
  h.add(form.non_temporal);
  for (const auto& l : form.layouts) h.add(static_cast<int>(l.inner) * 4 + l.dense * 2 + l.scalar);
  for (auto l : form.layout_of) h.add(l);
  for (bool a : form.aligned) h.add(a);
  return h.key();
}

std::string elementwise_name(const Block& block) {
  constexpr std::size_t spelled = 4;
  std::string ops;
  std::size_t count = 0;
  for (const auto& node : block.nodes) {
    const bool fill = std::holds_alternative<op::Fill>(node.op);
    if (fill && block.nodes.size() > 1) continue;
    if (++count > spelled) continue;
    if (const auto* cast = std::get_if<op::Cast>(&node.op);
        cast && block.type(node.operands[0]).dtype == cast->dtype) {
      ops += "_copy";
    } else {
      ops += '_' + std::string(op::name_of(node.op));
    }
  }
  if (count > spelled) ops += "_and_" + std::to_string(count - spelled) + "_more";
  ops += '_' + std::string(name_of(block.type(block.outputs.front()).dtype));
  return count == 1 ? ops.substr(1) : "elementwise" + ops;
}

}  // namespace strata::cube
