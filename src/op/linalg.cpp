#include "op/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::op {
namespace {

/// The leading axes of `t`, followed by `tail`.
TensorType batched(const TensorType& t, std::initializer_list<std::int64_t> tail) {
  TensorType out{t.dtype, {}};
  for (int i = 0; i < t.shape.rank() - 2; ++i) out.shape.push_back(t.shape[i]);
  for (auto extent : tail) out.shape.push_back(extent);
  return out;
}

}  // namespace

std::string_view name_of(LinalgKind k) {
  constexpr std::string_view names[] = {"cholesky", "solve", "inverse", "determinant", "qr",
                                        "svd",      "eigh",  "lu",      "slogdet"};
  return names[static_cast<int>(k)];
}

TensorTypes infer(const Linalg& op, const Site& site) {
  const auto& a = site.inputs[0];
  const bool solves = op.kind == LinalgKind::solve;
  if (site.inputs.size() != (solves ? 2u : 1u)) {
    argument_error(site,
                   fmt::format("takes {}", solves ? "a matrix and its right-hand sides" : "one matrix"));
  }
  if (!is_float(a.dtype)) dtype_error(site, "takes floats");
  const int rank = a.shape.rank();
  if (rank < 2) shape_error(site, "needs two axes or more");
  const auto m = a.shape[rank - 2], n = a.shape[rank - 1], k = std::min(m, n);
  if (m != n && op.kind != LinalgKind::qr && op.kind != LinalgKind::svd && op.kind != LinalgKind::lu) {
    shape_error(site, fmt::format("needs square matrices, not {} x {}", m, n));
  }
  TensorTypes out;
  switch (op.kind) {
    case LinalgKind::cholesky:
    case LinalgKind::inverse:
      out.push_back(a);
      break;
    case LinalgKind::determinant:
      out.push_back(batched(a, {}));
      break;
    case LinalgKind::solve: {
      const auto& b = site.inputs[1];
      if (b.dtype != a.dtype) {
        dtype_error(site, fmt::format("operands are {} and {}; cast one of them", name_of(a.dtype),
                                      name_of(b.dtype)));
      }
      const bool fits = b.shape.rank() == rank && b == batched(a, {n, b.shape.back()});
      if (!fits) {
        shape_error(
            site,
            fmt::format("right-hand sides {} do not fit matrices {}: every axis but the last must be equal",
                        b.shape.to_string(), a.shape.to_string()));
      }
      out.push_back(b);
      break;
    }
    case LinalgKind::qr:
      out.push_back(batched(a, {m, k}));
      out.push_back(batched(a, {k, n}));
      break;
    case LinalgKind::svd:
      out.push_back(batched(a, {m, k}));
      out.push_back(batched(a, {k}));
      out.push_back(batched(a, {k, n}));
      break;
    case LinalgKind::eigh:
      out.push_back(batched(a, {n}));
      out.push_back(a);
      break;
    case LinalgKind::lu:
      out.push_back(a);
      out.push_back({DType::i64, batched(a, {m}).shape});
      break;
    case LinalgKind::slogdet:
      out.push_back(batched(a, {}));
      out.push_back(batched(a, {}));
      break;
  }
  for (const auto& t : out) check_size(site, t);
  return out;
}

}  // namespace strata::op
