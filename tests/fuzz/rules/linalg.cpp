#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

/// Kinds that take any matrix; the others refuse most random ones.
Call choose_linalg(Chooser& c) {
  const bool square = c.chance(0.5);
  const auto fits = [&](const TensorType& t) {
    const int rank = t.shape.rank();
    return is_float(t.dtype) && rank >= 2 && (!square || t.shape[rank - 1] == t.shape[rank - 2]);
  };
  const auto x = c.operand(fits, [&] {
    TensorType t{c.dtype([](DType d) { return is_float(d); }), c.shape_of_rank(2)};
    if (square) t.shape[1] = t.shape[0];
    return t;
  });
  using enum op::LinalgKind;
  const auto kind = square ? (c.chance(0.5) ? determinant : slogdet) : (c.chance(0.5) ? qr : lu);
  return {op::Linalg{kind}, {x}};
}
/// Every device computes them on the host; how far an uncertain matrix moves the result is not known.
Errors linalg_errors(const op::Linalg&, Propagation& p) { return p.all_or_nothing(); }
std::string linalg_literal(const op::Linalg& o) {
  return fmt::format("op::Linalg{{op::LinalgKind::{}}}", op::name_of(o.kind));
}

}  // namespace

Family family(Of<op::Linalg>) {
  return make_family("linalg", 3, choose_linalg, linalg_errors, linalg_literal, keep_size<op::Linalg>);
}

}  // namespace strata::fuzz
