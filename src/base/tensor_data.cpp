#include "strata/tensor_data.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/convert.hpp"
#include "strata/error.hpp"

namespace strata::inline v0 {
namespace {

std::string format_element(const TensorData& data, std::int64_t i, int precision) {
  return visit_dtype(data.dtype(), [&]<class T>() -> std::string {
    const T x = data.as<T>()[static_cast<std::size_t>(i)];
    if constexpr (std::same_as<T, bool>) {
      return x ? "true" : "false";
    } else if constexpr (is_int(dtype_of<T>())) {
      return std::to_string(x);
    } else {
      char text[48];
      std::snprintf(text, sizeof text, "%.*g", precision + 2, static_cast<double>(base::convert<double>(x)));
      return text;
    }
  });
}

struct Printer {
  const TensorData& data;
  int precision, edge;
  bool summarise;
  std::string out;

  void print(int axis, std::int64_t offset) {
    if (axis == data.shape().rank()) {
      out += format_element(data, offset, precision);
      return;
    }
    std::int64_t stride = 1;
    for (int i = axis + 1; i < data.shape().rank(); ++i) stride *= data.shape()[i];
    const auto n = data.shape()[axis];
    const bool innermost = axis + 1 == data.shape().rank();
    const std::string separator =
        innermost ? ", " : ",\n" + std::string(static_cast<std::size_t>(axis) + 1, ' ');
    out += '[';
    for (std::int64_t i = 0; i < n; ++i) {
      if (i) out += separator;
      if (summarise && n > 2 * edge && i == edge) {
        out += "..." + separator;
        i = n - edge;
      }
      print(axis + 1, offset + i * stride);
    }
    out += ']';
  }
};

}  // namespace

std::shared_ptr<std::byte> TensorData::allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + 63) / 64 * 64;
  void* p = rounded < bytes ? nullptr : std::aligned_alloc(64, rounded ? rounded : 64);
  if (!p) throw OutOfMemoryError("cannot allocate " + std::to_string(bytes) + " bytes of host memory");
  return {static_cast<std::byte*>(p), [](std::byte* q) { std::free(q); }};
}

TensorData TensorData::copy(DType dtype, Shape shape, const void* values, std::size_t count) {
  if (static_cast<std::size_t>(shape.product()) != count) {
    throw ShapeError("shape " + shape.to_string() + " holds " + std::to_string(shape.product()) +
                     " elements, but " + std::to_string(count) + " values were given");
  }
  auto bytes = allocate(count * size_of(dtype));
  if (count) std::memcpy(bytes.get(), values, count * size_of(dtype));
  return {dtype, shape, std::move(bytes)};
}

void TensorData::require(DType wanted) const {
  if (dtype_ != wanted) {
    throw DTypeError("data is " + std::string(name_of(dtype_)) + shape_.to_string() + ", but was read as " +
                     std::string(name_of(wanted)) + "; use convert() first");
  }
}

std::vector<double> TensorData::to_doubles() const { return convert(DType::f64).to_vector<double>(); }

TensorData TensorData::convert(DType to) const {
  if (to == dtype_) return *this;
  auto bytes = allocate(static_cast<std::size_t>(size()) * size_of(to));
  visit_dtype(dtype_, [&]<class From>() {
    const auto source = as<From>();
    visit_dtype(to, [&]<class To>() {
      auto* target = reinterpret_cast<To*>(bytes.get());
      for (std::size_t i = 0; i < source.size(); ++i) target[i] = base::convert<To>(source[i]);
    });
  });
  return {to, shape_, std::move(bytes)};
}

std::string TensorData::to_string(int precision, int edge) const {
  Printer p{*this, precision, edge, size() > 1000, {}};
  if (size() == 0 && shape_.rank() > 0) {
    p.out = "[]";
  } else {
    p.print(0, 0);
  }
  return p.out;
}

}  // namespace strata::inline v0
