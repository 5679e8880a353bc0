/// The untyped tensor under `Tensor`: an intrusively counted value of some backend. Users meet it only
/// through `Tensor`.
#pragma once

#include <atomic>
#include <utility>

#include "strata/dtype.hpp"
#include "strata/shape.hpp"

namespace strata::backend {

class Backend;

/// Base of every backend's tensor. Immutable in what it says here: dtype, shape and home never change.
class STRATA_API Value {
 public:
  Value(Backend& home, DType type, const Shape& extents) : backend(home), dtype(type), shape(extents) {}
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  virtual ~Value();

  Backend& backend;
  const DType dtype;
  const Shape shape;

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  /// Number of references right now. Exact only for a thread that knows nobody else can hold one.
  std::uint32_t reference_count() const noexcept { return references_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> references_{0};
};

/// Shared pointer to a Value (or to a class derived from it).
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  explicit Ref(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& o) : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
  requires std::derived_from<U, T> &&(!std::same_as<U, T>)Ref(const Ref<U>& o)
      : Ref(o.get()) {}  // NOLINT(google-explicit-constructor)
  template <class U>
  requires std::derived_from<U, T> &&(!std::same_as<U, T>)Ref(Ref<U>&& o)
      : p_(o.detach()) {}  // NOLINT(google-explicit-constructor)
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) p_->release();
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref&) const = default;
  /// Gives the reference up without dropping it.
  T* detach() { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

using ValueRef = Ref<Value>;

}  // namespace strata::backend
