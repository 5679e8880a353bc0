#include <array>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

using op::CustomKernel;

/// Two kernels of integers, which need no gradients; each loops, so that every grid does all of the work.
#define STRATA_ROTATE                                                                                 \
  [](lang::In<T> x, lang::Out<T> y, lang::Scalar<std::int64_t> shift) {                               \
    lang::for_(lang::absolute_pos(), y.len(), lang::convert<std::int64_t>(lang::cube_count_x()) * 32, \
               [&](auto i) { y[i] = x[(i + shift) % x.len()]; });                                     \
  }
#define STRATA_ACCUMULATE                                                                             \
  [](lang::In<T> x, lang::InOut<T> y) {                                                               \
    lang::for_(lang::absolute_pos(), y.len(), lang::convert<std::int64_t>(lang::cube_count_x()) * 32, \
               [&](auto i) { y[i] += x[i]; });                                                        \
  }
#define STRATA_TEXT_OF(code) #code
#define STRATA_TEXT(code) STRATA_TEXT_OF(code)

struct Kernels {
  lang::Kernel rotate, accumulate;
};
template <class T>
Kernels kernels_of() {
  return {lang::kernel("rotate", lang::Cube{32}, STRATA_ROTATE),
          lang::kernel("accumulate", lang::Cube{32}, STRATA_ACCUMULATE)};
}
const Kernels& kernels(DType t) {
  static const auto of_i64 = kernels_of<std::int64_t>(), of_i32 = kernels_of<std::int32_t>(),
                    of_u8 = kernels_of<std::uint8_t>();
  return t == DType::i64 ? of_i64 : t == DType::i32 ? of_i32 : of_u8;
}

Call choose_kernel(Chooser& c) {
  const auto x = c.of_dtype(is_int);
  const auto type = c.type(x);
  const lang::Grid grid{static_cast<std::uint32_t>(c.between(1, 3))};
  const auto make = [](CustomKernel::Call call) {
    return CustomKernel{std::make_shared<const CustomKernel::Call>(std::move(call))};
  };
  if (c.chance(0.5)) {
    return {make({kernels(type.dtype).rotate, grid, {type.shape}, {c.between(-3, 3)}}), {x}};
  }
  const auto y = c.operand([&](const TensorType& t) { return t == type; }, [&] { return type; });
  return {make({kernels(type.dtype).accumulate, grid, {}, {}}), {x, y}};
}

Errors kernel_errors(const CustomKernel&, Propagation& p) { return p.all_or_nothing(); }

std::string kernel_literal(const CustomKernel& o) {
  const auto& call = *o.call;
  const auto& signature = call.kernel.signature();
  constexpr std::string_view names[] = {"std::int64_t", "std::int32_t", "std::uint8_t"};
  const auto type = names[signature.arguments[0].scalar - static_cast<int>(DType::i64)];
  const bool rotates = signature.name == "rotate";
  return fmt::format(
      "[] {{ using T = {}; return op::CustomKernel{{std::make_shared<const op::CustomKernel::Call>("
      "op::CustomKernel::Call{{lang::kernel(\"{}\", lang::Cube{{32}}, {}), {{{}}}, {{{}}}, {{{}}}}})}}; }}()",
      type, signature.name, rotates ? STRATA_TEXT(STRATA_ROTATE) : STRATA_TEXT(STRATA_ACCUMULATE),
      call.grid.x, rotates ? "Shape" + literal(call.made[0]) : "",
      rotates ? std::to_string(call.scalars[0]) : "");
}

void resize_kernel(CustomKernel& o, Resize r) {
  auto call = *o.call;
  for (auto& shape : call.made) r(shape);
  o.call = std::make_shared<const CustomKernel::Call>(std::move(call));
}

}  // namespace

Family family(Of<CustomKernel>) {
  return make_family("custom_kernel", 3, choose_kernel, kernel_errors, kernel_literal, resize_kernel);
}

}  // namespace strata::fuzz
