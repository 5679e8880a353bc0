#include "flex/value.hpp"

#include <new>

#include <fmt/format.h>

#include "flex/copy.hpp"
#include "flex/memory.hpp"

namespace strata::flex {

void* FlexValue::operator new(std::size_t bytes) {
  auto* p = allocate(bytes);
  if (!p) throw std::bad_alloc();
  return p;
}
void FlexValue::operator delete(void* p, std::size_t bytes) noexcept {
  flex::release(static_cast<std::byte*>(p), bytes);
}

FlexValue::FlexValue(backend::Backend& home, DType type, const Shape& extents, const Strides& strides)
    : Value(home, type, extents), strides_(strides), size_(extents.product()) {}

FlexValue::~FlexValue() {
  if (block_bytes_ > 0) flex::release(data_, block_bytes_);
}

FlexRef FlexValue::make(backend::Backend& home, const op::TensorType& type, std::string_view op) {
  FlexRef value(new FlexValue(home, type.dtype, type.shape, op::contiguous_strides(type.shape)));
  const auto bytes = static_cast<std::size_t>(value->size_) * size_of(type.dtype);
  if (bytes == 0) return value;
  value->data_ = allocate(bytes);
  if (!value->data_) [[unlikely]] {
    throw OutOfMemoryError(fmt::format("[{}] cannot allocate {} bytes for the result {} (device: {})", op,
                                       bytes, type.to_string(), home.name()));
  }
  value->block_bytes_ = bytes;
  return value;
}

FlexRef FlexValue::view_of(const FlexValue& base, const op::View& view) {
  FlexRef value(new FlexValue(base.backend, base.dtype, view.shape, view.strides));
  value->contiguous_ = op::is_contiguous(view);
  if (value->size_ == 0) return value;
  value->owner_ = base.owner_ ? base.owner_ : FlexRef(const_cast<FlexValue*>(&base));
  value->data_ = base.data_ + view.offset * static_cast<std::int64_t>(size_of(base.dtype));
  return value;
}

FlexRef FlexValue::share(backend::Backend& home, const op::TensorType& type,
                         std::shared_ptr<const std::byte> bytes) {
  FlexRef value(new FlexValue(home, type.dtype, type.shape, op::contiguous_strides(type.shape)));
  value->data_ = const_cast<std::byte*>(bytes.get());  // only ever read: kernels write fresh values alone
  value->foreign_ = std::move(bytes);
  return value;
}

FlexRef contiguous(const FlexValue& v, std::string_view op) {
  if (v.contiguous()) return FlexRef(const_cast<FlexValue*>(&v));
  auto copy = FlexValue::make(v.backend, v.type(), op);
  copy_elements(v, copy->data(), op::contiguous_strides(v.shape));
  return copy;
}

}  // namespace strata::flex
