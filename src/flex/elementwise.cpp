#include "flex/elementwise.hpp"

#include "flex/operands.hpp"

namespace strata::flex {
namespace {

/// Calls f<T>() for the types that compute: not bool.
template <class F>
void visit_number(DType t, F&& f) {
  visit_dtype(t, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) f.template operator()<T>();
  });
}

}  // namespace

FlexRef run(const op::Unary& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  auto out = FlexValue::make(x.backend, type, name_of(op.kind));
  const std::array operands{Operand(x, type.shape, name_of(op.kind))};
  if (type.dtype == DType::boolean) {
    map_blocks<bool, bool>(operands, *out, [](const std::uint8_t* a, std::uint8_t* o, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) o[i] = a[i] ^ 1;
    });
    return out;
  }
  visit_number(type.dtype,
               [&]<class T>() { map_blocks<T, T>(operands, *out, unary_kernel<Compute<T>>(op.kind)); });
  return out;
}

FlexRef run(const op::Binary& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto &a = flex(inputs[0]), &b = flex(inputs[1]);
  const auto name = name_of(op.kind);
  auto out = FlexValue::make(a.backend, type, name);
  const std::array operands{Operand(a, type.shape, name), Operand(b, type.shape, name)};
  visit_dtype(type.dtype,
              [&]<class T>() { map_blocks<T, T>(operands, *out, binary_kernel<Compute<T>>(op.kind)); });
  return out;
}

FlexRef run(const op::Compare& op, backend::Inputs inputs, const op::TensorType& type) {
  const auto &a = flex(inputs[0]), &b = flex(inputs[1]);
  const auto name = name_of(op.kind);
  auto out = FlexValue::make(a.backend, type, name);
  const std::array operands{Operand(a, type.shape, name), Operand(b, type.shape, name)};
  visit_dtype(a.dtype,
              [&]<class T>() { map_blocks<T, bool>(operands, *out, compare_kernel<Compute<T>>(op.kind)); });
  return out;
}

}  // namespace strata::flex
