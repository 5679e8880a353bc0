#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "strata/detail/functions.hpp"
#include "strata/error.hpp"
#include "tensor/host_values.hpp"

namespace strata::detail {
namespace {

using bridge::add;
using bridge::mul;
using bridge::sub;
using op::BinaryKind;
using op::CompareKind;
using op::UnaryKind;

ValueRef clamped(const ValueRef& x, double low, double high) {
  return bridge::binary(BinaryKind::min, bridge::binary(BinaryKind::max, x, low), high);
}
ValueRef both(const ValueRef& a, const ValueRef& b) { return bridge::binary(BinaryKind::bit_and, a, b); }

/// `count` coordinates of pixels in an image that spans [-1, 1].
ValueRef pixel_centres(const ValueRef& like, std::int64_t count, bool align_corners) {
  const auto n = static_cast<double>(count);
  const double step = align_corners ? (count > 1 ? 2 / (n - 1) : 0) : 2 / n;
  const double first = align_corners ? (count > 1 ? -1 : 0) : 1 / n - 1;
  std::vector<double> places;
  for (std::int64_t i = 0; i < count; ++i) places.push_back(first + static_cast<double>(i) * step);
  return bridge::cast(host_values(like, places), like->dtype);
}

/// Mirrored at low and high until inside. The number of reflections has no slope, so neither does floor.
ValueRef reflected(const ValueRef& x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return mul(x, 0.0);
  const auto distance = unary(UnaryKind::abs, bridge::sub(x, bridge::scalar_like(x, low)));
  const auto turns = unary(UnaryKind::floor, bridge::binary(BinaryKind::div, distance, span));
  const auto rest = sub(distance, mul(turns, span));
  const auto odd =
      bridge::compare(CompareKind::not_equal, bridge::binary(BinaryKind::rem, turns, 2), op::Number(0));
  return add(bridge::where(odd, bridge::sub(span, rest), rest), low);
}

/// Coordinates in [-1, 1] as places between the `n` pixels of an axis.
ValueRef places(const ValueRef& coordinates, std::int64_t n, Outside outside, bool align_corners) {
  const auto extent = static_cast<double>(n);
  const auto x = align_corners ? mul(add(coordinates, 1), (extent - 1) / 2)
                               : add(mul(add(coordinates, 1), extent / 2), -0.5);
  switch (outside) {
    case Outside::zeros:
      break;
    case Outside::border:
      return clamped(x, 0, extent - 1);
    case Outside::reflection:
      return clamped(align_corners ? reflected(x, 0, extent - 1) : reflected(x, -0.5, extent - 0.5), 0,
                     extent - 1);
  }
  return x;
}

/// The pixels of an image at whole places.
class Pixels {
 public:
  explicit Pixels(const ValueRef& x)
      : height_(x->shape[2]),
        width_(x->shape[3]),
        rows_(bridge::reshape(x, {x->shape[0], x->shape[1], height_ * width_})) {}

  /// x and y [n, points]; 0 outside.
  ValueRef at(const ValueRef& x, const ValueRef& y) const {
    const auto inside = both(within(x, width_), within(y, height_));
    const auto index =
        add(mul(bridge::cast(clamped(y, 0, static_cast<double>(height_ - 1)), DType::i64), width_),
            bridge::cast(clamped(x, 0, static_cast<double>(width_ - 1)), DType::i64));
    const auto n = rows_->shape[0], c = rows_->shape[1], points = x->shape[1];
    const auto each = [&](const ValueRef& v) {
      return bridge::expand(bridge::reshape(v, {n, 1, points}), {n, c, points});
    };
    return bridge::where(each(inside), bridge::gather(rows_, 2, each(index)), bridge::scalar_like(rows_, 0));
  }

 private:
  static ValueRef within(const ValueRef& x, std::int64_t n) {
    return both(bridge::compare(CompareKind::greater_equal, x, op::Number(0)),
                bridge::compare(CompareKind::less_equal, x, op::Number(static_cast<double>(n - 1))));
  }

