#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

Call choose_matmul(Chooser& c) {
  const auto fits = [](const TensorType& t) {
    return t.dtype != DType::boolean && t.shape.rank() >= 2 && t.shape.rank() <= 5;
  };
  const auto a = c.operand(fits, [&] {
    return TensorType{c.dtype([](DType t) { return t != DType::boolean; }),
                      c.shape_of_rank(2 + static_cast<int>(c.below(3)))};
  });
  const auto left = c.type(a);
  const int rank = left.shape.rank();
  Shape batch = c.broadcastable(Shape(std::span(left.shape.begin(), static_cast<std::size_t>(rank - 2))));
  if (batch.rank() == rank - 2) {  // the other side may be the one that broadcasts
    for (int i = 0; i < batch.rank(); ++i)
      batch[i] = left.shape[i] == 1 && c.chance(0.5) ? c.extent() : batch[i];
  }
  const auto k = left.shape[rank - 1];
  const auto partner = [&](const TensorType& t) {
    return t.dtype == left.dtype && type_of_result(op::Matmul{}, {left, t}).has_value();
  };
  const auto b = c.operand(partner, [&] {
    batch.push_back(k);
    batch.push_back(c.extent());
    return TensorType{left.dtype, batch};
  });
  return {op::Matmul{}, {a, b}};
}

/// One sum of k products in any order: (k + 2) epsilon / 2 of the sum of magnitudes for either device
/// (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.1), in the type products are
/// summed in; then one rounding to the dtype. bf16 instructions of processors take subnormals for 0.
struct Sum {
  Real magnitude = 0, spread = 0, flushed = 0;
  bool unknown = false, infinite = false, uncertain = false;
};
void add_product(Sum& s, DType t, double a, double ea, double b, double eb) {
  s.unknown |= ea == undetermined || eb == undetermined;
  s.uncertain |= ea != 0 || eb != 0;
  if (!std::isfinite(a) || !std::isfinite(b)) {
    s.infinite = true;
    const auto subnormal = [](double v) { return v != 0 && std::abs(v) < smallest_normal(DType::bf16); };
    s.unknown |= t == DType::bf16 && (subnormal(a) || subnormal(b));  // 0 times infinity, or not
    return;
  }
  const Real x = std::abs(a), y = std::abs(b);
  s.magnitude += (x + ea) * (y + eb);
  s.spread += x * eb + y * ea + Real{ea} * eb;
  if (t == DType::bf16) s.flushed += smallest_normal(t) * (x + y + 1);
}
double sum_bound(const Sum& s, DType t, std::int64_t k, double result) {
  const auto c = compute_dtype(t);
  if (s.unknown || (s.infinite && s.uncertain)) return undetermined;
  if (s.magnitude >= largest(c) / 2) return undetermined;  // partial sums may overflow, or not
  if (s.infinite) return 0;
  const Real n = static_cast<Real>(k) + 2;
  const Real rounding = n * epsilon(c) * s.magnitude + 2 * n * smallest_subnormal(c) + 2 * s.flushed;
  return bound(t, Interval{result - s.spread, result + s.spread}, result, rounding);
}

Errors matmul_errors(const op::Matmul&, Propagation& p) {
  if (p.size() == 0) return {};  // its operands, broadcast, may be huge
  if (!is_float(p.dtype())) return p.all_or_nothing();
  const auto with_batch = [&](std::size_t i) {
    Shape s = p.shape();
    const auto& own = p.operand(i).shape;
    s[s.rank() - 2] = own[own.rank() - 2];
    s[s.rank() - 1] = own[own.rank() - 1];
    return s;
  };
  const Shape left = with_batch(0), right = with_batch(1);
  const auto a = p.values(0, left), ea = p.errors(0, left), b = p.values(1, right), eb = p.errors(1, right);
  auto e = p.result();
  const auto m = left[left.rank() - 2], k = left[left.rank() - 1], n = right[right.rank() - 1];
  for (std::size_t i = 0; i < e.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto column = at % n, row = at / n % m, batch = at / n / m;
    Sum sum;
    for (std::int64_t j = 0; j < k; ++j) {
      const auto x = static_cast<std::size_t>((batch * m + row) * k + j),
                 y = static_cast<std::size_t>((batch * k + j) * n + column);
      add_product(sum, p.dtype(), a[x], ea[x], b[y], eb[y]);
    }
    e[i] = sum_bound(sum, p.dtype(), k, e[i]);
  }
  return p.store(e);
}
std::string matmul_literal(const op::Matmul&) { return "op::Matmul{}"; }

}  // namespace

Family family(Of<op::Matmul>) {
  return make_family("matmul", 8, choose_matmul, matmul_errors, matmul_literal, keep_size<op::Matmul>);
}

}  // namespace strata::fuzz
