/// How fission cuts a kernel into regions.
#pragma once

#include <cstddef>
#include <vector>

#include "kernel/ir.hpp"

namespace strata::kernel::detail {

/// True when the opcode stands in the instruction or in a body below it.
bool contains(const Instruction& instruction, Opcode op);
bool contains(const Block& block, Opcode op);

/// A part of a block: a region [first, last) or, with `is_region` false, one barrier, one control-flow
/// instruction with a barrier inside, or the yield of a while_ that has one.
struct Part {
  bool is_region;
  std::size_t first, last;
};
std::vector<Part> split(const Block& block);

/// Who uses what. Regions are numbered in the order in which `split` meets them, bodies included.
struct FissionPlan {
  static constexpr int nowhere = -1, several = -2;
  std::vector<int> home;      ///< by value: the region that defines it, or nowhere (counters of split loops)
  std::vector<bool> escapes;  ///< by value: used outside its region
  std::vector<int> memory_region;    ///< by memory: the only region that uses it, nowhere or several
  std::vector<bool> region_in_loop;  ///< by region: inside a split for_ or while_
};
FissionPlan plan_fission(const Kernel& kernel);

}  // namespace strata::kernel::detail
