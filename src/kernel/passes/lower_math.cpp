#include "kernel/passes/lower_math.hpp"

#include <algorithm>
#include <utility>

#include "kernel/expand_math.hpp"
#include "kernel/passes/rewrite.hpp"

namespace strata::kernel {
namespace {

bool has_math(const Block& b) {
  return std::any_of(b.instructions.begin(), b.instructions.end(), [](const Instruction& i) {
    return is_math(i.opcode) || std::any_of(i.regions.begin(), i.regions.end(), has_math);
  });
}

}  // namespace

Kernel lower_math(Kernel kernel, MathUnits units) {
  if (!has_math(kernel.body)) return kernel;
  return rewrite(std::move(kernel), [units](const Instruction& i) -> std::optional<Val> {
    if (!is_math(i.opcode)) return std::nullopt;
    return expand_math(i.opcode, Builder::current().value(i.operands[0]), units);
  });
}

}  // namespace strata::kernel
