#include "kernel/passes/rewrite.hpp"

#include <numeric>
#include <utility>

namespace strata::kernel {
namespace {

class Rewriter {
 public:
  Rewriter(Kernel kernel, const RewriteRule& rule) : builder_(std::move(kernel), body_), rule_(rule) {
    renamed_.resize(builder_.kernel().types.size());
    std::iota(renamed_.begin(), renamed_.end(), ValueId{0});
  }

  Kernel run() {
    block(body_);
    return builder_.finish();
  }

 private:
  void block(Block& b) {
    for (auto& i : b.instructions) instruction(i);
  }

  void instruction(Instruction& i) {
    if (i.opcode == Opcode::constant) {
      renamed_[i.result] = builder_.adopt_constant(i).id;
      return;
    }
    for (auto& v : i.operands) v = renamed_[v];
    if (!i.regions.empty()) {
      std::vector<Block> regions;
      for (auto& r : i.regions) {
        builder_.begin_region_with(r.argument);
        block(r);
        regions.push_back(builder_.end_region());
      }
      i.regions = std::move(regions);
    } else if (const auto v = rule_(i)) {
      if (i.result != no_value) renamed_[i.result] = v->id;
      return;
    }
    builder_.record(std::move(i));
  }

  Block body_;
  Builder builder_;
  const RewriteRule& rule_;
  std::vector<ValueId> renamed_;  // by the old kernel's values
};

}  // namespace

Kernel rewrite(Kernel kernel, const RewriteRule& rule) { return Rewriter(std::move(kernel), rule).run(); }

}  // namespace strata::kernel
