/// The compiled bodies under statistics.hpp, products.hpp, arrange.hpp, grid.hpp, counting.hpp, linalg.hpp,
/// random.hpp and signal.hpp. Not part of the public API.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/detail/ops.hpp"

namespace strata::detail {

// ---- statistics

STRATA_API ValueRef covariance(const ValueRef& x, std::int64_t correction);
STRATA_API ValueRef is_close(const ValueRef& a, const ValueRef& b, double rtol, double atol, bool equal_nan);
STRATA_API ValueRef normalise(const ValueRef& x, double p, int axis, double eps);

// ---- products

STRATA_API ValueRef tensordot(const ValueRef& a, const ValueRef& b, std::span<const int> axes_a,
                              std::span<const int> axes_b);
STRATA_API ValueRef cross(const ValueRef& a, const ValueRef& b, int axis);

// ---- joining, splitting, arranging

/// Appends axes of extent 1 (`vstack` puts one in front of a vector) until the axis to join along exists.
STRATA_API ValueRef raised(const ValueRef& x, int rank);
STRATA_API std::vector<ValueRef> split(const ValueRef& x, std::span<const std::int64_t> sizes, int axis);
STRATA_API std::vector<ValueRef> chunk(const ValueRef& x, std::int64_t count, int axis);
STRATA_API std::vector<ValueRef> unbind(const ValueRef& x, int axis);
STRATA_API ValueRef repeat_along(const ValueRef& x, std::int64_t count, int axis);
STRATA_API ValueRef mask(op::CompareKind kind, std::int64_t rows, std::int64_t columns, std::int64_t diagonal,
                         const Device& device);
STRATA_API ValueRef diagonal_matrix(const ValueRef& x, std::int64_t offset);

// ---- grids and images

STRATA_API std::vector<ValueRef> meshgrid(const std::vector<ValueRef>& axes, bool swapped);
STRATA_API ValueRef affine_grid(const ValueRef& theta, std::int64_t height, std::int64_t width,
                                bool align_corners);
enum class Sampling : std::uint8_t { bilinear, nearest };
enum class Outside : std::uint8_t { zeros, border, reflection };
STRATA_API ValueRef grid_sample(const ValueRef& x, const ValueRef& grid, Sampling how, Outside outside,
                                bool align_corners);
/// Two numbers each: of rows and of columns.
struct Patches {
  std::span<const std::int64_t> window, stride, padding, dilation;
};
STRATA_API ValueRef unfold_image(const ValueRef& x, const Patches& patches);
/// `mask` may be null.
STRATA_API ValueRef deform_conv(const ValueRef& x, const ValueRef& offset, const ValueRef& weight,
                                const ValueRef& mask, std::span<const std::int64_t> stride,
                                std::span<const std::int64_t> padding, std::span<const std::int64_t> dilation,
                                std::int64_t groups);
STRATA_API ValueRef fold_image(const ValueRef& columns, std::span<const std::int64_t> size,
                               const Patches& patches);

// ---- counting, searching, places

struct UniqueValues {
  ValueRef values, inverse, counts;
};
STRATA_API UniqueValues unique(const ValueRef& x);
/// `weights` may be null.
STRATA_API ValueRef bincount(const ValueRef& x, const ValueRef& weights, std::int64_t least);
STRATA_API ValueRef bin_edges(const ValueRef& like, std::int64_t bins, double low, double high);
STRATA_API ValueRef histogram(const ValueRef& x, const ValueRef& edges);
/// Along the last axis; the others of `sorted` are those of `values`, or none.
STRATA_API ValueRef searchsorted(const ValueRef& sorted, const ValueRef& values, bool right);
STRATA_API ValueRef is_in(const ValueRef& x, const ValueRef& set);
STRATA_API ValueRef take(const ValueRef& x, const ValueRef& index);
STRATA_API ValueRef gather_nd(const ValueRef& x, const ValueRef& index, int axes);
STRATA_API ValueRef scatter_nd(const ValueRef& x, const ValueRef& index, const ValueRef& source,
                               op::ScatterMode mode, int axes);

// ---- matrices

/// Order of rows, L, U.
STRATA_API std::vector<ValueRef> lu(const ValueRef& a);
STRATA_API ValueRef pseudo_inverse(const ValueRef& a, double rcond);

// ---- random numbers

STRATA_API ValueRef categorical(const ValueRef& weights, std::int64_t count);

// ---- signals

/// `size` < 1: as many points as there are.
STRATA_API ValueRef fft(op::FftKind kind, const ValueRef& x, int axis, std::int64_t size);
STRATA_API ValueRef frequencies(std::int64_t n, double spacing, bool half, DType dtype, const Device& device);
STRATA_API ValueRef complex_product(const ValueRef& a, const ValueRef& b);
/// sum_k terms[k] cos(2 pi k t / period), the period n or n - 1.
STRATA_API ValueRef cosine_window(std::span<const double> terms, std::int64_t n, bool periodic, DType dtype,
                                  const Device& device);
struct Frames {
  std::int64_t size, hop;
  bool centred, onesided, normalised;
};
STRATA_API ValueRef stft(const ValueRef& x, const ValueRef& window, const Frames& frames);
STRATA_API ValueRef istft(const ValueRef& spectrum, const ValueRef& window, const Frames& frames,
                          std::int64_t length);

}  // namespace strata::detail