  const std::int64_t height_, width_;
  const ValueRef rows_;
};

/// The image between its pixels, at places x and y [n, points].
ValueRef bilinear(const Pixels& pixels, const ValueRef& x, const ValueRef& y) {
  const auto left = unary(UnaryKind::floor, x), top = unary(UnaryKind::floor, y);
  const auto from_left = sub(x, left), from_top = sub(y, top);
  ValueRef result;
  for (int k = 0; k < 4; ++k) {
    const bool right = k % 2 == 1, below = k / 2 == 1;
    const auto weight =
        mul(right ? from_left : bridge::sub(1, from_left), below ? from_top : bridge::sub(1, from_top));
    const auto taken = pixels.at(right ? add(left, 1) : left, below ? add(top, 1) : top);
    const auto part = mul(taken, unsqueeze(weight, 1));
    result = result ? add(result, part) : part;
  }
  return result;
}

/// Windows along one axis of an image.
struct Span {
  std::int64_t window, stride, padding, dilation, extent, count;

  std::int64_t padded() const { return extent + 2 * padding; }
  std::int64_t reach() const { return (window - 1) * dilation + 1; }
};

std::array<Span, 2> spans(std::string_view op, const Patches& p, std::int64_t height, std::int64_t width) {
  std::array<Span, 2> out{};
  constexpr std::int64_t most = std::int64_t{1} << 31;
  for (std::size_t i = 0; i < 2; ++i) {
    auto& s = out[i] = {p.window[i], p.stride[i], p.padding[i], p.dilation[i], i == 0 ? height : width, 0};
    if (s.window < 1 || s.stride < 1 || s.padding < 0 || s.dilation < 1 || s.extent < 0 || s.window > most ||
        s.padding > most || s.dilation > most) {
      throw ArgumentError(
          fmt::format("[{}] window {}, stride {}, padding {}, dilation {} of axis {}: all but the "
                      "padding are at least 1",
                      op, s.window, s.stride, s.padding, s.dilation, i));
    }
    if (s.padded() < s.reach()) {
      throw ShapeError(fmt::format("[{}] windows of {} do not fit into {} padded pixels of axis {}", op,
                                   s.reach(), s.padded(), i));
    }
    s.count = (s.padded() - s.reach()) / s.stride + 1;
  }
  return out;
}

}  // namespace

std::vector<ValueRef> meshgrid(const std::vector<ValueRef>& axes, bool swapped) {
  const auto rank = static_cast<int>(axes.size());
  Shape shape;
  for (const auto& axis : axes) shape.push_back(axis->shape[0]);
  std::vector<ValueRef> grids;
  for (int i = 0; i < rank; ++i) {
    Shape column = Shape::filled(rank - i, 1);
    column[0] = shape[i];
    const auto grid = bridge::expand(bridge::reshape(axes[static_cast<std::size_t>(i)], column), shape);
    grids.push_back(swapped && rank > 1 ? bridge::transpose(grid, 0, 1) : grid);
  }
  return grids;
}

ValueRef affine_grid(const ValueRef& theta, std::int64_t height, std::int64_t width, bool align_corners) {
  const auto& shape = theta->shape;
  if (shape[1] != 2 || shape[2] != 3 || height < 1 || width < 1) {
    throw ShapeError(
        fmt::format("[affine_grid_2d] takes maps [batch, 2, 3] and an image of at least one pixel, not {} "
                    "and {} x {}",
                    shape.to_string(), height, width));
  }
  const auto x = pixel_centres(theta, width, align_corners), y = pixel_centres(theta, height, align_corners);
  const auto grid = meshgrid({y, x}, false);
  const auto ones = bridge::expand(bridge::scalar_like(theta, 1), {height, width});
  const auto points = bridge::reshape(stack({grid[1], grid[0], ones}, 2), {height * width, 3});
  return bridge::reshape(bridge::matmul(points, bridge::transpose(theta)), {shape[0], height, width, 2});
}

ValueRef grid_sample(const ValueRef& input, const ValueRef& grid, Sampling how, Outside outside,
                     bool align_corners) {
  const auto &xs = input->shape, &gs = grid->shape;
  if (gs[3] != 2 || gs[0] != xs[0] || xs[2] < 1 || xs[3] < 1) {
    throw ShapeError(
        fmt::format("[grid_sample_2d] an image {} of at least one pixel needs a grid [{}, height, width, 2], "
                    "not {}",
                    xs.to_string(), xs[0], gs.to_string()));
  }
  if (input->dtype != grid->dtype) {
    throw DTypeError(fmt::format("[grid_sample_2d] the image is {} and the grid {}; cast one of them",
                                 name_of(input->dtype), name_of(grid->dtype)));
  }
  const auto image = bridge::cast(input, bridge::wide(input->dtype));
  const auto points =
      bridge::reshape(bridge::cast(grid, bridge::wide(grid->dtype)), {gs[0], gs[1] * gs[2], 2});
  const auto x = places(detail::at(points, 2, 0), xs[3], outside, align_corners);
  const auto y = places(detail::at(points, 2, 1), xs[2], outside, align_corners);
  const Pixels pixels(image);
  const auto result = how == Sampling::nearest
                          ? pixels.at(unary(UnaryKind::round, x), unary(UnaryKind::round, y))
                          : bilinear(pixels, x, y);
  return bridge::cast(bridge::reshape(result, {xs[0], xs[1], gs[1], gs[2]}), input->dtype);
}

ValueRef deform_conv(const ValueRef& x, const ValueRef& offset, const ValueRef& weight, const ValueRef& mask,
                     std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
                     std::span<const std::int64_t> dilation, std::int64_t groups) {
  const auto &xs = x->shape, &ws = weight->shape, &os = offset->shape;
  const std::array window{ws[2], ws[3]};
  const auto [rows, columns] = spans("deform_conv2d", {window, stride, padding, dilation}, xs[2], xs[3]);
  const auto taps = ws[2] * ws[3], points = rows.count * columns.count;
  const auto parts = os[1] / (2 * taps);  // of the channels, each with offsets of its own
  const bool fits = groups >= 1 && xs[1] == ws[1] * groups && ws[0] % groups == 0 && parts >= 1 &&
                    xs[1] % parts == 0 && os == Shape{xs[0], parts * 2 * taps, rows.count, columns.count} &&
                    (!mask || mask->shape == Shape{xs[0], parts * taps, rows.count, columns.count});
  if (!fits) {
    throw ShapeError(fmt::format(
        "[deform_conv2d] x {}, weight {} and {} groups take offsets [{}, p * {}, {}, {}] and a mask "
        "[{}, p * {}, {}, {}] where p divides the channels, not {}{}",
        xs.to_string(), ws.to_string(), groups, xs[0], 2 * taps, rows.count, columns.count, xs[0], taps,
        rows.count, columns.count, os.to_string(), mask ? " and " + mask->shape.to_string() : ""));
  }
  const auto n = xs[0] * parts;
  const auto wide = [](const ValueRef& v) { return bridge::cast(v, bridge::wide(v->dtype)); };
  const auto moves = bridge::reshape(wide(offset), {n, taps, 2, points});
  // Where each tap would look without its offset: [taps, points].
  const auto undisturbed = [&](const Span& s, bool of_row) {
    std::vector<double> at;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t point = 0; point < points; ++point) {
        const auto inside = of_row ? tap / ws[3] : tap % ws[3];
        const auto start = (of_row ? point / columns.count : point % columns.count) * s.stride - s.padding;
        at.push_back(static_cast<double>(start + inside * s.dilation));
      }
    }
    return bridge::reshape(bridge::cast(host_values(offset, at), moves->dtype), {taps, points});
  };
  const auto place = [&](const Span& s, bool of_row) {
    const auto moved = add(detail::at(moves, 2, of_row ? 0 : 1), undisturbed(s, of_row));
    return bridge::reshape(moved, {n, taps * points});
  };
  const Pixels pixels(bridge::reshape(wide(x), {n, xs[1] / parts, xs[2], xs[3]}));
  auto sampled = bilinear(pixels, place(columns, false), place(rows, true));
  if (mask) sampled = mul(sampled, bridge::reshape(wide(mask), {n, 1, taps * points}));
  const auto patches =
      bridge::reshape(bridge::cast(sampled, weight->dtype), {xs[0], groups, ws[1] * taps, points});
  const auto kernels = bridge::reshape(weight, {1, groups, ws[0] / groups, ws[1] * taps});
  return bridge::reshape(bridge::matmul(kernels, patches), {xs[0], ws[0], rows.count, columns.count});
}

