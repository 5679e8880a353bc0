#include <algorithm>
#include <cmath>

#include "fuzz/fuzzer/bounds.hpp"
#include "fuzz/fuzzer/chooser.hpp"
#include "fuzz/fuzzer/literals.hpp"

namespace strata::fuzz {
namespace {

ValueId exactly(Chooser& c, const TensorType& wanted) {
  return c.operand([&](const TensorType& t) { return t == wanted; }, [&] { return wanted; });
}
ValueId floats_with_a_class(Chooser& c, int least, int most) {
  return c.operand(
      [=](const TensorType& t) {
        const int rank = t.shape.rank();
        return is_float(t.dtype) && rank >= least && rank <= most && t.shape.back() > 0;
      },
      [&] {
        TensorType t{
            c.dtype([](DType d) { return is_float(d); }),
            c.shape_of_rank(least + static_cast<int>(c.below(static_cast<std::size_t>(most - least + 1))))};
        t.shape[t.shape.rank() - 1] = std::max<std::int64_t>(t.shape.back(), 1);
        return t;
      });
}

/// Logits and a target; now and then one of a class beyond.
struct RowOperands {
  ValueId logits, target;
  TensorType rows, weights;
};
RowOperands choose_rows(Chooser& c) {
  RowOperands r{};
  r.logits = floats_with_a_class(c, 1, 4);
  const auto type = c.type(r.logits);
  r.rows.dtype = type.dtype;
  for (int i = 0; i < type.shape.rank() - 1; ++i) r.rows.shape.push_back(type.shape[i]);
  r.weights = {type.dtype, {type.shape.back()}};
  r.target = c.fresh_index(r.rows.shape, type.shape.back() + (c.chance(0.1) ? 1 : 0));
  return r;
}
double choose_smoothing(Chooser& c) { return c.chance(0.5) ? 0 : 0.25; }
std::int64_t choose_ignored(Chooser& c) { return c.chance(0.5) ? -100 : 0; }

Call choose_cross_entropy(Chooser& c) {
  const auto smoothing = choose_smoothing(c);
  const auto ignored = choose_ignored(c);
  const auto r = choose_rows(c);
  Call call{op::CrossEntropy{smoothing, ignored}, {r.logits, r.target}};
  if (c.chance(0.4)) call.operands.push_back(exactly(c, r.weights));
  return call;
}
Call choose_cross_entropy_gradient(Chooser& c) {
  const auto smoothing = choose_smoothing(c);
  const auto ignored = choose_ignored(c);
  const auto r = choose_rows(c);
  Call call{op::CrossEntropyGradient{smoothing, ignored}, {r.logits, r.target}};
  call.operands.push_back(exactly(c, {op::wide(r.rows.dtype), r.rows.shape}));
  call.operands.push_back(exactly(c, r.rows));
  if (c.chance(0.4)) call.operands.push_back(exactly(c, r.weights));
  return call;
}
std::vector<ValueId> choose_sequences(Chooser& c) {
  const auto log_probs = floats_with_a_class(c, 3, 3);
  const auto shape = c.type(log_probs).shape;
  const auto longest = c.between(0, 3);
  return {log_probs, c.fresh_index({shape[1], longest}, shape[2]), c.fresh_index({shape[1]}, shape[0] + 1),
          c.fresh_index({shape[1]}, longest + 1)};
}
Call choose_ctc(Chooser& c) {
  const bool zero = c.chance(0.5);
  return {op::Ctc{0, zero}, choose_sequences(c)};
}
Call choose_ctc_gradient(Chooser& c) {
  const bool zero = c.chance(0.5);
  return {op::CtcGradient{0, zero}, choose_sequences(c)};
}

/// Every device computes them on the host, a sample at a time in one order; how far an uncertain score moves
/// the result is not known.
template <class Op>
Errors same_code(const Op&, Propagation& p) {
  return p.all_or_nothing();
}

/// Scores of one row after another, with its target; nothing is known of how uncertain ones move a result.
class Rows {
 public:
  Rows(Propagation& p, std::int64_t ignored, double smoothing, std::size_t weights_at)
      : ignored_(static_cast<double>(ignored)),
        logits_(p.values(0, p.operand(0).shape)),
        target_(p.values(1, p.operand(1).shape)),
        classes_(static_cast<std::size_t>(p.operand(0).shape.back())) {
    weights_.assign(classes_, 1);
    if (p.operand_count() > weights_at) weights_ = p.values(weights_at, p.operand(weights_at).shape);
    smooth_ = static_cast<Real>(smoothing);
    share_ = smooth_ / static_cast<Real>(classes_);
    for (double w : weights_) all_weights_ += std::abs(static_cast<Real>(w));
  }
  std::size_t count() const { return target_.size(); }
  std::size_t classes() const { return classes_; }
  bool counts(std::size_t row) const { return target_[row] != ignored_; }
  std::size_t target(std::size_t row) const { return static_cast<std::size_t>(target_[row]); }
  Real score(std::size_t row, std::size_t c) const { return logits_[row * classes_ + c]; }
  Real weight(std::size_t c) const { return std::abs(static_cast<Real>(weights_[c])); }
  Real at_target(std::size_t row) const { return std::abs(1 - smooth_) * weight(target(row)); }
  Real share() const { return share_; }
  Real all_weights() const { return all_weights_; }

