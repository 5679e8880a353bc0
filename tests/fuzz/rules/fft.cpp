#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

Call choose_fft(Chooser& c) {
  const auto kind = static_cast<op::FftKind>(c.below(op::fft_count));
  const bool is_complex = kind != op::FftKind::rfft;
  const auto fits = [&](const TensorType& t) {
    const int rank = t.shape.rank();
    return is_float(t.dtype) && t.shape.product() > 0 && rank < max_rank && rank >= (is_complex ? 2 : 1) &&
           (!is_complex || t.shape.back() == 2);
  };
  const auto x = c.operand(fits, [&] {
    TensorType t{c.dtype([](DType d) { return is_float(d); }),
                 c.shape_of_rank(1 + static_cast<int>(c.below(2)))};
    for (auto& extent : t.shape) extent = std::max<std::int64_t>(extent, 1);
    if (is_complex) t.shape.push_back(2);
    return t;
  });
  const auto& shape = c.type(x).shape;
  const int axis = static_cast<int>(c.below(static_cast<std::size_t>(shape.rank()) - (is_complex ? 1 : 0)));
  auto size = shape[axis];
  if (kind == op::FftKind::irfft) size = size == 1 ? 1 : 2 * (size - 1) + c.between(0, 1);
  return {op::Fft{kind, axis, size}, {x}};
}
/// Every device computes them on the host; what an uncertain element moves is its whole line.
Errors fft_errors(const op::Fft&, Propagation& p) { return p.all_or_nothing(); }
std::string fft_literal(const op::Fft& o) {
  return fmt::format("op::Fft{{op::FftKind::{}, {}, {}}}", op::name_of(o.kind), o.axis, o.size);
}
void resize_fft(op::Fft& o, Resize r) { r(o.size); }

}  // namespace

Family family(Of<op::Fft>) { return make_family("fft", 3, choose_fft, fft_errors, fft_literal, resize_fft); }

}  // namespace strata::fuzz
