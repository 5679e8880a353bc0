#include "cube/transpose.hpp"

#include <algorithm>

#include "cube/index_math.hpp"
#include "cube/loop_nest.hpp"

namespace strata::cube {
namespace {

using kernel::Buffer;
using kernel::Scalar;
using kernel::Val;

constexpr std::int64_t cache_line = 64;
/// Tiles side by side along the input's axis: whole cache lines of the input stay in use while they are near.
constexpr std::int64_t tiles_in_block = 4;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int tile_of(DType t) { return size_of(t) == 8 ? 8 : 16; }
/// Of many units: whole cache lines on both sides, and a dozen independent loads a unit.
int shared_tile_of(DType t) { return size_of(t) == 8 ? 32 : 64; }

/// Booleans are moved as bytes.
Scalar moved_scalar(DType t) { return t == DType::boolean ? Scalar::u8 : kernel::scalar_of(t); }

/// Rows become columns in log2(n) rounds: in round d, lanes that differ in bit d change places with the rows
/// that do.
void transpose_registers(std::vector<Val>& rows) {
  const int n = static_cast<int>(rows.size());
  std::vector<std::int32_t> low(rows.size()), high(rows.size());
  for (int d = 1; d < n; d *= 2) {
    for (int lane = 0; lane < n; ++lane) {
      const auto l = static_cast<std::size_t>(lane);
      const bool upper = (lane & d) != 0;
      low[l] = upper ? n + (lane ^ d) : lane;
      high[l] = upper ? n + lane : (lane ^ d);
    }
    for (int i = 0; i < n; ++i) {
      if (i & d) continue;
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(i + d);
      const Val first = kernel::shuffle(rows[a], rows[b], low);
      rows[b] = kernel::shuffle(rows[a], rows[b], high);
      rows[a] = first;
    }
  }
}

/// "rows": the axis along which the input is contiguous; "columns": the innermost axis of the result.
class TransposeRecorder {
 public:
  TransposeRecorder(kernel::Builder& b, const TransposeForm& form) : form_(form) {
    out_ = b.write("out", moved_scalar(form.dtype));
    in_ = b.read("in", moved_scalar(form.dtype));
    const auto argument = [&](const std::string& name) { return b.scalar(name, Scalar::i64); };
    offset_ = argument("offset");
    tasks_ = argument("tasks");
    tasks_per_cube_ = argument("tasks_per_cube");
    rows_ = argument("rows");
    columns_ = argument("columns");
    row_blocks_ = argument("row_blocks");
    segment_ = argument("segment");
    segments_ = argument("segments");
    in_column_stride_ = argument("in_column_stride");
    out_row_stride_ = argument("out_row_stride");
    for (int i = 0; i < form.batch_rank; ++i) extents_.push_back(argument("extent" + std::to_string(i)));
    for (int i = 0; i < form.batch_rank; ++i)
      in_strides_.push_back(argument("in_stride" + std::to_string(i)));
    for (int i = 0; i < form.batch_rank; ++i)
      out_strides_.push_back(argument("out_stride" + std::to_string(i)));
    if (form.units > 1) shared_ = kernel::shared_array(out_.scalar(), form.tile * pitch(), "tile");
  }

  void record() {
    const Val first = kernel::convert(kernel::cube_x(), Scalar::i64) * tasks_per_cube_;
    kernel::for_(first, kernel::min(first + tasks_per_cube_, tasks_), 1,
                 [&](Val task) { record_task(task); });
  }

