#include "cube/gather.hpp"

#include <algorithm>
#include <bit>

#include "cube/index_check.hpp"
#include "cube/lines.hpp"
#include "cube/loop_nest.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;

struct Form {
  DType dtype{}, index{};
  bool whole_rows = false;  ///< one index for each row of the result
  int lanes = 1;            ///< of whole rows
  int rank = 1;
  int units_x = 1, units_y = 1;
  int loads = 1;  ///< in flight of a unit

  /// Elements that the units of a row move by one load each, and all in all.
  std::int64_t step() const { return std::int64_t{units_x} * lanes; }
  std::int64_t segment() const { return step() * loads; }
};

/// Strides over the result's collapsed space.
struct Nest {
  Shape extents;
  Strides index, x;
};

Scalar moved(DType t) { return t == DType::boolean ? Scalar::u8 : kernel::scalar_of(t); }

class Recorder {
 public:
  Recorder(kernel::Builder& b, const Form& form) : form_(form) {
    out_ = b.write("out", moved(form.dtype));
    x_ = b.read("x", moved(form.dtype));
    index_ = b.read("index", kernel::scalar_of(form.index));
    check_ = b.read_write("check", Scalar::i64);
    const auto argument = [&](std::string_view name) { return b.scalar(name, Scalar::i64); };
    x_offset_ = argument("x_offset");
    index_offset_ = argument("index_offset");
    extent_ = argument("extent");
    axis_stride_ = argument("axis_stride");
    tasks_ = argument("tasks");
    segments_ = argument("segments");
    rows_ = argument("rows");
    for (int i = 0; i < form.rank; ++i) extents_.push_back(argument("extent" + std::to_string(i)));
    for (int i = 0; i < form.rank; ++i)
      index_strides_.push_back(argument("index_stride" + std::to_string(i)));
    for (int i = 0; i < form.rank; ++i) x_strides_.push_back(argument("x_stride" + std::to_string(i)));
  }

  void record() {
    const Val stride = kernel::convert(kernel::cube_count_x(), Scalar::i64);
    kernel::for_(kernel::convert(kernel::cube_x(), Scalar::i64), tasks_, stride, [&](Val task) {
      const Val block = task / segments_, segment = task - block * segments_;
      const Val row = block * form_.units_y + kernel::convert(kernel::unit_y(), Scalar::i64);
      kernel::if_(row < rows_, [&] { record_row(row, segment); });
    });
  }

 private:
  Val start(Val row, const std::vector<Val>& strides) const {
    const auto outer = static_cast<std::size_t>(form_.rank - 1);
    if (outer == 0) return index_constant(0);
    return offset_of(row, std::span(extents_).subspan(1, outer - 1), std::span(strides).first(outer));
  }
  Val index_at(Val at) const { return kernel::convert(index_.load(at), Scalar::i64); }

  void record_row(Val row, Val segment) const {
    const Val columns = extents_.back(), out = row * columns;
    const Val x = x_offset_ + start(row, x_strides_), index = index_offset_ + start(row, index_strides_);
    const Val begin = segment * form_.segment();
    const Val mine = begin + kernel::convert(kernel::unit_x(), Scalar::i64) * form_.lanes;
    const Val shared =
        form_.whole_rows ? x + checked_index(check_, index_at(index), extent_, out) * axis_stride_ : Val{};
    const auto sources = [&](const std::vector<Val>& places) {
      std::vector<Val> at;
      if (form_.whole_rows) {
        for (const Val& i : places) at.push_back(shared + (form_.lanes > 1 ? i : i * x_strides_.back()));
        return at;
      }
      for (const Val& i : places) at.push_back(index_at(index + i * index_strides_.back()));
      for (std::size_t k = 0; k < at.size(); ++k) {  // once all are on their way
        const Val i = places[k], good = checked_index(check_, at[k], extent_, out + i);
        at[k] = x + good * axis_stride_ + i * x_strides_.back();
      }
      return at;
    };
    const std::uint8_t flags = form_.lanes > 1 ? kernel::aligned : kernel::no_flags;
    const auto load = [&](Val at) { return x_.load(at, form_.lanes, {.flags = flags}); };
    const auto store = [&](Val i, Val v) { out_.store(out + i, v, {.flags = flags}); };
    // Beyond the end of the row the last elements are loaded again, and not stored.
    const auto move = [&](bool whole) {
      std::vector<Val> to, from, values;
      for (int k = 0; k < form_.loads; ++k) to.push_back(mine + k * form_.step());
      for (const Val& i : to) from.push_back(whole ? i : kernel::min(i, columns - form_.lanes));
      for (const Val& at : sources(from)) values.push_back(load(at));
      for (std::size_t k = 0; k < to.size(); ++k) {
        if (whole) {
          store(to[k], values[k]);
        } else {
          kernel::if_(to[k] < columns, [&] { store(to[k], values[k]); });
        }
      }
    };
    kernel::if_(
        begin + form_.segment() <= columns, [&] { move(true); }, [&] { move(false); });
  }

