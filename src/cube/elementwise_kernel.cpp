#include "cube/elementwise.hpp"
#include "cube/emit_node.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;

constexpr std::int64_t cache_line = 64, prefetch_distance = 1024;

/// Records the kernel of one block. Constructor: arguments in the order of plan_elementwise; record(): the
/// loops.
class Recorder {
 public:
  Recorder(kernel::Builder& b, const Block& block, const ElementwiseForm& form) : block_(block), form_(form) {
    int n = 0;
    for (auto v : block.outputs) {
      outputs_.push_back(b.write("out" + std::to_string(n++), kernel::scalar_of(block.type(v).dtype)));
    }
    n = 0;
    for (const auto& t : block.inputs)
      inputs_.push_back(b.read("in" + std::to_string(n++), kernel::scalar_of(t.dtype)));
    const auto scalar = [&](const std::string& name) { return b.scalar(name, Scalar::i64); };
    inner_ = scalar("inner");
    segment_ = scalar("segment");
    segments_ = scalar("segments");
    tasks_ = scalar("tasks");
    tasks_per_cube_ = scalar("tasks_per_cube");
    for (int axis = 1; axis + 1 < form.rank; ++axis)
      extents_.push_back(scalar("extent" + std::to_string(axis)));
    strides_.resize(form.layouts.size());
    for (std::size_t i = 0; i < form.layouts.size(); ++i) {
      if (form.layouts[i].dense || form.layouts[i].scalar) continue;
      for (int axis = 0; axis < form.rank; ++axis) {
        strides_[i].push_back(scalar("stride" + std::to_string(i) + "_" + std::to_string(axis)));
      }
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      offsets_.push_back(scalar("offset_out" + std::to_string(i)));
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      offsets_.push_back(scalar("offset_in" + std::to_string(i)));
    n = 0;
    for (const auto& node : block.nodes) arguments_.push_back(declare_arguments(b, node, n++));
  }

  void record() {
    load_scalars();
    const Val first = kernel::convert(kernel::cube_x(), Scalar::i64) * tasks_per_cube_;
    const Val end = kernel::min(first + tasks_per_cube_, tasks_);
    const Val start = form_.units_y > 1 ? first + kernel::convert(kernel::unit_y(), Scalar::i64) : first;
    kernel::for_(start, end, form_.units_y, [&](Val task) { record_task(task); });
  }

 private:
  const LayoutForm& form_of(std::size_t operand) const {
    return form_.layouts[static_cast<std::size_t>(form_.layout_of[operand])];
  }

  /// Inputs of one element are read once.
  void load_scalars() {
    fixed_.resize(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto operand = outputs_.size() + i;
      if (form_of(operand).scalar)
        fixed_[i] = widen(inputs_[i].load(offsets_[operand]), block_.inputs[i].dtype);
    }
  }

  /// Offset of the first element of row `row` in every layout.
  void locate_row(Val row) {
    bases_.assign(form_.layouts.size(), kernel::constant(kernel::make_type(Scalar::i64), 0));
    std::vector<Val> index(static_cast<std::size_t>(form_.rank));
    Val rest = row;
    for (int axis = form_.rank - 2; axis > 0; --axis) {
      const Val extent = extents_[static_cast<std::size_t>(axis - 1)];
      const Val next = rest / extent;
      index[static_cast<std::size_t>(axis)] = rest - next * extent;
      rest = next;
    }
    index[0] = rest;
    for (std::size_t i = 0; i < form_.layouts.size(); ++i) {
      if (form_.layouts[i].dense) bases_[i] = row * inner_;
      for (std::size_t axis = 0; !strides_[i].empty() && axis + 1 < index.size(); ++axis) {
        bases_[i] = bases_[i] + index[axis] * strides_[i][axis];
      }
    }
  }

  void record_task(Val task) {
    Val segment = task;
    if (form_.whole_rows) {
      segment = kernel::constant(kernel::make_type(Scalar::i64), 0);
      locate_row(task);
    } else if (form_.rank > 1) {
      const Val row = task / segments_;
      segment = task - row * segments_;
      locate_row(row);
    } else {
      bases_.assign(form_.layouts.size(), kernel::constant(kernel::make_type(Scalar::i64), 0));
    }
    load_row_constants();
    const Val begin = segment * segment_;
    const Val end = form_.whole_rows ? inner_ : kernel::min(begin + segment_, inner_);
    const int lanes = form_.lanes;
    const Val full = begin + ((end - begin) & -lanes);
    Val start = begin;
    if (form_.units_x > 1) start = begin + kernel::convert(kernel::unit_x(), Scalar::i64) * lanes;
    kernel::for_(start, full, form_.units_x * lanes, [&](Val i) { record_vector(i, Val{}); });
    const Val tail = form_.units_x > 1 ? (full < end) & (kernel::unit_x() == 0) : full < end;
    kernel::if_(tail, [&] {
      const Scalar counter = Scalar::i32;
      const Val left = kernel::splat(kernel::convert(end - full, counter), lanes);
      record_vector(full, kernel::lane_index(kernel::make_type(counter, lanes)) < left);
    });
  }

  /// Inputs that do not move along a row are read once a row.
  void load_row_constants() {
    constants_ = fixed_;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto operand = outputs_.size() + i;
      const auto& layout = form_of(operand);
      if (layout.scalar || layout.inner != Access::broadcast) continue;
      constants_[i] = widen(inputs_[i].load(base(operand) + offsets_[operand]), block_.inputs[i].dtype);
    }
  }

