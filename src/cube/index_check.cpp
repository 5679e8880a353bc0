#include "cube/index_check.hpp"

#include <cstring>

#include "op/index.hpp"

namespace strata::cube {
namespace {

/// Element number `linear` of a view of i64 or i32.
std::int64_t element(const std::byte* data, DType dtype, const op::View& view, std::int64_t linear) {
  std::int64_t at = view.offset;
  for (int axis = view.shape.rank() - 1; axis >= 0; --axis) {
    at += linear % view.shape[axis] * view.strides[axis];
    linear /= view.shape[axis];
  }
  const auto read = [&]<class T>(T v) {
    std::memcpy(&v, data + at * static_cast<std::int64_t>(sizeof v), sizeof v);
    return static_cast<std::int64_t>(v);
  };
  return dtype == DType::i64 ? read(std::int64_t{}) : read(std::int32_t{});
}

}  // namespace

runtime::CheckRef index_check(const CubeBackend& backend, std::string_view op, int axis,
                              const op::TensorType& x, const CubeRef& index) {
  return std::make_shared<runtime::Check>(
      [device = std::string(backend.name()), name = std::string(op), axis, x, dtype = index->dtype,
       view = index->view(), buffer = index->buffer](std::int64_t found, const runtime::Download& download) {
        const auto value = element(download(buffer).get(), dtype, view, found);
        return std::make_exception_ptr(op::index_error(name, value, axis, x, {dtype, view.shape}, device));
      });
}

}  // namespace strata::cube
