#include "autodiff/checkpoint.hpp"

namespace strata::autodiff {

bool is_memory_bound(const op::Operation& op) {
  return std::visit(op::Overload{[](const op::Fill&) { return true; },
                                 [](const op::Iota&) { return true; },
                                 [](const op::Random&) { return false; },
                                 [](const op::Unary&) { return true; },
                                 [](const op::Binary&) { return true; },
                                 [](const op::Compare&) { return true; },
                                 [](const op::Where&) { return true; },
                                 [](const op::Cast&) { return true; },
                                 [](const op::Matmul&) { return false; },
                                 [](const op::Reduce&) { return false; },
                                 [](const op::ArgReduce&) { return false; },
                                 [](const op::ArgSort&) { return false; },
                                 [](const op::Cumulative&) { return false; },
                                 [](const op::Softmax&) { return false; },
                                 [](const op::Norm&) { return false; },
                                 [](const op::Linalg&) { return false; },
                                 [](const op::Gather&) { return true; },
                                 [](const op::Scatter&) { return false; },
                                 [](const op::SliceAssign&) { return true; },
                                 [](const op::Conv&) { return false; },
                                 [](const op::Pool&) { return false; },
                                 [](const op::ArgPool&) { return false; },
                                 [](const op::Unfold&) { return true; },
                                 [](const op::Reshape&) { return true; },
                                 [](const op::Permute&) { return true; },
                                 [](const op::Expand&) { return true; },
                                 [](const op::Slice&) { return true; },
                                 [](const op::Flip&) { return true; },
                                 [](const op::Cat&) { return true; },
                                 [](const op::Fft&) { return false; },
                                 [](const op::Attention&) { return false; },
                                 [](const op::AttentionGradient&) { return false; },
                                 [](const op::CrossEntropy&) { return false; },
                                 [](const op::CrossEntropyGradient&) { return false; },
                                 [](const op::Ctc&) { return false; },
                                 [](const op::CtcGradient&) { return false; },
                                 [](const op::CustomKernel&) { return false; }},
                    op);
}

ValueRef Recomputed::known(const Saved& saved) const {
  if (saved.value) return saved.value;
  const auto found = values_.find(saved.recipe.get());
  return found == values_.end() ? ValueRef{} : found->second;
}

ValueRef Recomputed::get(const Saved& saved) {
  if (auto value = known(saved)) return value;
  // Depth first with an explicit stack: chains of recipes may be as long as the program ran.
  std::vector<const Recipe*> stack{saved.recipe.get()};
  while (!stack.empty()) {
    const Recipe* recipe = stack.back();
    std::vector<ValueRef> inputs;
    const auto depth = stack.size();
    for (const auto& input : recipe->inputs) {
      if (auto value = known(input)) {
        inputs.push_back(std::move(value));
      } else {
        stack.push_back(input.recipe.get());
      }
    }
    if (stack.size() > depth) continue;
    stack.pop_back();
    if (values_.contains(recipe)) continue;  // two operations asked for it
    values_[recipe] = std::move(backend::execute(recipe->op, inputs)[0]);
    deepest_.push(recipe);
  }
  return values_.at(saved.recipe.get());
}

void Recomputed::drop_below(std::uint32_t depth) {
  while (!deepest_.empty() && deepest_.top()->depth > depth) {
    values_.erase(deepest_.top());
    deepest_.pop();
  }
}

}  // namespace strata::autodiff