  const Form& form_;
  Buffer out_, x_, index_, check_;
  Val x_offset_, index_offset_, extent_, axis_stride_, tasks_, segments_, rows_;
  std::vector<Val> extents_, index_strides_, x_strides_;
};

Form form_of(const Target& target, DType dtype, DType index, const Nest& nest, const op::View& x,
             std::int64_t axis_stride) {
  Form form{dtype, index};
  form.rank = nest.extents.rank();
  form.whole_rows = nest.index.back() == 0 && nest.extents.back() > 1;
  const int lanes = target.vector_bytes / static_cast<int>(size_of(dtype));
  bool vectors = form.whole_rows && nest.x.back() == 1 && nest.extents.back() % lanes == 0 &&
                 x.offset % lanes == 0 && axis_stride % lanes == 0;
  for (int i = 0; i + 1 < form.rank; ++i) vectors = vectors && nest.x[i] % lanes == 0;
  if (vectors) form.lanes = lanes;
  // Side by side enough units for whole cache lines, then each unit some loads.
  const auto power = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  };
  constexpr int most_loads = 4;
  const std::int64_t along = ceil_div(nest.extents.back(), form.lanes),
                     line = form.lanes > 1 ? 8 : plane_size;
  const auto units = std::max(power(ceil_div(along, most_loads)), std::min(power(along), line));
  form.units_x = static_cast<int>(std::min<std::int64_t>(units, target.units));
  form.units_y = target.units / form.units_x;
  form.loads = static_cast<int>(std::min<std::int64_t>(most_loads, ceil_div(along, form.units_x)));
  return form;
}

kernel::Kernel build(const Form& form) {
  const auto name =
      std::string(form.whole_rows ? "gather_rows_" : "gather_") + std::string(name_of(form.dtype));
  kernel::Builder builder(
      name, {static_cast<std::uint32_t>(form.units_x), static_cast<std::uint32_t>(form.units_y), 1});
  Recorder(builder, form).record();
  return builder.finish();
}

KernelKey key_of(const Form& form) {
  KernelKeyHasher h("gather");
  h.add(form.dtype);
  h.add(form.index);
  h.add(form.whole_rows);
  for (int v : {form.lanes, form.rank, form.units_x, form.units_y, form.loads}) h.add(v);
  return h.key();
}

}  // namespace

CubeRef gather(CubeBackend& backend, const op::Gather& op, const CubeRef& x, const CubeRef& index,
               const op::TensorType& type) {
  auto out = backend.allocate(type);
  if (type.shape.product() == 0) return out;
  op::View view = x->view();
  runtime::BufferRef source = x->buffer;
  if (x->shape[op.axis] == 0) {  // no index is good; what the kernel reads in place of nothing is a zero
    const auto zero = backend.execute(op::Fill{{}, type.dtype, 0}, {})[0];
    source = static_cast<const CubeValue&>(*zero).buffer;
    view = {x->shape, Strides::filled(x->shape.rank(), 0), 0};
  }
  const auto axis_stride = view.strides[op.axis];
  view.strides[op.axis] = 0;
  const LoopNest collapsed =
      collapse(type.shape, {op::contiguous_strides(type.shape), index->strides, view.strides});
  const auto strides = [&](std::size_t operand) {
    return collapsed.layouts[static_cast<std::size_t>(collapsed.layout_of[operand])];
  };
  const Nest nest{collapsed.extents, strides(1), strides(2)};
  const Form form = form_of(backend.target(), type.dtype, index->dtype, nest, view, axis_stride);

  const auto rows = collapsed.rows();
  const auto segments = ceil_div(collapsed.inner_extent(), form.segment());
  const auto tasks = ceil_div(rows, form.units_y) * segments;
  std::vector<std::int64_t> scalars{view.offset, index->offset, x->shape[op.axis], axis_stride, tasks,
                                    segments,    rows};
  for (const auto* dims : {&nest.extents, &nest.index, &nest.x}) {
    scalars.insert(scalars.end(), dims->begin(), dims->end());
  }
  const runtime::BufferRef buffers[] = {out->buffer, source, index->buffer};
  backend.launch(backend.kernels().get(key_of(form), [&] { return build(form); }),
                 {static_cast<std::uint32_t>(std::min(tasks, most_cubes)), 1, 1}, buffers, scalars,
                 index_check(backend, "gather", op.axis, backend::type_of(*x), index));
  return out;
}

}  // namespace strata::cube
