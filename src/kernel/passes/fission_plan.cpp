#include "kernel/passes/fission_plan.hpp"

#include <algorithm>

namespace strata::kernel::detail {
namespace {

class Planner {
 public:
  explicit Planner(const Kernel& k) {
    plan_.home.assign(k.types.size(), FissionPlan::nowhere);
    plan_.escapes.assign(k.types.size(), false);
    plan_.memory_region.assign(k.memories.size(), FissionPlan::nowhere);
  }
  FissionPlan run(const Kernel& k) {
    block(k.body, false);
    return std::move(plan_);
  }

 private:
  void block(const Block& b, bool in_loop) {
    for (const Part& part : split(b)) {
      if (part.is_region) {
        const auto id = static_cast<int>(plan_.region_in_loop.size());
        plan_.region_in_loop.push_back(in_loop);
        for (std::size_t n = part.first; n < part.last; ++n) instruction(b.instructions[n], id);
        continue;
      }
      const Instruction& i = b.instructions[part.first];
      for (const ValueId v : i.operands) use(v, FissionPlan::nowhere);
      const bool loop = i.opcode == Opcode::for_ || i.opcode == Opcode::while_;
      for (const auto& r : i.regions) block(r, in_loop || loop);
    }
  }

  void instruction(const Instruction& i, int region) {
    for (const ValueId v : i.operands) use(v, region);
    if (i.result != no_value) plan_.home[i.result] = region;
    if (i.memory != no_memory) {
      int& m = plan_.memory_region[i.memory];
      m = m == FissionPlan::nowhere || m == region ? region : FissionPlan::several;
    }
    for (const auto& r : i.regions) {
      if (r.argument != no_value) plan_.home[r.argument] = region;
      for (const auto& inner : r.instructions) instruction(inner, region);
    }
  }

  void use(ValueId v, int region) {
    if (plan_.home[v] != region) plan_.escapes[v] = true;
  }

  FissionPlan plan_;
};

}  // namespace

bool contains(const Instruction& i, Opcode op) {
  return i.opcode == op ||
         std::any_of(i.regions.begin(), i.regions.end(), [&](const Block& r) { return contains(r, op); });
}

bool contains(const Block& b, Opcode op) {
  return std::any_of(b.instructions.begin(), b.instructions.end(),
                     [&](const Instruction& i) { return contains(i, op); });
}

std::vector<Part> split(const Block& block) {
  std::vector<Part> parts;
  const auto& list = block.instructions;
  for (std::size_t n = 0; n < list.size(); ++n) {
    const bool apart = list[n].opcode == Opcode::yield || contains(list[n], Opcode::barrier);
    if (apart || parts.empty() || !parts.back().is_region)
      parts.push_back({!apart, n, n + 1});
    else
      parts.back().last = n + 1;
  }
  return parts;
}

FissionPlan plan_fission(const Kernel& kernel) { return Planner(kernel).run(kernel); }

}  // namespace strata::kernel::detail
