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

/// A column beside a matrix: one number on the right of each row. False where this is another case.
template <class T>
bool map_rows(op::BinaryKind kind, const Operand& a, const Operand& b, FlexValue& out) noexcept {
  constexpr std::int64_t worth_a_call = 64;
  if constexpr (std::is_floating_point_v<T>) {
    const auto kernel = scalar_kernel<T>(kind);
    if (!kernel || !a.nest.contiguous() || b.nest.rank < 2 || b.nest.inner_stride() != 0 ||
        b.nest.inner_extent() < worth_a_call) {
      return false;
    }
    const auto* x = reinterpret_cast<const T*>(a.data);
    const auto* y = reinterpret_cast<const T*>(b.data);
    auto* z = out.as<T>();
    const auto bytes = out.size() * static_cast<std::int64_t>(2 * sizeof(T));
    parallel(out.size(), block, bytes, [&](std::int64_t begin, std::int64_t end) {
      Cursor at(b.nest, begin);
      while (begin < end) {
        const auto n = std::min(at.run(), end - begin);
        kernel(x + begin, y[at.offset()], z + begin, static_cast<std::size_t>(n));
        at.advance(n);
        begin += n;
      }
    });
    return true;
  }
  return false;
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
  const bool commutes = op.kind == op::BinaryKind::add || op.kind == op::BinaryKind::mul;
  visit_dtype(type.dtype, [&]<class T>() {
    if (map_rows<T>(op.kind, operands[0], operands[1], *out)) return;
    if (commutes && map_rows<T>(op.kind, operands[1], operands[0], *out)) return;
    map_blocks<T, T>(operands, *out, binary_kernel<Compute<T>>(op.kind));
  });
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
