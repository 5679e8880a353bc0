#include "flex/elementwise.hpp"
#include "flex/moving_kernels.hpp"
#include "flex/operands.hpp"

namespace strata::flex {
namespace {

/// f64 to a half rounds twice, through f32, as base::convert does.
template <class From, class To>
void cast_blocks(const Operand& x, FlexValue& out) {
  const auto convert = convert_kernels<Compute<From>>();
  map_blocks<From, To>(std::array{x}, out, [&](const Compute<From>* in, Compute<To>* result, std::size_t n) {
    if constexpr (std::is_same_v<To, bool>) {
      for (std::size_t i = 0; i < n; ++i) result[i] = in[i] != Compute<From>{};
    } else {
      convert(in, result, n);
    }
  });
}

/// Between f32 and a half, both dense: no block in between.
template <class From, class To>
void cast_directly(const Operand& x, FlexValue& out) {
  const auto* in = reinterpret_cast<const From*>(x.data);
  parallel(out.size(), block, out.size() * static_cast<std::int64_t>(sizeof(From) + sizeof(To)),
           [&](std::int64_t begin, std::int64_t end) {
             const auto n = static_cast<std::size_t>(end - begin);
             if constexpr (is_half<From>) {
               to_float(in + begin, out.as<To>() + begin, n);
             } else {
               from_float(in + begin, out.as<To>() + begin, n);
             }
           });
}

}  // namespace

FlexRef run(const op::Cast&, backend::Inputs inputs, const op::TensorType& type) {
  const auto& x = flex(inputs[0]);
  if (x.dtype == type.dtype) return FlexValue::view_of(x, x.view());
  auto out = FlexValue::make(x.backend, type, "cast");
  const Operand operand(x, type.shape, "cast");
  const bool dense = operand.nest.rank == 1 && operand.nest.contiguous();
  visit_dtype(x.dtype, [&]<class From>() {
    visit_dtype(type.dtype, [&]<class To>() {
      constexpr bool half =
          (is_half<From> && std::is_same_v<To, float>) || (is_half<To> && std::is_same_v<From, float>);
      if constexpr (half) {
        if (dense) return cast_directly<From, To>(operand, *out);
      }
      cast_blocks<From, To>(operand, *out);
    });
  });
  return out;
}

}  // namespace strata::flex
