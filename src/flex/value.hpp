/// Flex's tensor: strided elements in memory, either its own block, somebody's shared bytes, or a view of
/// another value.
#pragma once

#include <memory>
#include <string_view>

#include "backend/backend.hpp"
#include "op/layout.hpp"

namespace strata::flex {

class FlexValue;
using FlexRef = backend::Ref<FlexValue>;

class FlexValue final : public backend::Value {
 public:
  /// Uninitialised and contiguous. Throws OutOfMemoryError naming `op`, the type and the bytes.
  static FlexRef make(backend::Backend& home, const op::TensorType& type, std::string_view op);
  /// Elements of `base` seen through `view`, whose offset counts from the base's first element. Copies
  /// nothing.
  static FlexRef view_of(const FlexValue& base, const op::View& view);
  /// Contiguous bytes shared with `bytes`' other owners.
  static FlexRef share(backend::Backend& home, const op::TensorType& type,
                       std::shared_ptr<const std::byte> bytes);

  ~FlexValue() override;
  static void* operator new(std::size_t bytes);
  static void operator delete(void* p, std::size_t bytes) noexcept;

  /// The element at index 0, 0, ...; null when the tensor is empty.
  std::byte* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  const Strides& strides() const { return strides_; }
  bool contiguous() const { return contiguous_; }
  std::int64_t size() const { return size_; }
  op::TensorType type() const { return {dtype, shape}; }
  op::View view() const { return {shape, strides_, 0}; }
  /// The value whose block holds the elements.
  const FlexValue& owner() const { return owner_ ? *owner_ : *this; }

 private:
  FlexValue(backend::Backend& home, DType type, const Shape& extents, const Strides& strides);

  Strides strides_;
  std::int64_t size_;
  std::byte* data_ = nullptr;
  std::size_t block_bytes_ = 0;  // 0: the elements belong to owner_ or foreign_
  bool contiguous_ = true;
  FlexRef owner_;
  std::shared_ptr<const std::byte> foreign_;
};

/// The flex value behind a handle: backend::execute has checked that it lives here.
inline const FlexValue& flex(const backend::ValueRef& v) { return static_cast<const FlexValue&>(*v); }

/// The value itself when it is contiguous, else a packed copy. `op` is named if memory runs out.
FlexRef contiguous(const FlexValue& v, std::string_view op);

}  // namespace strata::flex
