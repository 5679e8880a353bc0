#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

ValueId float_of_rank_1(Chooser& c) {
  return c.operand([](const TensorType& t) { return is_float(t.dtype) && t.shape.rank() >= 1; },
                   [&] {
                     return TensorType{c.dtype([](DType t) { return is_float(t); }),
                                       c.shape_of_rank(1 + static_cast<int>(c.below(3)))};
                   });
}

/// Elements of one line of an operand, and their bounds.
struct Line {
  std::vector<Real> x, e;
  bool finite = true, certain = true, unknown = false;

  void add(double value, double error) {
    finite &= std::isfinite(value);
    certain &= error == 0;
    unknown |= error == undetermined;
    x.push_back(value);
    e.push_back(error);
  }
  Real length() const { return static_cast<Real>(x.size()); }
};

Call choose_softmax(Chooser& c) {
  const auto x = float_of_rank_1(c);
  return {op::Softmax{static_cast<int>(c.below(c.type(x).shape.size())), c.chance(0.5)}, {x}};
}

/// The functions' ulps, n roundings of the sum, and what moving the elements does: d y_i = y_i (d x_i - sum
/// y_j d x_j).
class SoftmaxBound {
 public:
  SoftmaxBound(const Line& line, DType t, bool log) : line_(line), dtype_(t), log_(log) {
    for (auto x : line.x) top_ = std::max(top_, x);
    for (auto x : line.x) sum_ += std::exp(x - top_);
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      moved_ += std::exp(line.x[i] - top_) / sum_ * line.e[i];
      largest_ = std::max(largest_, line.e[i]);
    }
  }
  double at(std::size_t i, double result) const {
    if (line_.unknown) return undetermined;
    if (!line_.finite) return line_.certain ? (std::isfinite(result) ? undetermined : 0) : undetermined;
    if (largest_ > 0.1L) return undetermined;
    const auto c = compute_dtype(dtype_);
    const Real distance = top_ - line_.x[i], y = std::exp(-distance) / sum_;
    const Real relative = (line_.length() + 24 + 2 * distance) * epsilon(c);
    const Real spread = 1.25L * (line_.e[i] + moved_);
    const Real rounding = log_ ? relative + 4 * epsilon(c) * (distance + std::log(sum_))
                               : y * relative + 4 * smallest_normal(c);
    const Real moved = log_ ? spread : y * spread;
    return bound(dtype_, Interval{result - moved, result + moved}, result, rounding);
  }

 private:
  const Line& line_;
  const DType dtype_;
  const bool log_;
  Real top_ = -HUGE_VALL, sum_ = 0, moved_ = 0, largest_ = 0;
};

Errors softmax_errors(const op::Softmax& o, Propagation& p) {
  if (p.size() == 0) return {};
  const auto x = p.values(0), ex = p.errors(0);
  auto e = p.result();
  const auto n = static_cast<std::size_t>(p.shape()[o.axis]);
  std::size_t inner = 1;
  for (int i = o.axis + 1; i < p.shape().rank(); ++i) inner *= static_cast<std::size_t>(p.shape()[i]);
  for (std::size_t line = 0; line < e.size() / n; ++line) {
    const auto at = [&](std::size_t k) { return (line / inner * n + k) * inner + line % inner; };
    Line elements;
    for (std::size_t k = 0; k < n; ++k) elements.add(x[at(k)], ex[at(k)]);
    const SoftmaxBound bounds(elements, p.dtype(), o.log);
    for (std::size_t k = 0; k < n; ++k) e[at(k)] = bounds.at(k, e[at(k)]);
  }
  return p.store(e);
}
std::string softmax_literal(const op::Softmax& o) {
  return fmt::format("op::Softmax{{{}, {}}}", o.axis, literal(o.log));
}

Call choose_norm(Chooser& c) {
  const auto x = float_of_rank_1(c);
  const TensorType parameter{c.type(x).dtype, {c.type(x).shape.back()}};
  Call call{op::Norm{c.chance(0.6) ? op::NormKind::layer : op::NormKind::rms, c.chance(0.7) ? 1e-5 : 0.25},
            {x}};
  for (auto n = c.below(3); n > 0; --n) {
    call.operands.push_back(
        c.operand([&](const TensorType& t) { return t == parameter; }, [&] { return parameter; }));
  }
  return call;
}

