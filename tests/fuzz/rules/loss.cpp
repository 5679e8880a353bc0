#include <algorithm>

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
struct Rows {
  ValueId logits, target;
  TensorType rows, weights;
};
Rows choose_rows(Chooser& c) {
  Rows r{};
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

/// Every device computes them on the host, a row or a sample at a time in one order; how far an uncertain
/// score moves the result is not known.
template <class Op>
Errors same_code(const Op&, Propagation& p) {
  return p.all_or_nothing();
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
  return make_family("cross_entropy", 3, choose_cross_entropy, same_code<op::CrossEntropy>,
                     cross_entropy_literal, keep_size<op::CrossEntropy>);
}
Family family(Of<op::CrossEntropyGradient>) {
  return make_family("cross_entropy_gradient", 3, choose_cross_entropy_gradient,
                     same_code<op::CrossEntropyGradient>, cross_entropy_gradient_literal,
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