 private:
  void record_task(Val task) {
    const Val strip = task / segments_, segment = task - strip * segments_;
    const Val batch = strip / row_blocks_, block = strip - batch * row_blocks_;
    Val in_base = offset_, out_base = index_constant(0);
    if (form_.batch_rank > 0) {
      const auto extents = std::span(extents_).subspan(1);
      in_base = in_base + offset_of(batch, extents, in_strides_);
      out_base = out_base + offset_of(batch, extents, out_strides_);
    }
    if (form_.units > 1) {
      const Val row = block * form_.tile, column = segment * form_.tile;
      return move_shared_tile(in_base + row + column * in_column_stride_,
                              out_base + row * out_row_stride_ + column, kernel::min(rows_ - row, form_.tile),
                              kernel::min(columns_ - column, form_.tile));
    }
    const std::int64_t block_rows = tiles_in_block * form_.tile;
    const Val row_begin = block * block_rows, row_end = kernel::min(row_begin + block_rows, rows_);
    const Val begin = segment * segment_, end = kernel::min(begin + segment_, columns_);
    kernel::for_(begin, end, form_.tile, [&](Val column) {
      kernel::for_(row_begin, row_end, form_.tile, [&](Val row) {
        const Val in = in_base + row + column * in_column_stride_;
        const Val out = out_base + row * out_row_stride_ + column;
        kernel::if_((row + form_.tile <= row_end) & (column + form_.tile <= end),
                    [&] { move_tile(in, out, Val{}, Val{}); },
                    [&] {
                      move_tile(in, out, kernel::min(row_end - row, form_.tile),
                                kernel::min(end - column, form_.tile));
                    });
      });
    });
  }

  /// `rows` and `columns` are how much of the tile there is; absent for a whole one.
  void move_tile(Val in, Val out, Val rows, Val columns) const {
    const int n = form_.tile;
    const bool whole = !rows.present();
    const auto mask = [&](Val across, Val along, int k) {
      if (whole) return Val{};
      const auto lanes = kernel::lane_index(kernel::make_type(Scalar::i64, n));
      return lanes < kernel::splat(kernel::select(along > k, across, index_constant(0)), n);
    };
    std::vector<Val> tile;
    for (int k = 0; k < n; ++k) {
      tile.push_back(in_.load(in + in_column_stride_ * k, n, {.mask = mask(rows, columns, k)}));
    }
    transpose_registers(tile);
    const auto flags = whole && form_.non_temporal ? kernel::non_temporal : kernel::no_flags;
    for (int k = 0; k < n; ++k) {
      out_.store(out + out_row_stride_ * k, tile[static_cast<std::size_t>(k)],
                 {.mask = mask(columns, rows, k), .flags = flags});
    }
  }

  static constexpr int plane = 32;
  /// Of the tile's lines: neighbours across them lie in different banks of four bytes.
  int pitch() const { return form_.tile + std::max(1, 4 / static_cast<int>(kernel::size_of(out_.scalar()))); }

  /// Calls f(along, across) for this unit's places in the tile: units run along x, and all places of a unit
  /// come before the next barrier.
  template <class F>
  void for_each_place(F&& f) const {
    const int height = form_.units / plane;
    const auto wide = [](Val v) { return kernel::convert(v, Scalar::i64); };
    for (int across = 0; across < form_.tile; across += height) {
      for (int along = 0; along < form_.tile; along += plane)
        f(wide(kernel::unit_x()) + along, wide(kernel::unit_y()) + across);
    }
  }
  void move_shared_tile(Val in, Val out, Val rows, Val columns) const {
    const auto fill = [&](bool whole) {
      std::vector<Val> values;
      for_each_place([&](Val row, Val column) {
        const Val mask = whole ? Val{} : (row < rows) & (column < columns);
        values.push_back(in_.load(in + row + column * in_column_stride_, 1, {.mask = mask}));
      });
      auto next = values.begin();
      for_each_place([&](Val row, Val column) { shared_.store(column * pitch() + row, *next++); });
    };
    const auto drain = [&](bool whole) {
      for_each_place([&](Val column, Val row) {
        const Val mask = whole ? Val{} : (row < rows) & (column < columns);
        out_.store(out + row * out_row_stride_ + column, shared_.load(column * pitch() + row),
                   {.mask = mask});
      });
    };
    const Val whole = (rows == form_.tile) & (columns == form_.tile);
    kernel::if_(
        whole, [&] { fill(true); }, [&] { fill(false); });
    kernel::barrier();
    kernel::if_(
        whole, [&] { drain(true); }, [&] { drain(false); });
    kernel::barrier();  // before the next task writes the shared array
  }