  Val base(std::size_t operand) const { return bases_[static_cast<std::size_t>(form_.layout_of[operand])]; }

  /// Index of each lane's element, i64, for a layout that may step by any stride.
  Val lane_indices(std::size_t operand, Val first) const {
    const auto wide = kernel::make_type(Scalar::i64, form_.lanes);
    const Val steps = kernel::lane_index(wide);
    const Access inner = form_of(operand).inner;
    if (inner == Access::contiguous) return kernel::splat(base(operand) + first, form_.lanes) + steps;
    if (inner == Access::broadcast) return kernel::splat(base(operand), form_.lanes);
    const Val stride = strides_[static_cast<std::size_t>(form_.layout_of[operand])].back();
    return kernel::splat(base(operand) + first * stride, form_.lanes) + steps * stride;
  }

  std::uint8_t alignment_of(std::size_t operand) const {
    return form_.aligned[operand] ? kernel::aligned : kernel::no_flags;
  }

  /// As it lies in memory.
  Val load_stored(std::size_t i, Val first, Val mask) const {
    const auto operand = outputs_.size() + i;
    const Access inner = form_of(operand).inner;
    if (inner == Access::reversed && !mask.present()) {
      const Val last = base(operand) - first + offsets_[operand];
      return reverse(inputs_[i].load(last - (form_.lanes - 1), form_.lanes));
    }
    if (inner == Access::strided || inner == Access::reversed) {
      return inputs_[i].gather(lane_indices(operand, first) + offsets_[operand], mask);
    }
    const Val index = base(operand) + first + offsets_[operand];
    if (form_.non_temporal && !mask.present()) prefetch(inputs_[i], index);
    return inputs_[i].load(index, form_.lanes, {.mask = mask, .flags = alignment_of(operand)});
  }

  NodeValue load_input(std::size_t i, Val first, Val mask) const {
    if (constants_[i].present()) return {kernel::splat(constants_[i], form_.lanes), {}};
    const Val stored = load_stored(i, first, mask);
    return {widen(stored, block_.inputs[i].dtype), stored};
  }

  static Val reverse(Val v) {
    std::vector<std::int32_t> lanes;
    for (int i = v.lanes() - 1; i >= 0; --i) lanes.push_back(i);
    return kernel::shuffle(v, v, std::move(lanes));
  }

  void prefetch(const Buffer& buffer, Val index) const {
    const auto bytes = static_cast<std::int64_t>(kernel::size_of(buffer.scalar()));
    for (std::int64_t at = 0; at < form_.lanes * bytes; at += cache_line) {
      buffer.prefetch(index + (prefetch_distance + at) / bytes);
    }
  }

  void record_vector(Val first, Val mask) {
    std::vector<NodeValue> values;
    for (std::size_t i = 0; i < inputs_.size(); ++i) values.push_back(load_input(i, first, mask));
    std::size_t positional = outputs_.size() + inputs_.size();
    for (std::size_t n = 0; n < block_.nodes.size(); ++n) {
      const auto& node = block_.nodes[n];
      base::InlineVector<Val, 3> operands;
      base::InlineVector<DType, 3> types;
      for (auto v : node.operands) {
        operands.push_back(values[static_cast<std::size_t>(v)].value);
        types.push_back(block_.type(v).dtype);
      }
      const Val position = needs_position(node) ? lane_indices(positional++, first) : Val{};
      values.push_back(emit_node_value(node, {operands.data(), operands.size()}, {types.data(), types.size()},
                                       arguments_[n], position, form_.lanes));
      if (!types.empty() && is_copy(node, types[0])) {
        values.back().stored = values[static_cast<std::size_t>(node.operands[0])].stored;
      }
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const int v = block_.outputs[i];
      const auto& result = values[static_cast<std::size_t>(v)];
      const Val value = result.stored.present() ? result.stored : narrow(result.value, block_.type(v).dtype);
      if (form_of(i).inner != Access::contiguous) {
        outputs_[i].scatter(lane_indices(i, first) + offsets_[i], value, mask);
        continue;
      }
      const bool past_caches = form_.non_temporal && !mask.present();
      const std::uint8_t flags = past_caches ? std::uint8_t{kernel::non_temporal} : alignment_of(i);
      outputs_[i].store(base(i) + first + offsets_[i], value, {.mask = mask, .flags = flags});
    }
  }

  const Block& block_;
  const ElementwiseForm& form_;
  std::vector<Buffer> outputs_, inputs_;
  Val inner_, segment_, segments_, tasks_, tasks_per_cube_;
  std::vector<Val> extents_;               ///< of the axes 1 .. rank - 2
  std::vector<std::vector<Val>> strides_;  ///< of each layout that is neither dense nor scalar
  std::vector<Val> offsets_;               ///< of outputs, then inputs
  std::vector<NodeArguments> arguments_;
  std::vector<Val> fixed_, constants_;  ///< of inputs that are one element for all, or for a row
  std::vector<Val> bases_;              ///< of the current row, by layout
};

}  // namespace

kernel::Kernel build_elementwise(const Block& block, const ElementwiseForm& form) {
  kernel::Builder builder(elementwise_name(block), {static_cast<std::uint32_t>(form.units_x),
                                                    static_cast<std::uint32_t>(form.units_y), 1});
  Recorder(builder, block, form).record();
  return builder.finish();
}

}  // namespace strata::cube