ValueRef unfold_image(const ValueRef& x, const Patches& patches) {
  const auto& shape = x->shape;
  const auto [rows, columns] = spans("unfold4d", patches, shape[2], shape[3]);
  const auto padded =
      bridge::pad(x, {0, 0, rows.padding, columns.padding}, {0, 0, rows.padding, columns.padding}, 0);
  const auto windows = bridge::unfold(bridge::unfold(padded, 2, rows.reach(), rows.stride), 3,
                                      columns.reach(), columns.stride);
  const auto taken = bridge::slice(windows, Dims::filled(6, 0), windows->shape,
                                   {1, 1, 1, 1, rows.dilation, columns.dilation});
  return bridge::reshape(bridge::permute(taken, {0, 1, 4, 5, 2, 3}),
                         {shape[0], shape[1] * rows.window * columns.window, rows.count * columns.count});
}

ValueRef fold_image(const ValueRef& x, std::span<const std::int64_t> size, const Patches& patches) {
  const auto& shape = x->shape;
  const auto [rows, columns] = spans("fold4d", patches, size[0], size[1]);
  const auto window = rows.window * columns.window, count = rows.count * columns.count;
  if (shape[1] % window != 0 || shape[2] != count) {
    throw ShapeError(
        fmt::format("[fold4d] columns {} are not [batch, channels * {}, {}]: windows of {} x {} at {} x "
                    "{} places of an image of {} x {}",
                    shape.to_string(), window, count, rows.window, columns.window, rows.count, columns.count,
                    size[0], size[1]));
  }
  // Where in the padded image, flattened, each entry of the window lies in each patch.
  const auto line = [&](const Span& s, std::int64_t scale) {
    const auto offset = bridge::iota(x->backend, s.window, DType::i64, 0, s.dilation * scale);
    const auto place = bridge::iota(x->backend, s.count, DType::i64, 0, s.stride * scale);
    return add(bridge::reshape(offset, {s.window, 1}), place);
  };
  const auto row = bridge::reshape(line(rows, columns.padded()), {rows.window, 1, rows.count, 1});
  const auto column = bridge::reshape(line(columns, 1), {1, columns.window, 1, columns.count});
  const auto index = bridge::reshape(add(row, column), {window * count});
  const auto n = shape[0], c = shape[1] / window;
  const auto empty = bridge::expand(bridge::scalar_like(x, 0), {n, c, rows.padded() * columns.padded()});
  const auto sum = bridge::select_assign(empty, 2, index, bridge::reshape(x, {n, c, window * count}),
                                         op::ScatterMode::add);
  const auto image = bridge::reshape(sum, {n, c, rows.padded(), columns.padded()});
  return bridge::slice(image, {0, 0, rows.padding, columns.padding},
                       {n, c, rows.padding + size[0], columns.padding + size[1]}, Dims::filled(4, 1));
}

}  // namespace strata::detail
