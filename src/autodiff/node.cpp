#include "autodiff/node.hpp"

namespace strata::autodiff {
namespace {

template <class Rule, class EdgeList>
NodeRef make(Rule rule, backend::Inputs inputs, EdgeList edges, const Saves& saves, const ValueRef& output,
             std::uint32_t depth, const RecipeRef& recipe) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    edges[i].parent = cast_value(inputs[i]).node;
    if (saves.inputs >> i & 1u) edges[i].saved = save(cast_value(inputs[i]));
  }
  Saved kept;
  if (saves.output) kept = recipe ? Saved{{}, recipe} : Saved{output, {}};
  return NodeRef(new Operand<Rule, EdgeList>(backend::type_of(*output), depth, std::move(rule),
                                             std::move(edges), std::move(kept)));
}

template <class Family>
constexpr std::size_t arity = 1;
template <>
constexpr std::size_t arity<op::Binary> = 2;
template <>
constexpr std::size_t arity<op::Matmul> = 2;
template <>
constexpr std::size_t arity<op::Gather> = 2;
template <>
constexpr std::size_t arity<op::SliceAssign> = 2;
template <>
constexpr std::size_t arity<op::Conv> = 2;
template <>
constexpr std::size_t arity<op::Where> = 3;
template <>
constexpr std::size_t arity<op::Scatter> = 3;
template <>
constexpr std::size_t arity<op::Ctc> = 4;
template <>
constexpr std::size_t arity<op::CtcGradient> = 4;

InputSet tracked_of(backend::Inputs inputs) {
  InputSet tracked = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) tracked |= (cast_value(inputs[i]).node ? 1u : 0u) << i;
  return tracked;
}

}  // namespace

NodeRef record(const op::Operation& op, backend::Inputs inputs, const ValueRef& output, std::size_t index,
               const ValueRef& last, std::uint32_t depth, const RecipeRef& recipe) {
  const auto with_inputs = [&](auto rule, bool with_output) {
    return make(std::move(rule), inputs, std::vector<Edge>(inputs.size()),
                {(1u << inputs.size()) - 1, with_output}, output, depth, recipe);
  };
  return std::visit(
      [&]<class Family>(const Family& family) -> NodeRef {
        if constexpr (Constant<Family>) {
          base::fail_check("a constant family is never recorded", __FILE_NAME__, __LINE__);
        } else if constexpr (std::same_as<Family, op::Cat>) {
          CatParts parts{family.axis, {}};
          for (const auto& input : inputs) parts.extents.push_back(input->shape[family.axis]);
          return make(std::move(parts), inputs, std::vector<Edge>(inputs.size()), {}, output, depth, recipe);
        } else if constexpr (std::same_as<Family, op::Linalg>) {
          return with_inputs(LinalgResult{family.kind, index}, false);
        } else if constexpr (std::same_as<Family, op::Attention>) {
          return with_inputs(AttentionResult{family, index, last}, index == 0);
        } else if constexpr (std::same_as<Family, op::AttentionGradient>) {
          return with_inputs(AttentionGradientResult{family, index}, false);
        } else if constexpr (std::same_as<Family, op::CrossEntropy>) {
          return with_inputs(CrossEntropyResult{family, index, last}, false);
        } else if constexpr (std::same_as<Family, op::CustomKernel>) {
          return make(family, inputs, std::vector<Edge>(inputs.size()), {}, output, depth, recipe);
        } else if constexpr (std::same_as<Family, op::Norm> ||
                             std::same_as<Family, op::CrossEntropyGradient>) {
          return make(family, inputs, std::vector<Edge>(inputs.size()), saves(family, tracked_of(inputs)),
                      output, depth, recipe);
        } else {
          return make(family, inputs, std::array<Edge, arity<Family>>{}, saves(family, tracked_of(inputs)),
                      output, depth, recipe);
        }
      },
      op);
}

}  // namespace strata::autodiff
