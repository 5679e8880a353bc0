// Rules after Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
// differentiation", 2008, and Seeger et al., "Auto-differentiating linear algebra", 2017.
#include "autodiff/rules.hpp"

namespace strata::autodiff {
namespace {

using bridge::add;
using bridge::div;
using bridge::matmul;
using bridge::mul;
using bridge::neg;
using bridge::sub;
using op::CompareKind;
using op::LinalgKind;

ValueRef t(const ValueRef& x) { return bridge::transpose(x); }

/// Row and column numbers of the matrices of x, compared.
ValueRef where_rows(CompareKind kind, const ValueRef& x) {
  const int rank = x->shape.rank();
  const auto m = x->shape[rank - 2], n = x->shape[rank - 1];
  return bridge::compare(kind, bridge::reshape(bridge::iota(x->backend, m, DType::i64, 0, 1), {m, 1}),
                         bridge::iota(x->backend, n, DType::i64, 0, 1));
}
ValueRef zero(const ValueRef& x) { return bridge::scalar_like(x, 0); }

/// The part below the diagonal, and the diagonal times `diagonal`.
ValueRef lower(const ValueRef& x, double diagonal) {
  const auto below = bridge::where(where_rows(CompareKind::greater, x), x, zero(x));
  return add(below, bridge::where(where_rows(CompareKind::equal, x), mul(x, diagonal), zero(x)));
}
ValueRef symmetric_half(const ValueRef& x) { return mul(add(x, t(x)), 0.5); }

/// [.., n] as columns: scales the columns of a matrix.
ValueRef across(const ValueRef& v) {
  Shape shape = v->shape;
  const auto n = shape.back();
  shape[shape.rank() - 1] = 1;
  shape.push_back(n);
  return bridge::reshape(v, shape);
}
/// [.., n] as rows.
ValueRef down(const ValueRef& v) {
  Shape shape = v->shape;
  shape.push_back(1);
  return bridge::reshape(v, shape);
}
/// A diagonal matrix from [.., n].
ValueRef diagonal(const ValueRef& v) {
  Shape shape = v->shape;
  shape.push_back(v->shape.back());
  const auto spread = bridge::expand(across(v), shape);
  return bridge::where(where_rows(CompareKind::equal, spread), spread, zero(spread));
}
/// 1 / (v_j - v_i), and 0 on the diagonal.
ValueRef inverse_differences(const ValueRef& v) {
  const auto difference = sub(across(v), down(v));
  const auto same = where_rows(CompareKind::equal, difference);
  const auto one = bridge::scalar_like(v, 1);
  return bridge::where(same, zero(v), div(one, bridge::where(same, one, difference)));
}

ValueRef cholesky_gradient(const ValueRef& a, const ValueRef& g) {
  const auto l = bridge::linalg(LinalgKind::cholesky, {a})[0];
  const auto inner = symmetric_half(lower(matmul(t(l), g), 0.5));
  // L^-T inner L^-1, through two solutions.
  const auto left = bridge::linalg(LinalgKind::solve, {t(l), inner})[0];
  const auto both = t(bridge::linalg(LinalgKind::solve, {t(l), t(left)})[0]);
  return symmetric_half(both);
}

ValueRef qr_gradient(std::size_t index, const ValueRef& a, const ValueRef& g) {
  const auto results = bridge::linalg(LinalgKind::qr, {a});
  const auto &q = results[0], &r = results[1];
  const int rank = a->shape.rank();
  const auto m = a->shape[rank - 2], n = a->shape[rank - 1];
  if (m < n) {
    throw ArgumentError("[qr] has a gradient for matrices with at least as many rows as columns, not for " +
                        a->shape.to_string());
  }
  const auto inner = index == 1 ? matmul(r, t(g)) : neg(matmul(t(g), q));
  const auto half = lower(inner, 0.5);  // copied to the upper triangle by the transpose
  const auto spread = matmul(q, add(half, t(half)));
  const auto total = index == 1 ? spread : add(g, spread);
  return t(bridge::linalg(LinalgKind::solve, {r, t(total)})[0]);  // total R^-T
}

ValueRef eigh_gradient(std::size_t index, const ValueRef& a, const ValueRef& g) {
  const auto results = bridge::linalg(LinalgKind::eigh, {a});
  const auto &w = results[0], &v = results[1];
  const auto inner = index == 0 ? diagonal(g) : mul(inverse_differences(w), matmul(t(v), g));
  return symmetric_half(matmul(matmul(v, inner), t(v)));
}

ValueRef svd_gradient(std::size_t index, const ValueRef& a, const ValueRef& g) {
  const auto results = bridge::linalg(LinalgKind::svd, {a});
  const auto &u = results[0], &s = results[1], &vt = results[2];
  if (index == 1) return matmul(mul(u, across(g)), vt);
  const auto f = inverse_differences(mul(s, s));
  const auto antisymmetric = [&](const ValueRef& x) { return mul(f, sub(x, t(x))); };
  if (index == 0) {
    const auto projected = matmul(t(u), g);
    const auto inside = matmul(u, mul(antisymmetric(projected), across(s)));
    const auto outside = div(sub(g, matmul(u, projected)), across(s));
    return matmul(add(inside, outside), vt);
  }
  const auto gv = t(g), v = t(vt);
  const auto projected = matmul(vt, gv);
  const auto inside = matmul(mul(down(s), antisymmetric(projected)), vt);
  const auto outside = div(t(sub(gv, matmul(v, projected))), down(s));
  return matmul(u, add(inside, outside));
}

/// Rows [first, last) and columns [left, right) of every matrix.
ValueRef part(const ValueRef& x, std::int64_t first, std::int64_t last, std::int64_t left,
              std::int64_t right) {
  const int rank = x->shape.rank();
  Dims start = Dims::filled(rank, 0), stop = x->shape;
  start[rank - 2] = first;
  stop[rank - 2] = last;
  start[rank - 1] = left;
  stop[rank - 1] = right;
  return bridge::slice(x, start, stop, Dims::filled(rank, 1));
}
ValueRef below(const ValueRef& x) { return bridge::where(where_rows(CompareKind::greater, x), x, zero(x)); }
ValueRef upper(const ValueRef& x) {
  return bridge::where(where_rows(CompareKind::less_equal, x), x, zero(x));
}
/// x with the rows of every matrix put where `order` took them from.
ValueRef rows_back(const ValueRef& x, const ValueRef& order) {
  const int rank = x->shape.rank();
  const auto index = bridge::expand(down(order), x->shape);
  return bridge::scatter(bridge::zeros_like(x), rank - 2, index, x, op::ScatterMode::assign);
}

/// From the gradient of L (below the diagonal) and U in one matrix. In the square part dL = L tril(W, -1), dU
/// = triu(W) U with W = L^-1 dA U^-1; what lies beyond it is L2 = A2 U^-1 (tall) or U2 = L^-1 A2 (wide).
ValueRef lu_gradient(const ValueRef& a, const ValueRef& g) {
  const auto results = bridge::linalg(LinalgKind::lu, {a});
  const auto &packed = results[0], &order = results[1];
  const int rank = a->shape.rank();
  const auto m = a->shape[rank - 2], n = a->shape[rank - 1], k = std::min(m, n);
  const auto l = below(part(packed, 0, m, 0, k)), u = upper(part(packed, 0, k, 0, n));
  const auto gl = below(part(g, 0, m, 0, k)), gu = upper(part(g, 0, k, 0, n));
  const auto square = part(l, 0, k, 0, k);
  const auto one =
      bridge::where(where_rows(CompareKind::equal, square), bridge::scalar_like(square, 1), square);
  const auto tall = m > k ? bridge::cat({one, part(l, k, m, 0, k)}, rank - 2) : one;
  const auto left = [&](const ValueRef& x) {  // L^-T x
    return bridge::linalg(LinalgKind::solve, {t(one), x})[0];
  };
  const auto right = [&](const ValueRef& x) {  // x U^-T
    return t(bridge::linalg(LinalgKind::solve, {part(u, 0, k, 0, k), t(x)})[0]);
  };
  const auto from_l = matmul(t(tall), gl), from_u = matmul(gu, t(u));
  ValueRef rows;
  if (m > n) {
    const auto inner = left(upper(sub(from_u, from_l)));
    rows = right(bridge::cat({add(part(gl, 0, k, 0, k), inner), part(gl, k, m, 0, k)}, rank - 2));
  } else {
    const auto inner = right(below(sub(from_l, from_u)));
    rows = left(n > m ? bridge::cat({add(part(gu, 0, k, 0, k), inner), part(gu, 0, k, k, n)}, rank - 1)
                      : add(gu, inner));
  }
  return rows_back(rows, order);
}

}  // namespace

void differentiate(const LinalgResult& op, Step& step) {
  const auto input = step.input(0);
  const auto type = bridge::wide(input->dtype);
  const auto a = bridge::cast(input, type), g = bridge::cast(step.gradient(), type);
  const auto give = [&](std::size_t i, const ValueRef& x) { step.give(i, bridge::cast(x, input->dtype)); };
  switch (op.kind) {
    case LinalgKind::cholesky:
      return give(0, cholesky_gradient(a, g));
    case LinalgKind::inverse: {
      const auto inverse = t(bridge::linalg(LinalgKind::inverse, {a})[0]);
      return give(0, neg(matmul(matmul(inverse, g), inverse)));
    }
    case LinalgKind::solve: {
      const auto gb = bridge::linalg(LinalgKind::solve, {t(a), g})[0];
      if (step.needs(1)) give(1, gb);
      if (!step.needs(0)) return;
      const auto x = bridge::linalg(LinalgKind::solve, {a, bridge::cast(step.input(1), type)})[0];
      return give(0, neg(matmul(gb, t(x))));
    }
    case LinalgKind::determinant: {
      const auto value = bridge::linalg(LinalgKind::determinant, {a})[0];
      const auto inverse = t(bridge::linalg(LinalgKind::inverse, {a})[0]);
      return give(0, mul(down(down(mul(g, value))), inverse));
    }
    case LinalgKind::qr:
      return give(0, qr_gradient(op.index, a, g));
    case LinalgKind::svd:
      return give(0, svd_gradient(op.index, a, g));
    case LinalgKind::eigh:
      return give(0, eigh_gradient(op.index, a, g));
    case LinalgKind::lu:
      return give(0, lu_gradient(a, g));
    case LinalgKind::slogdet: {
      if (op.index == 0) return give(0, bridge::zeros_like(a));  // a sign is a staircase
      return give(0, mul(down(down(g)), t(bridge::linalg(LinalgKind::inverse, {a})[0])));
    }
  }
}

}  // namespace strata::autodiff
