#include "strata/detail/functional.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bridge/bridge.hpp"
#include "strata/error.hpp"
#include "tensor/host_values.hpp"

namespace strata::detail {
namespace {

using bridge::add;
using bridge::mul;
using op::ReduceKind;
using op::UnaryKind;

/// Spatial axes of [batch, channels, ...]; throws unless there is an extent for each.
int spatial_axes(const ValueRef& x, Extents size, std::string_view op) {
  const int rank = x->shape.rank() - 2;
  if (rank < 1 || size.size() != static_cast<std::size_t>(rank)) {
    throw ShapeError(
        fmt::format("[{}] {} sizes for the spatial axes of {}", op, size.size(), x->shape.to_string()));
  }
  for (int i = 0; i < rank; ++i) {
    if (size[static_cast<std::size_t>(i)] < 1 || x->shape[2 + i] < 1) {
      throw ShapeError(fmt::format("[{}] cannot turn {} entries into {} (spatial axis {} of {})", op,
                                   x->shape[2 + i], size[static_cast<std::size_t>(i)], i,
                                   x->shape.to_string()));
    }
  }
  return rank;
}

/// A vector of one axis, shaped to broadcast along `axis` of a tensor of this rank.
ValueRef along(const ValueRef& vector, int axis, int rank) {
  Shape shape = Shape::filled(rank - axis, 1);
  shape[0] = vector->shape[0];
  return bridge::reshape(vector, shape);
}

/// x times weights [out][in] along one axis.
ValueRef mixed(const ValueRef& x, int axis, const std::vector<double>& weights, std::int64_t out) {
  const auto in = x->shape[axis];
  const auto matrix = x->backend.from_data(TensorData::from<double>(weights, {out, in}).convert(x->dtype));
  const int last = x->shape.rank() - 1;
  const auto rows = move_axis(x, axis, last);
  Shape shape = rows->shape;
  shape[last] = out;
  const auto flat = bridge::reshape(rows, {x->shape.product() / in, in});
  const auto result = bridge::matmul(flat, bridge::transpose(matrix));
  return move_axis(bridge::reshape(result, shape), last, axis);
}

/// Part `i` of `parts` (almost) equal ones of `extent` entries.
std::pair<std::int64_t, std::int64_t> part_of(std::int64_t i, std::int64_t parts, std::int64_t extent) {
  return {i * extent / parts, ((i + 1) * extent + parts - 1) / parts};
}

ValueRef adaptive_mean(const ValueRef& x, int axis, std::int64_t out) {
  const auto in = x->shape[axis];
  std::vector<double> weights(static_cast<std::size_t>(in * out), 0.0);
  for (std::int64_t i = 0; i < out; ++i) {
    const auto [begin, end] = part_of(i, out, in);
    for (auto k = begin; k < end; ++k) {
      weights[static_cast<std::size_t>(i * in + k)] = 1 / static_cast<double>(end - begin);
    }
  }
  return mixed(x, axis, weights, out);
}

/// Parts of unequal length are filled up with entries of their own, which changes no maximum.
ValueRef adaptive_max(const ValueRef& x, int axis, std::int64_t out) {
  const auto in = x->shape[axis], longest = in / out + 2;
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < out; ++i) {
    const auto [begin, end] = part_of(i, out, in);
    for (std::int64_t k = 0; k < longest; ++k) index.push_back(std::min(begin + k, end - 1));
  }
  Shape shape = x->shape;
  shape[axis] = out;
  const auto taken = bridge::select(x, axis, host_values(x, index));
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < x->shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : x->shape[i];
  const auto parts = bridge::reshape(taken, {outer * out, longest, inner});
  return bridge::reshape(bridge::reduce(ReduceKind::max, parts, {1}, false), shape);
}

/// Which entries one output entry of a resampled axis mixes, and with which weights.
struct Taps {
  std::vector<std::int64_t> index;
  std::vector<double> weight;
};

/// Where output entry `i` lies between the input's entries.
double place_of(std::int64_t i, std::int64_t in, std::int64_t out, bool align_corners) {
  if (align_corners) {
    return out > 1 ? static_cast<double>(i) * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  }
  return (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
}

/// Keys, "Cubic convolution interpolation for digital image processing", 1981.
double cubic_weight(double distance) {
  constexpr double a = -0.75;
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
}

std::vector<Taps> taps_of(std::int64_t in, std::int64_t out, Interpolation how, bool align_corners) {
  std::vector<Taps> taps(how == Interpolation::nearest ? 1 : how == Interpolation::linear ? 2 : 4);
  for (std::int64_t i = 0; i < out; ++i) {
    if (how == Interpolation::nearest) {
      taps[0].index.push_back(std::min(i * in / out, in - 1));
      continue;
    }
    auto place = place_of(i, in, out, align_corners);
    if (how == Interpolation::linear) place = std::max(place, 0.0);
    const auto below = static_cast<std::int64_t>(std::floor(place));
    const double fraction = place - static_cast<double>(below);
    for (std::size_t k = 0; k < taps.size(); ++k) {
      const auto offset = static_cast<std::int64_t>(k) - (how == Interpolation::cubic ? 1 : 0);
      taps[k].index.push_back(std::clamp<std::int64_t>(below + offset, 0, in - 1));
      const double distance = fraction - static_cast<double>(offset);
      taps[k].weight.push_back(how == Interpolation::cubic ? cubic_weight(distance) : 1 - std::abs(distance));
    }
  }
  return taps;
}

ValueRef resampled(const ValueRef& x, int axis, std::int64_t out, Interpolation how, bool align_corners) {
  ValueRef sum;
  for (const auto& tap : taps_of(x->shape[axis], out, how, align_corners)) {
    auto part = bridge::select(x, axis, host_values(x, tap.index));
    if (!tap.weight.empty()) {
      const auto weights = bridge::cast(host_values(x, tap.weight), x->dtype);
      part = mul(part, along(weights, axis, x->shape.rank()));
    }
    sum = sum ? add(sum, part) : part;
  }
  return sum;
}

}  // namespace

std::vector<ValueRef> linalg(op::LinalgKind kind, const std::vector<ValueRef>& operands) {
  const auto results = bridge::linalg(kind, operands);
  return {results.begin(), results.end()};
}

ValueRef kron(const ValueRef& a, const ValueRef& b) {
  const auto m = a->shape[0], n = a->shape[1], p = b->shape[0], q = b->shape[1];
  Shape shape{0, 0};
  if (__builtin_mul_overflow(m, p, &shape[0]) || __builtin_mul_overflow(n, q, &shape[1])) {
    throw ShapeError(fmt::format("[kron] the product of {} and {} has more than 2^63 rows or columns",
                                 a->shape.to_string(), b->shape.to_string()));
  }
  const auto product = mul(bridge::reshape(a, {m, 1, n, 1}), bridge::reshape(b, {1, p, 1, q}));
  return bridge::reshape(product, shape);
}

ValueRef conv(const ValueRef& x, const ValueRef& weight, Extents stride, Extents padding, Extents dilation,
              std::int64_t groups, bool transposed, Extents output_padding) {
  return bridge::conv({Dims(stride), Dims(padding), Dims(dilation), groups, transposed, Dims(output_padding)},
                      x, weight);
}
ValueRef pool(op::PoolKind kind, const ValueRef& x, Extents window, Extents stride, Extents padding,
              Extents dilation, bool ceil_mode, bool count_padding) {
  return bridge::pool(
      {kind, Dims(window), Dims(stride), Dims(padding), Dims(dilation), ceil_mode, count_padding}, x);
}
ValueRef arg_pool(const ValueRef& x, Extents window, Extents stride, Extents padding, Extents dilation,
                  bool ceil_mode) {
  return bridge::arg_pool({Dims(window), Dims(stride), Dims(padding), Dims(dilation), ceil_mode}, x);
}

ValueRef adaptive_pool(op::PoolKind kind, const ValueRef& x, Extents size) {
  const int rank = spatial_axes(x, size, "adaptive_pool");
  auto result = x;
  for (int i = 0; i < rank; ++i) {
    const auto out = size[static_cast<std::size_t>(i)];
    result = kind == op::PoolKind::max ? adaptive_max(result, 2 + i, out) : adaptive_mean(result, 2 + i, out);
  }
  return result;
}

ValueRef interpolate(const ValueRef& x, Extents size, Interpolation how, bool align_corners) {
  const int rank = spatial_axes(x, size, "interpolate");
  auto result = x;
  for (int i = 0; i < rank; ++i) {
    result = resampled(result, 2 + i, size[static_cast<std::size_t>(i)], how, align_corners);
  }
  return result;
}

ValueRef group_norm(const ValueRef& x, std::int64_t groups, const ValueRef& weight, const ValueRef& bias,
                    double eps) {
  const int rank = x->shape.rank();
  if (rank < 2 || groups < 1 || x->shape[1] % groups != 0) {
    throw ShapeError(
        fmt::format("[group_norm] {} groups of the channels of {}", groups, x->shape.to_string()));
  }
  const auto rows = bridge::reshape(
      x, {x->shape[0] * groups, x->shape.product() / std::max<std::int64_t>(x->shape[0] * groups, 1)});
  const auto normal = bridge::reshape(bridge::norm(op::NormKind::layer, rows, {}, eps), x->shape);
  return add(mul(normal, along(weight, 1, rank)), along(bias, 1, rank));
}

ValueRef batch_norm(const ValueRef& x, const ValueRef& mean, const ValueRef& variance, const ValueRef& weight,
                    const ValueRef& bias, double eps) {
  const int rank = x->shape.rank();
  if (rank < 2)
    throw ShapeError("[batch_norm] x needs an axis of channels, not shape " + x->shape.to_string());
  const auto scale = mul(weight, bridge::unary(UnaryKind::rsqrt, add(variance, eps)));
  const auto shift = bridge::sub(bias, mul(mean, scale));
  return add(mul(x, along(scale, 1, rank)), along(shift, 1, rank));
}

ValueRef embedding(const ValueRef& table, const ValueRef& index) {
  Shape shape = index->shape;
  shape.push_back(table->shape[1]);
  const auto rows = bridge::select(table, 0, bridge::reshape(index, {index->shape.product()}));
  return bridge::reshape(rows, shape);
}

ValueRef attention(const ValueRef& q, const ValueRef& k, const ValueRef& v, const ValueRef& mask, bool causal,
                   double scale) {
  const auto width = static_cast<double>(std::max<std::int64_t>(q->shape[3], 1));
  return bridge::attention({causal, scale == 0 ? 1 / std::sqrt(width) : scale}, q, k, v, mask)[0];
}

}  // namespace strata::detail
