#include "flex/copy.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "flex/moving_kernels.hpp"
#include "flex/nest.hpp"
#include "flex/parallel.hpp"

namespace strata::flex {
namespace {

/// The axes of source and target together.
struct CopyPlan {
  int rank = 0;
  std::int64_t extent[max_rank], from[max_rank], to[max_rank];

  CopyPlan(const Shape& shape, const Strides& source, const Strides& target) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) continue;
      const int last = rank - 1;
      if (rank > 0 && from[last] == source[i] * shape[i] && to[last] == target[i] * shape[i]) {
        extent[last] *= shape[i];
        from[last] = source[i];
        to[last] = target[i];
      } else {
        extent[rank] = shape[i];
        from[rank] = source[i];
        to[rank++] = target[i];
      }
    }
    if (rank == 0) {
      extent[0] = 1;
      from[0] = to[0] = 1;
      rank = 1;
    }
  }
  /// Product of the extents of the first `axes` axes.
  std::int64_t outer(int axes) const {
    std::int64_t n = 1;
    for (int i = 0; i < axes; ++i) n *= extent[i];
    return n;
  }
  /// Offsets of element `index` of the first `axes` axes.
  std::pair<std::int64_t, std::int64_t> offsets(std::int64_t index, int axes) const {
    std::int64_t a = 0, b = 0;
    for (int i = axes - 1; i >= 0; --i) {
      const auto at = index % extent[i];
      index /= extent[i];
      a += at * from[i];
      b += at * to[i];
    }
    return {a, b};
  }
};

template <class U>
void copy_rows(const CopyPlan& plan, const U* source, U* target) {
  const int inner = plan.rank - 1;
  const auto n = plan.extent[inner], from = plan.from[inner], to = plan.to[inner];
  const auto rows = plan.outer(inner);
  if (from == 1 && to == 1 && rows == 1) {
    parallel(n, 4096, n * 2 * static_cast<std::int64_t>(sizeof(U)),
             [&](std::int64_t begin, std::int64_t end) {
               std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin) * sizeof(U));
             });
    return;
  }
  parallel(rows, 1, rows * n * 2 * static_cast<std::int64_t>(sizeof(U)),
           [&](std::int64_t begin, std::int64_t end) {
             for (auto row = begin; row < end; ++row) {
               const auto [a, b] = plan.offsets(row, inner);
               const U* s = source + a;
               U* t = target + b;
               if (from == 1 && to == 1) {
                 std::memcpy(t, s, static_cast<std::size_t>(n) * sizeof(U));
               } else {
                 for (std::int64_t i = 0; i < n; ++i) t[i * to] = s[i * from];
               }
             }
           });
}

/// One of two axes turned against each other: `rows` runs along the axis that is dense in the source,
/// `columns` along the last one.
struct Turned {
  std::int64_t rows, row_from, row_to, columns, column_from, column_to;
};

/// As many columns as the buffer holds, one cache line of each at a time: reading runs along the rows,
/// writing fills whole lines, and no line is fetched twice.
template <class U>
void turn_columns(const Turned& t, const U* source, U* target, std::int64_t first_row, std::int64_t columns) {
  constexpr std::int64_t line = line_of<U>, width = 64;
  U turned[line][width];
  for (std::int64_t row = first_row; row < t.rows; row += line) {
    const auto height = std::min(line, t.rows - row);
    for (std::int64_t j = 0; j < columns; ++j) {
      const U* from = source + j * t.column_from + row * t.row_from;
      __builtin_prefetch(from + line);  // too many streams for the hardware to follow
      for (std::int64_t i = 0; i < height; ++i) turned[i][j] = from[i * t.row_from];
    }
    for (std::int64_t i = 0; i < height; ++i) {
      U* to = target + (row + i) * t.row_to;
      for (std::int64_t j = 0; j < columns; ++j) to[j * t.column_to] = turned[i][j];
    }
  }
}

/// Bytes beyond which a result had better go past the caches.
constexpr std::int64_t streamed_bytes = 4 << 20;

/// The axis that is dense in the source is not the last one.
template <class U>
void copy_turned(CopyPlan plan, int dense, const U* source, U* target) {
  constexpr std::int64_t line = line_of<U>;
  const int row_axis = plan.rank - 2, column_axis = plan.rank - 1;
  std::swap(plan.extent[dense], plan.extent[row_axis]);
  std::swap(plan.from[dense], plan.from[row_axis]);
  std::swap(plan.to[dense], plan.to[row_axis]);
  const Turned t{plan.extent[row_axis],    plan.from[row_axis],    plan.to[row_axis],
                 plan.extent[column_axis], plan.from[column_axis], plan.to[column_axis]};
  const auto bytes = plan.outer(plan.rank) * static_cast<std::int64_t>(sizeof(U));
  bool streamed = bytes >= streamed_bytes && t.row_from == 1 && t.column_to == 1 &&
                  reinterpret_cast<std::uintptr_t>(target) % 64 == 0;
  for (int axis = 0; axis < column_axis; ++axis) streamed = streamed && plan.to[axis] % line == 0;
  const auto width = streamed ? line : 64, across = (t.columns + width - 1) / width;
  const auto turn = turn_kernel<U>();
  parallel(plan.outer(row_axis) * across, 1, bytes * 2, [&](std::int64_t begin, std::int64_t end) {
    for (auto unit = begin; unit < end; ++unit) {
      const auto [a, b] = plan.offsets(unit / across, row_axis);
      const auto column = unit % across * width, columns = std::min(width, t.columns - column);
      const U* s = source + a + column * t.column_from;
      U* to = target + b + column * t.column_to;
      const auto tiles = streamed && columns == line ? t.rows / line : 0;
      if (tiles > 0) turn(s, t.column_from, to, t.row_to, tiles);
      turn_columns(t, s, to, tiles * line, columns);
    }
  });
}

template <class U>
void copy(const CopyPlan& plan, const std::byte* source, std::byte* target) {
  const auto* s = reinterpret_cast<const U*>(source);
  auto* t = reinterpret_cast<U*>(target);
  const auto inner = plan.from[plan.rank - 1];
  if (inner != 0 && inner != 1 && inner != -1) {
    for (int axis = 0; axis + 1 < plan.rank; ++axis) {
      if (std::abs(plan.from[axis]) == 1) return copy_turned<U>(plan, axis, s, t);
    }
  }
  copy_rows<U>(plan, s, t);
}

}  // namespace

void copy_elements(const FlexValue& source, std::byte* target, const Strides& strides) noexcept {
  if (source.size() == 0) return;
  const CopyPlan plan(source.shape, source.strides(), strides);
  switch (size_of(source.dtype)) {
    case 1:
      return copy<std::uint8_t>(plan, source.data(), target);
    case 2:
      return copy<std::uint16_t>(plan, source.data(), target);
    case 4:
      return copy<std::uint32_t>(plan, source.data(), target);
    default:
      return copy<std::uint64_t>(plan, source.data(), target);
  }
}

}  // namespace strata::flex
