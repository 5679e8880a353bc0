#include "op/index.hpp"

#include <fmt/format.h>

#include "op/layout.hpp"

namespace strata::op {
namespace {

void require_index(const Site& site, int axis) {
  const auto &x = site.inputs[0], &index = site.inputs[1];
  require_axis(site, axis);
  if (index.dtype != DType::i64 && index.dtype != DType::i32) {
    dtype_error(site, fmt::format("the index must be i64 or i32, not {}", name_of(index.dtype)));
  }
  bool fits = index.shape.rank() == x.shape.rank();
  for (int i = 0; fits && i < x.shape.rank(); ++i) fits = i == axis || index.shape[i] == x.shape[i];
  if (!fits) {
    shape_error(site, fmt::format("the index {} must have the extents of {} on every axis but {}",
                                  index.shape.to_string(), x.shape.to_string(), axis));
  }
}

void require_source(const Site& site, const TensorType& source, const Shape& wanted) {
  const auto& x = site.inputs[0];
  if (source.dtype != x.dtype) {
    dtype_error(site, fmt::format("operands are {} and {}; cast one of them: strata never converts silently",
                                  name_of(x.dtype), name_of(source.dtype)));
  }
  if (source.shape != wanted) {
    shape_error(site, fmt::format("the source has shape {} where {} is written", source.shape.to_string(),
                                  wanted.to_string()));
  }
}

}  // namespace

std::string_view name_of(ScatterMode m) {
  constexpr std::string_view names[] = {"assign", "add", "mul", "max", "min"};
  return names[static_cast<int>(m)];
}

IndexError index_error(std::string_view op, std::int64_t index, int axis, const TensorType& x,
                       const TensorType& given, std::string_view device) {
  return IndexError(
      fmt::format("[{}] index {} is not in 0..{}, the range of axis {} (inputs: {}, {}; device: {})", op,
                  index, x.shape[axis] - 1, axis, x.to_string(), given.to_string(), device));
}

TensorTypes infer(const Gather& op, const Site& site) {
  require_index(site, op.axis);
  TensorType out{site.inputs[0].dtype, site.inputs[1].shape};
  check_size(site, out);
  return TensorTypes(out);
}

TensorTypes infer(const Scatter& op, const Site& site) {
  require_index(site, op.axis);
  require_source(site, site.inputs[2], site.inputs[1].shape);
  if (site.inputs[0].dtype == DType::boolean && op.mode != ScatterMode::assign) {
    dtype_error(site,
                fmt::format("{} is not defined for bool; cast to an integer type first", name_of(op.mode)));
  }
  return TensorTypes(site.inputs[0]);
}

TensorTypes infer(const SliceAssign& op, const Site& site) {
  const Site slice{site.op, site.inputs.first(1), site.device};
  require_source(site, site.inputs[1], infer(Slice{op.start, op.stop, op.step}, slice)[0].shape);
  return TensorTypes(site.inputs[0]);
}

}  // namespace strata::op
