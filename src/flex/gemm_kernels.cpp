#include "flex/gemm_kernels.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "flex/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flex/gemm_kernels.cpp"
#include "flex/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::flex {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile of 6 rows by 2 vectors: 12 accumulators, 2 vectors of b and 1 of a fit the 16 registers of AVX2.
constexpr int tile_rows = 6;

template <class T>
std::int64_t PanelWidth() {
  return 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

/// Columns [panel * width, ...) of b as [k][width], zero-filled at the right edge.
template <class T>
void PackPanel(const StridedMatrix<T>& b, std::int64_t panel, T* packed) {
  const auto width = PanelWidth<T>(), first = panel * width, columns = std::min(width, b.columns - first);
  T* out = packed + panel * width * b.rows;
  for (std::int64_t k = 0; k < b.rows; ++k, out += width) {
    const T* row = b.data + k * b.row_stride + first * b.column_stride;
    for (std::int64_t j = 0; j < columns; ++j) out[j] = row[j * b.column_stride];
    std::fill(out + columns, out + width, T{0});
  }
}

template <int rows, class T>
HWY_INLINE void Tile(const StridedMatrix<T>& a, std::int64_t row, const T* HWY_RESTRICT panel,
                     T* HWY_RESTRICT c, std::int64_t c_stride, std::int64_t columns) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  V left[rows], right[rows];
  for (int i = 0; i < rows; ++i) left[i] = right[i] = hn::Zero(d);
  const T* first = a.data + row * a.row_stride;
  for (std::int64_t k = 0; k < a.columns; ++k) {
    const V b0 = hn::LoadU(d, panel + k * 2 * lanes), b1 = hn::LoadU(d, panel + k * 2 * lanes + lanes);
    for (int i = 0; i < rows; ++i) {
      const V x = hn::Set(d, first[i * a.row_stride + k * a.column_stride]);
      if constexpr (std::is_floating_point_v<T>) {
        left[i] = hn::MulAdd(x, b0, left[i]);
        right[i] = hn::MulAdd(x, b1, right[i]);
      } else {
        left[i] = hn::Add(hn::Mul(x, b0), left[i]);
        right[i] = hn::Add(hn::Mul(x, b1), right[i]);
      }
    }
  }
  HWY_ALIGN T edge[2 * hn::MaxLanes(d)];
  for (int i = 0; i < rows; ++i) {
    T* target = columns == 2 * lanes ? c + i * c_stride : edge;
    hn::StoreU(left[i], d, target);
    hn::StoreU(right[i], d, target + lanes);
    if (target == edge) std::copy(edge, edge + columns, c + i * c_stride);
  }
}

/// Rows [row, end) of one panel of c.
template <class T>
void Panel(const StridedMatrix<T>& a, std::int64_t row, std::int64_t end, const T* panel, T* c,
           std::int64_t c_stride, std::int64_t columns) {
  for (; row + tile_rows <= end; row += tile_rows) {
    Tile<tile_rows>(a, row, panel, c + row * c_stride, c_stride, columns);
  }
  for (; row < end; ++row) Tile<1>(a, row, panel, c + row * c_stride, c_stride, columns);
}

template <class T>
void Gemm(const StridedMatrix<T>& a, const StridedMatrix<T>& b, T* c, T* packed) {
  const auto width = PanelWidth<T>(), panels = (b.columns + width - 1) / width;
  const auto b_bytes = b.rows * b.columns * static_cast<std::int64_t>(sizeof(T));
  parallel(panels, 1, b_bytes, [&](std::int64_t begin, std::int64_t end) {
    for (auto panel = begin; panel < end; ++panel) PackPanel(b, panel, packed);
  });
  const auto work = a.rows * b_bytes / 8;  // a thread pays from about 10^5 multiplications
  parallel(a.rows, tile_rows, work, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t rows_at_once =
        16 * tile_rows;  // rows of a that stay in cache while the panels pass
    for (auto row = begin; row < end; row += rows_at_once) {
      for (std::int64_t panel = 0; panel < panels; ++panel) {
        Panel(a, row, std::min(row + rows_at_once, end), packed + panel * width * b.rows, c + panel * width,
              b.columns, std::min(width, b.columns - panel * width));
      }
    }
  });
}

void GemmF64(const StridedMatrix<double>& a, const StridedMatrix<double>& b, double* c, double* packed) {
  Gemm(a, b, c, packed);
}
void GemmI64(const StridedMatrix<std::int64_t>& a, const StridedMatrix<std::int64_t>& b, std::int64_t* c,
             std::int64_t* packed) {
  Gemm(a, b, c, packed);
}
void GemmI32(const StridedMatrix<std::int32_t>& a, const StridedMatrix<std::int32_t>& b, std::int32_t* c,
             std::int32_t* packed) {
  Gemm(a, b, c, packed);
}
std::int64_t Width64() { return PanelWidth<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace strata::flex
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::flex {

HWY_EXPORT(GemmF64);
HWY_EXPORT(GemmI64);
HWY_EXPORT(GemmI32);
HWY_EXPORT(Width64);

template <>
void gemm(const StridedMatrix<double>& a, const StridedMatrix<double>& b, double* c,
          double* packed) noexcept {
  HWY_DYNAMIC_DISPATCH(GemmF64)(a, b, c, packed);
}
template <>
void gemm(const StridedMatrix<std::int64_t>& a, const StridedMatrix<std::int64_t>& b, std::int64_t* c,
          std::int64_t* packed) noexcept {
  HWY_DYNAMIC_DISPATCH(GemmI64)(a, b, c, packed);
}
template <>
void gemm(const StridedMatrix<std::int32_t>& a, const StridedMatrix<std::int32_t>& b, std::int32_t* c,
          std::int32_t* packed) noexcept {
  HWY_DYNAMIC_DISPATCH(GemmI32)(a, b, c, packed);
}
template <class T>
std::int64_t packed_size(std::int64_t rows, std::int64_t columns) noexcept {
  const auto width = HWY_DYNAMIC_DISPATCH(Width64)() * static_cast<std::int64_t>(sizeof(double) / sizeof(T));
  return rows * ((columns + width - 1) / width * width);
}
template std::int64_t packed_size<double>(std::int64_t, std::int64_t) noexcept;
template std::int64_t packed_size<std::int64_t>(std::int64_t, std::int64_t) noexcept;
template std::int64_t packed_size<std::int32_t>(std::int64_t, std::int64_t) noexcept;

}  // namespace strata::flex
#endif
