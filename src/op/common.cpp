#include "op/common.hpp"

#include <fmt/format.h>

#include "base/convert.hpp"

namespace strata::op {
namespace {

std::string describe(const Site& site, const std::string& what) {
  std::string inputs;
  for (const auto& t : site.inputs) inputs += (inputs.empty() ? "" : ", ") + t.to_string();
  std::string where = inputs.empty() ? "" : "inputs: " + inputs;
  if (!site.device.empty()) where += (where.empty() ? "device: " : "; device: ") + std::string(site.device);
  return fmt::format("[{}] {}{}", site.op, what, where.empty() ? "" : " (" + where + ")");
}

}  // namespace

std::int64_t Number::as_int() const {
  return kind == Kind::floating ? base::convert<std::int64_t>(as_double()) : static_cast<std::int64_t>(bits);
}

std::string Number::to_string() const {
  if (kind == Kind::boolean) return bits ? "true" : "false";
  return kind == Kind::integer ? fmt::format("{}", as_int()) : fmt::format("{}", as_double());
}

void shape_error(const Site& site, const std::string& what) { throw ShapeError(describe(site, what)); }
void dtype_error(const Site& site, const std::string& what) { throw DTypeError(describe(site, what)); }
void argument_error(const Site& site, const std::string& what) { throw ArgumentError(describe(site, what)); }

void require_axis(const Site& site, int axis) {
  const int rank = site.inputs[0].shape.rank();
  if (axis < 0 || axis >= rank) {
    shape_error(site, fmt::format("axis {} is not an axis of a rank {} tensor", axis, rank));
  }
}

void check_size(const Site& site, const TensorType& t) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(t.dtype));
  bool overflow = false;
  for (auto extent : t.shape) {
    if (extent < 0)
      shape_error(site, fmt::format("extent {} in shape {} is negative", extent, t.shape.to_string()));
    if (extent != 0) overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (overflow && !t.shape.contains(0)) {
    shape_error(site, fmt::format("result {} needs more than 2^63 bytes", t.to_string()));
  }
}

Shape broadcast(const Site& site, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Shape::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const int ia = a.rank() - rank + i, ib = b.rank() - rank + i;
    const auto ea = ia < 0 ? 1 : a[ia], eb = ib < 0 ? 1 : b[ib];
    if (ea != eb && ea != 1 && eb != 1) [[unlikely]] {
      shape_error(
          site, fmt::format("shapes {} and {} do not broadcast: axis {} has extents {} and {}; they must be "
                            "equal or one of them 1",
                            a.to_string(), b.to_string(), i, ea, eb));
    }
    out[i] = ea == 1 ? eb : ea;
  }
  return out;
}

Strides contiguous_strides(const Shape& shape) {
  Strides s = Strides::filled(shape.rank(), 1);
  if (shape.contains(0)) return s;  // any will do, and the other extents may overflow together
  for (int i = shape.rank() - 2; i >= 0; --i) s[i] = s[i + 1] * shape[i + 1];
  return s;
}

}  // namespace strata::op
