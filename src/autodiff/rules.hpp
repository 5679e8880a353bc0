/// Gradient rules: for each differentiable family what it saves in the forward pass, and `differentiate`,
/// which turns the gradient of its output into those of its inputs. A family without both does not compile.
///
/// Rules compute on values of the inner backend with the bridge. When that backend is an Autodiff itself,
/// they are recorded there: that is what makes second derivatives.
///
/// Where a derivative does not exist: abs has 0 at 0, staircases have 0 everywhere. max and min of two give
/// half to each of two equal operands, and nothing to either when one is NaN; reduced max and min share
/// evenly among all equal elements, a pooled or running maximum goes to one. 0^b counts as constant in b >=
/// 0. prod never divides, so it is right at zeros.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bridge/bridge.hpp"
#include "op/operation.hpp"

namespace strata::autodiff {

using backend::ValueRef;

/// A function of values of one backend, and its gradients there: of each input, in order, given that of the
/// result. Several threads may call them at once.
using Function = std::function<ValueRef(const std::vector<ValueRef>& inputs)>;
using GradientFunction = std::function<std::vector<ValueRef>(const ValueRef& gradient, const ValueRef& result,
                                                             const std::vector<ValueRef>& inputs)>;

/// A set of inputs by position.
using InputSet = unsigned;

/// What a rule needs in backward.
struct Saves {
  InputSet inputs = 0;
  bool output = false;
};

/// One recorded operation during backward.
class Step {
 public:
  /// Of the output; on the inner backend, like everything here.
  virtual const ValueRef& gradient() const = 0;
  /// True when input i is tracked, so that `give(i, ...)` is wanted.
  virtual bool needs(std::size_t i) const = 0;
  virtual std::size_t inputs() const = 0;
  /// Of a tracked input.
  virtual const op::TensorType& input_type(std::size_t i) const = 0;
  /// What `saves` asked for.
  virtual ValueRef input(std::size_t i) = 0;
  virtual ValueRef output() = 0;
  /// Adds to the gradient of input i, which must be tracked; the shape is that of the input.
  virtual void give(std::size_t i, const ValueRef& gradient) = 0;

  /// `give` for an input that was broadcast: sums first.
  void give_broadcast(std::size_t i, const ValueRef& gradient) {
    give(i, bridge::sum_to(gradient, input_type(i).shape));
  }

 protected:
  ~Step() = default;
};

/// Families whose output never depends smoothly on an input: nothing is ever recorded for them.
template <class Family>
concept Constant =
    std::same_as<Family, op::Fill> || std::same_as<Family, op::Iota> || std::same_as<Family, op::Random> ||
    std::same_as<Family, op::Compare> || std::same_as<Family, op::ArgReduce> ||
    std::same_as<Family, op::ArgSort> || std::same_as<Family, op::ArgPool>;

// `tracked` says which inputs are.
Saves saves(const op::Unary& op, InputSet tracked);
Saves saves(const op::Binary& op, InputSet tracked);
Saves saves(const op::Where& op, InputSet tracked);
Saves saves(const op::Cast& op, InputSet tracked);
Saves saves(const op::Matmul& op, InputSet tracked);
Saves saves(const op::Reduce& op, InputSet tracked);
Saves saves(const op::Cumulative& op, InputSet tracked);
Saves saves(const op::Softmax& op, InputSet tracked);
Saves saves(const op::Norm& op, InputSet tracked);
Saves saves(const op::Gather& op, InputSet tracked);
Saves saves(const op::Scatter& op, InputSet tracked);
Saves saves(const op::SliceAssign& op, InputSet tracked);
Saves saves(const op::Conv& op, InputSet tracked);
Saves saves(const op::Pool& op, InputSet tracked);
Saves saves(const op::Fft& op, InputSet tracked);
Saves saves(const op::Reshape& op, InputSet tracked);
Saves saves(const op::Permute& op, InputSet tracked);
Saves saves(const op::Expand& op, InputSet tracked);
Saves saves(const op::Slice& op, InputSet tracked);
Saves saves(const op::Flip& op, InputSet tracked);
Saves saves(const op::Unfold& op, InputSet tracked);
Saves saves(const op::CrossEntropyGradient& op, InputSet tracked);
Saves saves(const op::Ctc& op, InputSet tracked);
Saves saves(const op::CtcGradient& op, InputSet tracked);

void differentiate(const op::Unary& op, Step& step);
void differentiate(const op::Binary& op, Step& step);
void differentiate(const op::Where& op, Step& step);
void differentiate(const op::Cast& op, Step& step);
void differentiate(const op::Matmul& op, Step& step);
void differentiate(const op::Reduce& op, Step& step);
void differentiate(const op::Cumulative& op, Step& step);
void differentiate(const op::Softmax& op, Step& step);
void differentiate(const op::Norm& op, Step& step);
void differentiate(const op::Gather& op, Step& step);
void differentiate(const op::Scatter& op, Step& step);
void differentiate(const op::SliceAssign& op, Step& step);
void differentiate(const op::Conv& op, Step& step);
void differentiate(const op::Pool& op, Step& step);
void differentiate(const op::Fft& op, Step& step);
void differentiate(const op::Reshape& op, Step& step);
void differentiate(const op::Permute& op, Step& step);
void differentiate(const op::Expand& op, Step& step);
void differentiate(const op::Slice& op, Step& step);
void differentiate(const op::Flip& op, Step& step);
void differentiate(const op::Unfold& op, Step& step);
void differentiate(const op::CrossEntropyGradient& op, Step& step);
void differentiate(const op::Ctc& op, Step& step);
void differentiate(const op::CtcGradient& op, Step& step);

/// Throws: nobody knows the gradient of a kernel. It may still be computed as long as none is asked for.
[[noreturn]] void differentiate(const op::CustomKernel& op, Step& step);

/// Cat saves no tensors, only where each input lies along the axis.
struct CatParts {
  int axis = 0;
  std::vector<std::int64_t> extents;
};
void differentiate(const CatParts& op, Step& step);

/// One result of a decomposition. It saves the matrices and decomposes again: the gradients of the results
/// add up, so each may be treated as if the others had none.
struct LinalgResult {
  op::LinalgKind kind{};
  std::size_t index = 0;
};
void differentiate(const LinalgResult& op, Step& step);

/// A caller's own rule.
struct Custom {
  GradientFunction gradients;
  ValueRef result;
  std::vector<ValueRef> inputs;
};
void differentiate(const Custom& op, Step& step);

/// One result of attention, with the other that its gradient is computed from; it saves the inputs, and the
/// first result where that is the one.
struct AttentionResult {
  op::Attention op;
  std::size_t index = 0;
  ValueRef log_sum;
};
void differentiate(const AttentionResult& op, Step& step);
struct AttentionGradientResult {
  op::AttentionGradient op;
  std::size_t index = 0;
};
void differentiate(const AttentionGradientResult& op, Step& step);

/// One result of cross entropy; it saves the inputs.
struct CrossEntropyResult {
  op::CrossEntropy op;
  std::size_t index = 0;
  ValueRef log_sum;
};
void differentiate(const CrossEntropyResult& op, Step& step);

}  // namespace strata::autodiff
