#include "op/window.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::op {
namespace {

/// Spatial axes of the first input; throws unless it is [n, c, ...] with one to three of them.
int spatial_rank(const Site& site) {
  const int rank = site.inputs[0].shape.rank() - 2;
  if (rank < 1 || rank > 3) {
    shape_error(site, fmt::format("takes [batch, channels, ...] with one to three spatial axes, not {}",
                                  site.inputs[0].shape.to_string()));
  }
  return rank;
}

void require_each(const Site& site, const Dims& values, int rank, std::int64_t least, std::string_view name) {
  bool good = values.rank() == rank;
  for (auto v : values) good = good && v >= least && v <= (std::int64_t{1} << 31);
  if (!good) {
    argument_error(site, fmt::format("{} {} needs one entry of at least {} for each of the {} spatial axes",
                                     name, values.to_string(), least, rank));
  }
}

/// Distance from the first to the last element of a window.
std::int64_t reach(std::int64_t window, std::int64_t dilation) { return (window - 1) * dilation; }

TensorTypes pooled(const Site& site, const Dims& window, const Dims& stride, const Dims& padding,
                   const Dims& dilation, bool ceil_mode, DType dtype) {
  const auto& x = site.inputs[0];
  const int rank = spatial_rank(site);
  require_each(site, window, rank, 1, "window");
  require_each(site, stride, rank, 1, "stride");
  require_each(site, padding, rank, 0, "padding");
  require_each(site, dilation, rank, 1, "dilation");
  TensorType out{dtype, {x.shape[0], x.shape[1]}};
  for (int i = 0; i < rank; ++i) {
    if (padding[i] * 2 > reach(window[i], dilation[i]) + 1) {
      argument_error(site, fmt::format("padding {} of spatial axis {} is more than half the window {}",
                                       padding[i], i, window[i]));
    }
    const auto n = pooled_extent(x.shape[2 + i], window[i], stride[i], padding[i], dilation[i], ceil_mode);
    if (n < 1 || x.shape[2 + i] < 1) {  // of no entries, padding may still be as wide as a window
      shape_error(site, fmt::format("spatial axis {} has {} entries, fewer than the window of {} needs", i,
                                    x.shape[2 + i], window[i]));
    }
    for (std::int64_t o = 0; dilation[i] > 1 && padding[i] > 0 && o < n; ++o) {
      const auto begin = o * stride[i] - padding[i];
      const auto skipped = begin < 0 ? (dilation[i] - 1 - begin) / dilation[i] : 0;
      if (skipped >= window[i] || begin + skipped * dilation[i] >= x.shape[2 + i]) {
        shape_error(site, fmt::format("window {} of spatial axis {} lies on padding alone", o, i));
      }
    }
    out.shape.push_back(n);
  }
  check_size(site, out);
  return TensorTypes(out);
}

}  // namespace

std::string_view name_of(PoolKind k) { return k == PoolKind::max ? "max_pool" : "mean_pool"; }

std::int64_t pooled_extent(std::int64_t extent, std::int64_t window, std::int64_t stride,
                           std::int64_t padding, std::int64_t dilation, bool ceil_mode) {
  const auto room = extent + 2 * padding - reach(window, dilation) - 1;
  if (room < 0) return 0;
  auto n = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (n - 1) * stride >= extent + padding) --n;  // it would begin beyond x
  return n;
}

TensorTypes infer(const Conv& op, const Site& site) {
  const auto &x = site.inputs[0], &w = site.inputs[1];
  const int rank = spatial_rank(site);
  if (!is_float(x.dtype) || x.dtype != w.dtype) {
    dtype_error(site, fmt::format("takes two tensors of one float dtype, not {} and {}", name_of(x.dtype),
                                  name_of(w.dtype)));
  }
  require_each(site, op.stride, rank, 1, "stride");
  require_each(site, op.padding, rank, 0, "padding");
  require_each(site, op.dilation, rank, 1, "dilation");
  if (!op.extra.empty()) require_each(site, op.extra, rank, 0, "extra");
  const auto channels = x.shape[1];
  const bool fits = op.groups >= 1 && channels % op.groups == 0 && w.shape.rank() == x.shape.rank() &&
                    (op.transposed ? w.shape[0] == channels
                                   : w.shape[1] * op.groups == channels && w.shape[0] % op.groups == 0);
  if (!fits) {
    shape_error(
        site, fmt::format(
                  "weight {} does not fit x {} in {} group{}: it must be [{}, ...] with {} "
                  "spatial axes",
                  w.shape.to_string(), x.shape.to_string(), op.groups, op.groups == 1 ? "" : "s",
                  op.transposed ? "in channels, out channels / groups" : "out channels, in channels / groups",
                  rank));
  }
  TensorType out{x.dtype, {x.shape[0], op.transposed ? w.shape[1] * op.groups : w.shape[0]}};
  for (int i = 0; i < rank; ++i) {
    const auto window = w.shape[2 + i], extent = x.shape[2 + i];
    if (window < 1) shape_error(site, fmt::format("weight {} is empty", w.shape.to_string()));
    const auto span = reach(window, op.dilation[i]);
    std::int64_t n = 0;
    if (op.transposed) {
      const auto extra = op.extra.empty() ? 0 : op.extra[i];
      if (extra >= std::max(op.stride[i], op.dilation[i])) {
        argument_error(
            site, fmt::format("extra {} of spatial axis {} must be below its stride or dilation", extra, i));
      }
      n = (extent - 1) * op.stride[i] - 2 * op.padding[i] + span + 1 + extra;
    } else {
      const auto room = extent + 2 * op.padding[i] - span - 1;
      n = room < 0 ? 0 : room / op.stride[i] + 1;
    }
    if (n < 1) {
      shape_error(
          site, fmt::format("spatial axis {} has {} entries: too few for a window of {}", i, extent, window));
    }
    out.shape.push_back(n);
  }
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Pool& op, const Site& site) {
  const auto dtype = site.inputs[0].dtype;
  if (dtype == DType::boolean || (op.kind == PoolKind::mean && !is_float(dtype))) {
    dtype_error(site, fmt::format("is not defined for {}", name_of(dtype)));
  }
  return pooled(site, op.window, op.stride, op.padding, op.dilation, op.ceil_mode, dtype);
}

TensorTypes infer(const ArgPool& op, const Site& site) {
  if (site.inputs[0].dtype == DType::boolean) dtype_error(site, "is not defined for bool");
  return pooled(site, op.window, op.stride, op.padding, op.dilation, op.ceil_mode, DType::i64);
}

}  // namespace strata::op
