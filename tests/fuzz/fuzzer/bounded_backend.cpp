#include "fuzz/fuzzer/bounded_backend.hpp"

namespace strata::fuzz {

backend::Values BoundedBackend::execute(const op::Operation& op, backend::Inputs inputs) {
  std::vector<ValueRef> operands;
  std::vector<Errors> errors;
  for (const auto& v : inputs) {
    operands.push_back(get(v).inner);
    errors.push_back(get(v).errors);
  }
  const auto results = flex_.execute(op, operands);
  backend::Values bounded;
  for (const auto& result : results) {
    Propagation propagation(flex_, operands, errors, result);
    bounded.push_back(wrap(result, family_of(op).errors(op, propagation)));
  }
  return bounded;
}

std::vector<double> BoundedBackend::errors(const ValueRef& value) const {
  const auto& e = get(value).errors;
  if (!e) return std::vector<double>(static_cast<std::size_t>(value->shape.product()));
  return flex_.read(e).to_doubles();
}

}  // namespace strata::fuzz