/// First-order propagation through mean, variance and scale; undetermined where the variance itself is in
/// doubt.
class NormBound {
 public:
  NormBound(const op::Norm& op, const Line& line, DType t) : line_(line), dtype_(t), c_(compute_dtype(t)) {
    const Real n = line.length();
    Real size = 0;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      size += std::abs(line.x[i]) / n;
      moved_ += line.e[i] / n;
      mean_ += line.x[i] / n;
    }
    if (op.kind == op::NormKind::rms) {
      mean_ = moved_ = 0;
    } else {
      moved_ += (n + 2) * epsilon(c_) * size;
    }
    Real variance = 0, doubt = 0;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      const Real d = std::abs(line.x[i] - mean_), dd = difference(i);
      variance += d * d / n;
      doubt += (2 * d * dd + dd * dd) / n;
    }
    const Real base = variance + static_cast<Real>(op.eps);
    scale_ = 1 / std::sqrt(base);
    relative_ = (doubt + (n + 4) * epsilon(c_) * variance) / base + 16 * epsilon(c_);
    size_ = size;
    base_ = base;
  }
  double at(std::size_t i, double result, Real weight, Real e_weight, Real bias, Real e_bias) const {
    if (line_.unknown || e_weight == undetermined || e_bias == undetermined) return undetermined;
    if (!line_.finite || !std::isfinite(weight) || !std::isfinite(bias)) return undetermined;
    // Squares that overflow or vanish, and variances of noise.
    if (!(relative_ < 0.1L) || size_ > std::sqrt(largest(c_)) / 1e3L || base_ < smallest_normal(c_) * 1e6L)
      return undetermined;
    const Real d = std::abs(line_.x[i] - mean_);
    if (std::abs(weight) * d * scale_ + std::abs(bias) >= largest(c_) / 4)
      return undetermined;  // before the bias is added, or not
    const Real y = d * scale_, dy = difference(i) * scale_ * (1 + relative_) + y * relative_;
    const Real spread = std::abs(weight) * dy + e_weight * (y + dy) + e_bias;
    const Real rounding = 8 * epsilon(c_) * (std::abs(weight) * y + std::abs(bias)) + 8 * smallest_normal(c_);
    return bound(dtype_, Interval{result - spread, result + spread}, result, rounding);
  }

 private:
  /// Of x[i] - mean.
  Real difference(std::size_t i) const {
    return line_.e[i] + moved_ + epsilon(c_) * std::abs(line_.x[i] - mean_);
  }
  const Line& line_;
  const DType dtype_, c_;
  Real mean_ = 0, moved_ = 0, scale_ = 0, relative_ = 0, size_ = 0, base_ = 0;
};

Errors norm_errors(const op::Norm& o, Propagation& p) {
  if (p.size() == 0) return {};
  const auto x = p.values(0), ex = p.errors(0);
  const auto count = p.operand_count();
  const std::vector<double> none;
  const auto weight = count > 1 ? p.values(1) : none, e_weight = count > 1 ? p.errors(1) : none;
  const auto bias = count > 2 ? p.values(2) : none, e_bias = count > 2 ? p.errors(2) : none;
  auto e = p.result();
  const auto n = static_cast<std::size_t>(p.shape().back());
  for (std::size_t first = 0; first < e.size(); first += n) {
    Line line;
    for (std::size_t k = first; k < first + n; ++k) line.add(x[k], ex[k]);
    const NormBound bounds(o, line, p.dtype());
    for (std::size_t k = first; k < first + n; ++k) {
      e[k] = bounds.at(k - first, e[k], count > 1 ? weight[k] : 1, count > 1 ? e_weight[k] : 0,
                       count > 2 ? bias[k] : 0, count > 2 ? e_bias[k] : 0);
    }
  }
  return p.store(e);
}
std::string norm_literal(const op::Norm& o) {
  return fmt::format("op::Norm{{op::NormKind::{}, {}}}", o.kind == op::NormKind::layer ? "layer" : "rms",
                     literal(o.eps));
}

}  // namespace

Family family(Of<op::Softmax>) {
  return make_family("softmax", 4, choose_softmax, softmax_errors, softmax_literal, keep_size<op::Softmax>);
}
Family family(Of<op::Norm>) {
  return make_family("norm", 4, choose_norm, norm_errors, norm_literal, keep_size<op::Norm>);
}

}  // namespace strata::fuzz