  const TransposeForm& form_;
  Buffer out_, in_, shared_;
  Val offset_, tasks_, tasks_per_cube_, rows_, columns_, row_blocks_, segment_, segments_, in_column_stride_,
      out_row_stride_;
  std::vector<Val> extents_, in_strides_, out_strides_;
};

}  // namespace

std::optional<TransposeLaunch> plan_transpose(const Target& target, DType dtype, const op::View& input) {
  const LoopNest nest = collapse(input.shape, {op::contiguous_strides(input.shape), input.strides});
  const auto& out = nest.layouts[static_cast<std::size_t>(nest.layout_of[0])];
  const auto& in = nest.layouts[static_cast<std::size_t>(nest.layout_of[1])];
  const int last = nest.rank() - 1, least = tile_of(dtype);
  const bool shared = target.units > 1;
  const auto found = std::find(in.begin(), in.end() - 1, 1);
  if (found == in.end() - 1 || in[last] == 1) return std::nullopt;
  const int axis = static_cast<int>(found - in.begin());
  const std::int64_t rows = nest.extents[axis], columns = nest.extents[last];
  if (rows < least || columns < least) return std::nullopt;
  const int tile = shared ? shared_tile_of(dtype) : least;

  TransposeLaunch launch;
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  launch.form = {dtype, tile, nest.rank() - 2, shared ? target.units : 1, false};
  launch.form.non_temporal = target.cache_bytes > 0 &&
                             2 * input.shape.product() * bytes > target.cache_bytes &&
                             columns * bytes % cache_line == 0 && tile * bytes == cache_line;
  const std::int64_t block_rows = shared ? tile : tiles_in_block * tile;
  const std::int64_t segment =
      shared ? tile
             : std::min(std::max<std::int64_t>(1, target.cube_bytes / (block_rows * bytes * tile)),
                        ceil_div(columns, tile)) *
                   tile;
  const std::int64_t row_blocks = ceil_div(rows, block_rows), segments = ceil_div(columns, segment);
  Shape extents;
  Strides in_strides, out_strides;
  for (int i = 0; i < last; ++i) {
    if (i == axis) continue;
    extents.push_back(nest.extents[i]);
    in_strides.push_back(in[i]);
    out_strides.push_back(out[i]);
  }
  const std::int64_t tasks = extents.product() * row_blocks * segments;
  const std::int64_t tasks_per_cube = std::max<std::int64_t>(1, ceil_div(tasks, std::int64_t{1} << 30));
  launch.cubes = static_cast<std::uint32_t>(ceil_div(tasks, tasks_per_cube));
  launch.scalars = {input.offset, tasks,   tasks_per_cube, rows,     columns,
                    row_blocks,   segment, segments,       in[last], out[axis]};
  for (const auto* dims : {&extents, &in_strides, &out_strides}) {
    launch.scalars.insert(launch.scalars.end(), dims->begin(), dims->end());
  }
  return launch;
}

KernelKey transpose_key(const TransposeForm& form) {
  KernelKeyHasher h("transpose");
  h.add(form.dtype);
  h.add(form.tile);
  h.add(form.batch_rank);
  h.add(form.units);
  h.add(form.non_temporal);
  return h.key();
}

std::string transpose_name(const TransposeForm& form) {
  return "transpose_" + std::string(name_of(form.dtype));
}

kernel::Kernel build_transpose(const TransposeForm& form) {
  using Dim = std::array<std::uint32_t, 3>;
  const Dim cube = form.units > 1 ? Dim{32, static_cast<std::uint32_t>(form.units) / 32, 1} : Dim{1, 1, 1};
  kernel::Builder builder(transpose_name(form), cube);
  TransposeRecorder(builder, form).record();
  return builder.finish();
}

}  // namespace strata::cube
