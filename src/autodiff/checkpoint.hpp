/// Balanced checkpointing: what a memory-bound operation computed is not kept for backward but computed
/// again.
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

#include "autodiff/counted.hpp"
#include "backend/backend.hpp"

namespace strata::autodiff {

using backend::Ref;
using backend::Value;
using backend::ValueRef;

class Recipe;
using RecipeRef = Ref<Recipe>;

/// A value of the inner backend that backward will want: kept, or a recipe for it. Empty when it will not.
struct Saved {
  ValueRef value;
  RecipeRef recipe;
};

/// An operation on the inner backend and the inputs to run it on.
class Recipe final : public Counted {
 public:
  Recipe(const op::Operation& what, std::vector<Saved> from, std::uint32_t level)
      : op(what), inputs(std::move(from)), depth(level) {}

  const op::Operation op;
  const std::vector<Saved> inputs;
  const std::uint32_t depth;  ///< of the node whose output this makes
};

/// True for operations bound by memory, which are cheaper to repeat than their results are to keep.
bool is_memory_bound(const op::Operation& op);

/// The recomputed values of one backward pass; each is computed once.
class Recomputed {
 public:
  /// The value, made from its recipe (and the recipes that one needs) when it was not kept.
  ValueRef get(const Saved& saved);
  /// Drops what only nodes deeper than `depth` could still ask for.
  void drop_below(std::uint32_t depth);

 private:
  /// The value if it is there already, else null.
  ValueRef known(const Saved& saved) const;

  struct Deeper {
    bool operator()(const Recipe* a, const Recipe* b) const { return a->depth < b->depth; }
  };
  std::unordered_map<const Recipe*, ValueRef> values_;
  std::priority_queue<const Recipe*, std::vector<const Recipe*>, Deeper> deepest_;
};

}  // namespace strata::autodiff
