/// `TensorData`: host bytes with a shape and a dtype, row-major and contiguous. What goes into and comes out
/// of a device.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/dtype.hpp"
#include "strata/shape.hpp"

namespace strata::inline v0 {

class STRATA_API TensorData {
 public:
  TensorData() = default;
  /// Takes shared ownership of `bytes`, which must hold shape.product() elements.
  TensorData(DType dtype, Shape shape, std::shared_ptr<const std::byte> bytes)
      : dtype_(dtype), shape_(shape), bytes_(std::move(bytes)) {}
  /// Copies `values`; throws ShapeError unless there are shape.product() of them.
  template <Element T>
  static TensorData from(std::span<const T> values, Shape shape) {
    return copy(dtype_of<T>(), shape, values.data(), values.size());
  }
  template <Element T>
  static TensorData from(std::initializer_list<T> values, Shape shape) {
    return copy(dtype_of<T>(), shape, values.begin(), values.size());
  }
  /// A fresh buffer, 64-byte aligned, to be filled by the caller through `bytes`.
  static std::shared_ptr<std::byte> allocate(std::size_t bytes);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return shape_.product(); }
  std::size_t byte_size() const { return static_cast<std::size_t>(size()) * size_of(dtype_); }
  const std::byte* bytes() const { return bytes_.get(); }
  const std::shared_ptr<const std::byte>& shared_bytes() const { return bytes_; }

  /// The elements in place; throws DTypeError unless T is the stored type.
  template <Element T>
  std::span<const T> as() const {
    require(dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes_.get()), static_cast<std::size_t>(size())};
  }
  /// A copy; throws DTypeError unless T is the stored type.
  template <Element T>
  std::vector<T> to_vector() const {
    auto s = as<T>();
    return {s.begin(), s.end()};
  }
  /// Every element converted to double (i64 beyond 2^53 rounds).
  std::vector<double> to_doubles() const;
  /// Element-wise conversion with the rules of Cast: float to int saturates, NaN becomes 0.
  TensorData convert(DType to) const;
  /// Nested lists, at most `edge` items at either end of an axis once there are more than 1000 elements.
  std::string to_string(int precision = 4, int edge = 3) const;

 private:
  static TensorData copy(DType dtype, Shape shape, const void* values, std::size_t count);
  void require(DType wanted) const;

  DType dtype_ = DType::f32;
  Shape shape_{0};
  std::shared_ptr<const std::byte> bytes_;
};

}  // namespace strata::inline v0
