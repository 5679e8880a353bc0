#include "base/convert.hpp"
#include "flex/elementwise.hpp"
#include "flex/operands.hpp"

namespace strata::flex {
namespace {

/// f64 to a half rounds twice, through f32, as base::convert does.
template <class From, class To>
void convert_block(const Compute<From>* x, Compute<To>* out, std::size_t n) {
  if constexpr (std::is_same_v<To, bool>) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] != Compute<From>{};
  } else {
    for (std::size_t i = 0; i < n; ++i) out[i] = base::convert<Compute<To>>(x[i]);
  }
}

}  // namespace

FlexRef run(const op::Cast&, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  if (x.dtype == type.dtype) return FlexValue::view_of(x, x.view());
  auto out = FlexValue::make(x.backend, type, "cast");
  const std::array operands{Operand(x, type.shape, "cast")};
  visit_dtype(x.dtype, [&]<class From>() {
    visit_dtype(type.dtype,
                [&]<class To>() { map_blocks<From, To>(operands, *out, convert_block<From, To>); });
  });
  return out;
}

}  // namespace strata::flex
