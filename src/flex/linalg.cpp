#include "flex/linalg.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <lapacke.h>

#include "flex/copy.hpp"
#include "flex/elementwise.hpp"
#include "strata/error.hpp"

namespace strata::flex {
namespace {

/// A routine of liblapacke, which is loaded when the first one is needed: start-up does not pay for it.
void* routine(const char* name) {
  static void* const library = dlopen("liblapacke.so.3", RTLD_NOW | RTLD_LOCAL);
  void* const found = library ? dlsym(library, name) : nullptr;
  if (!found) {
    throw RuntimeError(fmt::format("[linalg] {} is not there ({}); install the package liblapacke", name,
                                   library ? "in the library" : "liblapacke.so.3 cannot be loaded"));
  }
  return found;
}

/// LAPACK's routines for T.
template <class T>
struct Lapack;

#define STRATA_ROUTINE(prefix, name)       \
  decltype(&LAPACKE_##prefix##name) name = \
      reinterpret_cast<decltype(name)>(routine("LAPACKE_" #prefix #name));
#define STRATA_LAPACK(T, prefix)    \
  template <>                       \
  struct Lapack<T> {                \
    STRATA_ROUTINE(prefix, potrf)   \
    STRATA_ROUTINE(prefix, gesv)    \
    STRATA_ROUTINE(prefix, getrf)   \
    STRATA_ROUTINE(prefix, geqrf)   \
    STRATA_ROUTINE(prefix, orgqr)   \
    STRATA_ROUTINE(prefix, gesdd)   \
    STRATA_ROUTINE(prefix, syevd)   \
    static const Lapack& get() {    \
      static const Lapack routines; \
      return routines;              \
    }                               \
  };
STRATA_LAPACK(float, s)
STRATA_LAPACK(double, d)
#undef STRATA_LAPACK
#undef STRATA_ROUTINE

constexpr int rows_first = LAPACK_ROW_MAJOR;

/// The matrices of one call: sizes as LAPACK counts them, and what to say of one that fails.
struct Problem {
  std::string_view name;
  const FlexValue& input;
  lapack_int m, n;
  std::int64_t batch;

  lapack_int least() const { return std::min(m, n); }
  std::int64_t size() const { return std::int64_t{m} * n; }
  [[noreturn]] void fail(std::int64_t matrix, const std::string& what) const {
    throw MatrixError(fmt::format("[{}] matrix {} of {} {} (device: {})", name, matrix,
                                  input.type().to_string(), what, input.backend.name()));
  }
  void check(lapack_int info, std::int64_t matrix) const {
    if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR) {
      throw OutOfMemoryError(
          fmt::format("[{}] no memory for the workspace of {}", name, input.type().to_string()));
    }
    if (info < 0) fail(matrix, "holds NaN");  // the one argument that LAPACKE can find fault with
  }
};

/// A dense copy that LAPACK may overwrite.
FlexRef copy_of(const FlexValue& x, std::string_view op) {
  auto out = FlexValue::make(x.backend, x.type(), op);
  if (out->size() > 0) copy_elements(x, out->data(), out->strides());
  return out;
}

template <class T>
void keep_lower(T* a, lapack_int n) {
  for (lapack_int i = 0; i < n; ++i)
    std::fill(a + std::int64_t{i} * n + i + 1, a + std::int64_t{i + 1} * n, T{0});
}

template <class T>
void cholesky(const Problem& p, T* a) {
  for (std::int64_t i = 0; i < p.batch; ++i, a += p.size()) {
    const auto info = Lapack<T>::get().potrf(rows_first, 'L', p.n, a, p.n);
    p.check(info, i);
    if (info > 0)
      p.fail(i, fmt::format("is not positive definite (its leading minor of order {} is not)", info));
    keep_lower(a, p.n);
  }
}

template <class T>
void solve(const Problem& p, T* a, T* b, lapack_int columns) {
  std::vector<lapack_int> pivots(static_cast<std::size_t>(p.n));
  for (std::int64_t i = 0; i < p.batch; ++i, a += p.size(), b += std::int64_t{p.n} * columns) {
    const auto info = Lapack<T>::get().gesv(rows_first, p.n, columns, a, p.n, pivots.data(), b, columns);
    p.check(info, i);
    if (info > 0) p.fail(i, "is singular");
  }
}

template <class T>
void determinant(const Problem& p, T* a, T* out) {
  std::vector<lapack_int> pivots(static_cast<std::size_t>(p.n));
  for (std::int64_t i = 0; i < p.batch; ++i, a += p.size()) {
    p.check(Lapack<T>::get().getrf(rows_first, p.n, p.n, a, p.n, pivots.data()), i);
    double value = 1;
    for (lapack_int k = 0; k < p.n; ++k) {
      value *= static_cast<double>(a[std::int64_t{k} * p.n + k]) *
               (pivots[static_cast<std::size_t>(k)] == k + 1 ? 1 : -1);
    }
    out[i] = static_cast<T>(value);
  }
}

/// Sign and logarithm of the product of the diagonal of an LU factor. A product over many rows would leave
/// the range of any float; a sum does not.
template <class T>
void slogdet(const Problem& p, T* a, T* sign, T* logarithm) {
  std::vector<lapack_int> pivots(static_cast<std::size_t>(p.n));
  for (std::int64_t i = 0; i < p.batch; ++i, a += p.size()) {
    p.check(Lapack<T>::get().getrf(rows_first, p.n, p.n, a, p.n, pivots.data()), i);
    double s = 1, sum = 0;
    for (lapack_int k = 0; k < p.n; ++k) {
      const auto x = static_cast<double>(a[std::int64_t{k} * p.n + k]);
      s *= (pivots[static_cast<std::size_t>(k)] == k + 1 ? 1 : -1) * (x > 0 ? 1 : x < 0 ? -1 : x);
      sum += std::log(std::abs(x));
    }
    sign[i] = static_cast<T>(s == 0 ? 0 : s);
    logarithm[i] = static_cast<T>(s == 0 ? -std::numeric_limits<double>::infinity() : sum);
  }
}

/// LAPACK's interchanges of rows become the order that they lead to.
template <class T>
void lu(const Problem& p, T* a, std::int64_t* order) {
  std::vector<lapack_int> pivots(static_cast<std::size_t>(p.least()));
  for (std::int64_t i = 0; i < p.batch; ++i, a += p.size(), order += p.m) {
    p.check(Lapack<T>::get().getrf(rows_first, p.m, p.n, a, p.n, pivots.data()), i);
    std::iota(order, order + p.m, std::int64_t{0});
    for (std::size_t k = 0; k < pivots.size(); ++k) std::swap(order[k], order[pivots[k] - 1]);
  }
}

template <class T>
void qr(const Problem& p, T* a, T* q, T* r) {
  const auto k = p.least();
  std::vector<T> tau(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < p.batch;
       ++i, a += p.size(), q += std::int64_t{p.m} * k, r += std::int64_t{k} * p.n) {
    p.check(Lapack<T>::get().geqrf(rows_first, p.m, p.n, a, p.n, tau.data()), i);
    for (lapack_int row = 0; row < k; ++row) {
      for (lapack_int column = 0; column < p.n; ++column) {
        const auto at = std::int64_t{row} * p.n + column;
        r[at] = column < row ? T{0} : a[at];
      }
    }
    for (lapack_int row = 0; row < p.m; ++row)
      std::copy_n(a + std::int64_t{row} * p.n, k, q + std::int64_t{row} * k);
    p.check(Lapack<T>::get().orgqr(rows_first, p.m, k, k, q, k, tau.data()), i);
  }
}

template <class T>
void svd(const Problem& p, T* a, T* u, T* s, T* vt) {
  const auto k = p.least();
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const auto info = Lapack<T>::get().gesdd(rows_first, 'S', p.m, p.n, a, p.n, s, u, k, vt, p.n);
    p.check(info, i);
    if (info != 0) p.fail(i, "has no singular values that the iteration finds");
    a += p.size();
    u += std::int64_t{p.m} * k;
    s += k;
    vt += std::int64_t{k} * p.n;
  }
}

template <class T>
void eigh(const Problem& p, T* a, T* values) {
  for (std::int64_t i = 0; i < p.batch; ++i, a += p.size(), values += p.n) {
    const auto info = Lapack<T>::get().syevd(rows_first, 'V', 'L', p.n, a, p.n, values);
    p.check(info, i);
    if (info != 0) p.fail(i, "has no eigenvalues that the iteration finds");
  }
}

/// Ones on the diagonal of every matrix.
template <class T>
void fill_identity(const Problem& p, T* out) {
  std::fill(out, out + p.batch * p.size(), T{0});
  for (std::int64_t i = 0; i < p.batch; ++i) {
    for (lapack_int k = 0; k < p.n; ++k) out[i * p.size() + std::int64_t{k} * p.n + k] = 1;
  }
}

template <class T>
backend::Values decompose(op::LinalgKind kind, const Problem& p, backend::Inputs inputs,
                          const op::TensorTypes& types) {
  std::vector<FlexRef> out;
  const auto a = copy_of(p.input, p.name);
  const auto make = [&](std::size_t i) {
    out.push_back(FlexValue::make(p.input.backend, types[i], p.name));
    return out.back()->as<T>();
  };
  switch (kind) {
    case op::LinalgKind::cholesky:
      cholesky(p, a->as<T>());
      out.push_back(a);
      break;
    case op::LinalgKind::solve:
      out.push_back(copy_of(flex(inputs[1]), p.name));
      if (out[0]->size() > 0)
        solve(p, a->as<T>(), out[0]->as<T>(), static_cast<lapack_int>(types[0].shape.back()));
      break;
    case op::LinalgKind::inverse:
      fill_identity(p, make(0));
      solve(p, a->as<T>(), out[0]->as<T>(), p.n);
      break;
    case op::LinalgKind::determinant:
      determinant(p, a->as<T>(), make(0));
      break;
    case op::LinalgKind::qr: {
      auto* q = make(0);
      qr(p, a->as<T>(), q, make(1));
      break;
    }
    case op::LinalgKind::svd: {
      auto* u = make(0);
      auto* s = make(1);
      svd(p, a->as<T>(), u, s, make(2));
      break;
    }
    case op::LinalgKind::eigh:
      eigh(p, a->as<T>(), make(0));
      out.push_back(a);
      break;
    case op::LinalgKind::lu:
      out.push_back(a);
      make(1);
      lu(p, a->as<T>(), out[1]->as<std::int64_t>());
      break;
    case op::LinalgKind::slogdet: {
      auto* sign = make(0);
      slogdet(p, a->as<T>(), sign, make(1));
      break;
    }
  }
  backend::Values values;
  for (auto& v : out) values.push_back(std::move(v));
  return values;
}

/// What a matrix without rows or columns gives: products over nothing, and rows left in their order.
backend::Values of_empty(op::LinalgKind kind, const FlexValue& x, const op::TensorTypes& types) {
  using op::LinalgKind;
  const bool is_product = kind == LinalgKind::determinant || kind == LinalgKind::slogdet;
  backend::Values values;
  for (const auto& type : types) {
    auto& home = x.backend;
    if (type.dtype == DType::i64) {
      const auto order = home.execute(op::Iota{type.shape.back(), type.dtype, 0, 1}, {});
      values.push_back(std::move(home.execute(op::Expand{type.shape}, {order.data(), 1})[0]));
    } else {
      const int value = is_product && values.empty() ? 1 : 0;
      values.push_back(std::move(home.execute(op::Fill{type.shape, type.dtype, value}, {})[0]));
    }
  }
  return values;
}

}  // namespace

backend::Values run(const op::Linalg& op, backend::Inputs inputs, const op::TensorTypes& types) {
  const auto& x = flex(inputs[0]);
  if (x.dtype == DType::f16 || x.dtype == DType::bf16) {
    const auto cast = [](const backend::ValueRef& v, DType dtype) {
      return backend::ValueRef(run(op::Cast{dtype}, {&v, 1}, {dtype, v->shape}));
    };
    std::vector<backend::ValueRef> wide;
    for (const auto& input : inputs) wide.push_back(cast(input, DType::f32));
    op::TensorTypes wide_types = types;
    for (auto& type : wide_types) {
      if (is_float(type.dtype)) type.dtype = DType::f32;
    }
    auto results = run(op, wide, wide_types);
    for (auto& result : results) {
      if (is_float(result->dtype)) result = cast(result, x.dtype);
    }
    return results;
  }
  const auto m = x.shape[x.shape.rank() - 2], n = x.shape.back();
  if (m > INT32_MAX || n > INT32_MAX) {
    throw ShapeError(
        fmt::format("[{}] matrices of {} are too large for LAPACK", name_of(op.kind), x.type().to_string()));
  }
  if (x.size() == 0) return of_empty(op.kind, x, types);
  const Problem p{name_of(op.kind), x, static_cast<lapack_int>(m), static_cast<lapack_int>(n),
                  x.size() / (m * n)};
  return x.dtype == DType::f64 ? decompose<double>(op.kind, p, inputs, types)
                               : decompose<float>(op.kind, p, inputs, types);
}

}  // namespace strata::flex
