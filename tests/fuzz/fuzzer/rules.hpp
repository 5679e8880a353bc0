/// What the fuzzer knows of each family: how to choose a call, how far two correct devices may differ in its
/// result, how to print it and how to shrink it. One `family` function per family, each in the file of tests/
/// fuzz/rules that is named like the family's in src/op. A family of op::Operation without one does not
/// compile (see `families`).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/fuzzer/program.hpp"
#include "strata/detail/value.hpp"

namespace strata::fuzz {

class Chooser;
class Propagation;

/// An operation and its operands.
struct Call {
  op::Operation op;
  std::vector<ValueId> operands;
};

/// Bounds of a result: a tensor of f64 on the reference's device in the result's shape, or null where every
/// element is the same on every device. See bounds.hpp.
using Errors = backend::ValueRef;

/// Every extent `from` of a program becomes `to`.
struct Resize {
  std::int64_t from, to;
  void operator()(std::int64_t& extent) const {
    if (extent == from) extent = to;
  }
  void operator()(Dims& extents) const {
    for (auto& extent : extents) (*this)(extent);
  }
};

struct Family {
  std::string name;
  int weight;  ///< how often it is chosen, relative to the others
  std::function<Call(Chooser&)> choose;
  std::function<Errors(const op::Operation&, Propagation&)> errors;
  std::function<std::string(const op::Operation&)> literal;  ///< the value as C++ in namespace strata
  std::function<void(op::Operation&, Resize)> resize;
};

/// Names a family for overload resolution.
template <class Op>
struct Of {};

Family family(Of<op::Fill>);
Family family(Of<op::Iota>);
Family family(Of<op::Random>);
Family family(Of<op::Unary>);
Family family(Of<op::Binary>);
Family family(Of<op::Compare>);
Family family(Of<op::Where>);
Family family(Of<op::Cast>);
Family family(Of<op::Matmul>);
Family family(Of<op::Reduce>);
Family family(Of<op::ArgReduce>);
Family family(Of<op::ArgSort>);
Family family(Of<op::Cumulative>);
Family family(Of<op::Softmax>);
Family family(Of<op::Norm>);
Family family(Of<op::Gather>);
Family family(Of<op::Scatter>);
Family family(Of<op::SliceAssign>);
Family family(Of<op::Conv>);
Family family(Of<op::Pool>);
Family family(Of<op::ArgPool>);
Family family(Of<op::Linalg>);
Family family(Of<op::Fft>);
Family family(Of<op::Unfold>);
Family family(Of<op::Reshape>);
Family family(Of<op::Permute>);
Family family(Of<op::Expand>);
Family family(Of<op::Slice>);
Family family(Of<op::Flip>);
Family family(Of<op::Cat>);
Family family(Of<op::Attention>);
Family family(Of<op::AttentionGradient>);
Family family(Of<op::CrossEntropy>);
Family family(Of<op::CrossEntropyGradient>);
Family family(Of<op::Ctc>);
Family family(Of<op::CtcGradient>);
Family family(Of<op::CustomKernel>);

/// The table of all families, in the order of op::Operation's alternatives.
const std::vector<Family>& families();
inline const Family& family_of(const op::Operation& op) { return families()[op.index()]; }

/// A Family from functions that take the family's own type.
template <class Op>
Family make_family(std::string name, int weight, Call (*choose)(Chooser&),
                   Errors (*errors)(const Op&, Propagation&), std::string (*literal)(const Op&),
                   void (*resize)(Op&, Resize)) {
  return {std::move(name),
          weight,
          choose,
          [errors](const op::Operation& op, Propagation& p) { return errors(std::get<Op>(op), p); },
          [literal](const op::Operation& op) { return literal(std::get<Op>(op)); },
          [resize](op::Operation& op, Resize r) { resize(std::get<Op>(op), r); }};
}
/// For families whose attributes hold no extents.
template <class Op>
void keep_size(Op&, Resize) {}

}  // namespace strata::fuzz
