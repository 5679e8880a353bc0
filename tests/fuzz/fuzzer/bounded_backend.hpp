/// The reference device: a decorator over flex whose values carry bounds. Under an Autodiff it bounds
/// gradients by the same rules, because a gradient is made of the same operations.
#pragma once

#include "fuzz/fuzzer/bounds.hpp"

namespace strata::fuzz {

class BoundedValue final : public backend::Value {
 public:
  BoundedValue(backend::Backend& home, ValueRef value, Errors bounds)
      : Value(home, value->dtype, value->shape), inner(std::move(value)), errors(std::move(bounds)) {}
  const ValueRef inner;
  const Errors errors;  ///< f64 in this shape, or null: all 0
};

class BoundedBackend final : public backend::Backend {
 public:
  explicit BoundedBackend(backend::Backend& flex) : flex_(flex) {}

  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override;
  ValueRef from_data(const TensorData& data) override { return wrap(flex_.from_data(data), {}); }
  Future<TensorData> into_data(const ValueRef& value) override { return flex_.into_data(get(value).inner); }
  void sync() override { flex_.sync(); }
  std::string_view name() const override { return flex_.name(); }  // errors read as flex's own

  /// The bounds of each element.
  std::vector<double> errors(const ValueRef& value) const;

 private:
  static const BoundedValue& get(const ValueRef& v) { return static_cast<const BoundedValue&>(*v); }
  ValueRef wrap(ValueRef value, Errors errors) {
    return ValueRef(new BoundedValue(*this, std::move(value), std::move(errors)));
  }

  backend::Backend& flex_;
};

}  // namespace strata::fuzz