 private:
  const double ignored_;
  const std::vector<double> logits_, target_;
  std::vector<double> weights_;
  const std::size_t classes_;
  Real smooth_ = 0, share_ = 0, all_weights_ = 0;
};

double loss_bound(DType t, double result, Real rounding) {
  if (std::isnan(result)) return 0;
  if (!std::isfinite(result) || !(rounding < largest(compute_dtype(t)) / 8)) return undetermined;
  return bound(t, Interval{result, result}, result, rounding);
}

/// Exponentials and their arguments are granted 9 epsilon on either device. One that reads a row once scales
/// its sum by another for each new maximum, of which a unit that holds 8 scores at a time, and the last ones
/// singly, meets n / 8 + 7. Sums are in f64, but for those of weights and of weighted scores. Of both
/// results: the logarithm, too.
Errors cross_entropy_errors(const op::CrossEntropy& o, Propagation& p) {
  if (p.size() == 0 || p.operand(0).shape.back() == 0) return {};
  if (!p.certain()) return p.all_or_nothing();
  const Rows rows(p, o.ignore_index, o.label_smoothing, 2);
  const auto c = compute_dtype(p.operand(0).dtype);
  const auto n = static_cast<Real>(rows.classes());
  auto e = p.result();
  for (std::size_t row = 0; row < e.size(); ++row) {
    if (!rows.counts(row) && e[row] == 0) continue;
    Real top = -HUGE_VALL, weighted = 0, moved = 0, sum = 0;
    for (std::size_t k = 0; k < rows.classes(); ++k) top = std::max(top, rows.score(row, k));
    for (std::size_t k = 0; k < rows.classes(); ++k) {
      const Real x = rows.score(row, k);
      sum += std::exp(x - top);
      weighted += rows.weight(k) * std::abs(x - top);
      moved += rows.weight(k) * (std::abs(x) + std::abs(top));
    }
    const Real at_target = rows.counts(row) ? rows.at_target(row) : 0;
    const Real distance = rows.counts(row) ? top - rows.score(row, rows.target(row)) : 0;
    const Real logarithm = std::log(sum), all = at_target + rows.share() * rows.all_weights();
    Real rounding = std::max<Real>(all, 1) * (n + 96 + 4 * logarithm) * epsilon(c);
    rounding += 4 * at_target * distance * epsilon(c) + 2 * std::abs(top + logarithm) * epsilon(c);
    if (rows.share() > 0 &&
        !(moved + std::abs(top) < largest(c) / 8)) {  // sums of the scores' distances overflow
      e[row] = undetermined;
      continue;
    }
    if (rows.share() > 0) {
      const Real steps = 2 * (n + 8);
      rounding += steps * rows.share() * epsilon(c) * (weighted + rows.all_weights() * logarithm);
      rounding += steps * rows.share() * epsilon(DType::f64) * moved;
    }
    e[row] = loss_bound(p.dtype(), e[row], rounding + 8 * smallest_normal(c));
  }
  return p.store(e);
}

/// An exponential as above of a score less the logarithm of the sum, times products of a few factors; the sum
/// of the weights in any order.
Errors cross_entropy_gradient_errors(const op::CrossEntropyGradient& o, Propagation& p) {
  if (p.size() == 0) return {};
  if (!p.certain()) return p.all_or_nothing();
  const Rows rows(p, o.ignore_index, o.label_smoothing, 4);
  const auto log_sum = p.values(2, p.operand(2).shape), gradient = p.values(3, p.operand(3).shape);
  const auto c = compute_dtype(p.dtype());
  const auto n = static_cast<Real>(rows.classes());
  auto e = p.result();
  for (std::size_t row = 0; row < rows.count(); ++row) {
    for (std::size_t k = 0; k < rows.classes(); ++k) {
      auto& element = e[row * rows.classes() + k];
      if (!rows.counts(row)) {
        element = 0;
        continue;
      }
      const Real power = rows.score(row, k) - static_cast<Real>(log_sum[row]);
      if (std::exp(power) >= largest(c) / 8) {  // not the logarithm of this row's sum
        element = undetermined;
        continue;
      }
      const Real at_target = rows.at_target(row);
      const Real scale = at_target + rows.share() * rows.all_weights();
      const Real distance = std::isinf(power) && power < 0 ? 0 : std::abs(power);
      Real rounding = std::exp(power) * scale * (n + 32 + 2 * distance) + 8 * rows.share() * rows.weight(k);
      if (k == rows.target(row)) rounding += 8 * at_target;
      rounding *= std::abs(static_cast<Real>(gradient[row])) * epsilon(c);
      rounding += 8 * smallest_normal(c) * (1 + std::abs(static_cast<Real>(gradient[row])) * (1 + scale));
      element = loss_bound(p.dtype(), element, rounding);
    }
  }
  return p.store(e);
}

std::string cross_entropy_literal(const op::CrossEntropy& o) {
  return fmt::format("op::CrossEntropy{{{}, {}}}", literal(o.label_smoothing), o.ignore_index);
}
std::string cross_entropy_gradient_literal(const op::CrossEntropyGradient& o) {
  return fmt::format("op::CrossEntropyGradient{{{}, {}}}", literal(o.label_smoothing), o.ignore_index);
}
std::string ctc_literal(const op::Ctc& o) {
  return fmt::format("op::Ctc{{{}, {}}}", o.blank, literal(o.zero_infinity));
}
std::string ctc_gradient_literal(const op::CtcGradient& o) {
  return fmt::format("op::CtcGradient{{{}, {}}}", o.blank, literal(o.zero_infinity));
}

}  // namespace

Family family(Of<op::CrossEntropy>) {
  return make_family("cross_entropy", 3, choose_cross_entropy, cross_entropy_errors, cross_entropy_literal,
                     keep_size<op::CrossEntropy>);
}
Family family(Of<op::CrossEntropyGradient>) {
  return make_family("cross_entropy_gradient", 3, choose_cross_entropy_gradient,
                     cross_entropy_gradient_errors, cross_entropy_gradient_literal,
                     keep_size<op::CrossEntropyGradient>);
}
Family family(Of<op::Ctc>) {
  return make_family("ctc", 3, choose_ctc, same_code<op::Ctc>, ctc_literal, keep_size<op::Ctc>);
}
Family family(Of<op::CtcGradient>) {
  return make_family("ctc_gradient", 3, choose_ctc_gradient, same_code<op::CtcGradient>, ctc_gradient_literal,
                     keep_size<op::CtcGradient>);
}

}  // namespace strata::fuzz
