#include "kernel/uniformity.hpp"

#include <algorithm>

#include "kernel/traits.hpp"

namespace strata::kernel {
namespace {

class Analysis {
 public:
  explicit Analysis(const Kernel& k) : kernel_(k) {
    result_.varying.assign(k.types.size(), false);
    result_.varying_memory.assign(k.memories.size(), false);
  }

  Uniformity run() {
    if (kernel_.units() == 1) return std::move(result_);
    do {
      changed_ = false;
      block(kernel_.body, false);
    } while (changed_);
    return std::move(result_);
  }

 private:
  bool varies(ValueId v) const { return result_.varying[v]; }
  bool any_varies(const Instruction& i) const {
    return std::any_of(i.operands.begin(), i.operands.end(), [&](ValueId v) { return varies(v); });
  }
  void mark(std::vector<bool>& set, std::uint32_t id) {
    if (id < set.size() && !set[id]) {
      set[id] = true;
      changed_ = true;
    }
  }
  bool builtin_varies(Builtin b) const {
    switch (b) {
      case Builtin::unit_x:
        return kernel_.cube_dim[0] > 1;
      case Builtin::unit_y:
        return kernel_.cube_dim[1] > 1;
      case Builtin::unit_z:
        return kernel_.cube_dim[2] > 1;
      case Builtin::plane_lane:
        return true;
      default:
        return false;
    }
  }

  void block(const Block& b, bool divergent) {
    for (const auto& i : b.instructions) instruction(i, divergent);
  }

  void instruction(const Instruction& i, bool divergent) {
    switch (i.opcode) {
      case Opcode::builtin:
        if (builtin_varies(static_cast<Builtin>(i.immediate))) mark(result_.varying, i.result);
        return;
      case Opcode::atomic_add:
      case Opcode::atomic_min:
      case Opcode::atomic_max:
      case Opcode::plane_reduce_add:
      case Opcode::plane_reduce_min:
      case Opcode::plane_reduce_max:
      case Opcode::load_matrix:
      case Opcode::matrix_multiply:
        mark(result_.varying, i.result);
        return;
      case Opcode::store:
      case Opcode::scatter:
        if (kernel_.memories[i.memory].space == Space::local && (divergent || any_varies(i)))
          mark(result_.varying_memory, i.memory);
        return;
      case Opcode::load:
      case Opcode::gather:
        if (any_varies(i) || result_.varying_memory[i.memory]) mark(result_.varying, i.result);
        return;
      case Opcode::if_:
        for (const auto& r : i.regions) block(r, divergent || varies(i.operands[0]));
        return;
      case Opcode::for_:
        if (varies(i.operands[0]) || varies(i.operands[2])) mark(result_.varying, i.regions[0].argument);
        block(i.regions[0], divergent || any_varies(i));
        return;
      case Opcode::while_: {
        block(i.regions[0], divergent);
        const bool apart = divergent || varies(i.regions[0].instructions.back().operands[0]);
        if (apart) block(i.regions[0], true);
        block(i.regions[1], apart);
        return;
      }
      default:
        if (i.result != no_value && any_varies(i)) mark(result_.varying, i.result);
    }
  }

  const Kernel& kernel_;
  Uniformity result_;
  bool changed_ = false;
};

}  // namespace

Uniformity analyse_uniformity(const Kernel& kernel) { return Analysis(kernel).run(); }

}  // namespace strata::kernel
