#include "fuzz/fuzzer/program.hpp"

#include "strata/error.hpp"

namespace strata::fuzz {

std::size_t Program::operation_count() const {
  std::size_t n = 0;
  for (const auto& body : bodies) {
    for (const auto& action : body.actions) n += action.kind == Action::Kind::execute;
  }
  return n;
}

std::optional<op::TensorType> type_of_result(const op::Operation& op, const std::vector<op::TensorType>& in) {
  try {
    return op::infer(op, in)[0];
  } catch (const UserError&) {
    return std::nullopt;
  }
}

Types::Types(const Program& program, const Body& body) {
  for (const auto& data : program.inputs) inputs_.push_back(op::TensorType{data.dtype(), data.shape()});
  for (const auto& action : body.actions) {
    if (action.kind != Action::Kind::execute) continue;
    std::vector<op::TensorType> operands;
    bool complete = true;
    for (auto id : action.operands) {
      complete = complete && of(id);
      if (complete) operands.push_back(*of(id));
    }
    results_.push_back(complete ? type_of_result(action.op, operands) : std::nullopt);
  }
}

}  // namespace strata::fuzz
