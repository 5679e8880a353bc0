/// How operands reach matrix units: panels in shared arrays, several blocks of k ahead.
#pragma once

#include <functional>

#include "cube/matmul/tile.hpp"

namespace strata::cube::matmul {

/// One operand's part of a block of k, in as many stages as the schedule has. A panel keeps its operand's
/// order: lines (rows of a, columns of b) or steps of k are its rows, whichever the operand has apart in
/// memory, in chunks of 16 bytes. Vectors of 16 bytes are copied past the registers; where they do not fit
/// the operand, its elements go through registers one by one, one block ahead.
class Panel {
 public:
  struct Shape {
    bool along_k;      ///< rows are lines
    std::int64_t row;  ///< elements of a row
    int chunk;         ///< elements of 16 bytes
  };
  /// Where an element of a stage lies, i32. Moves whole chunks, by no bits of a row that are multiples of 32.
  using Placement = kernel::Val (*)(const Shape& shape, kernel::Val row, kernel::Val column);

  /// `line` and `step` are the operand's strides along lines and along k; `lines` how many there are.
  Panel(const Operand& operand, kernel::Val line, kernel::Val step, kernel::Val lines, kernel::Val first_line,
        std::int64_t height, const Schedule& s, bool vectors, Placement placement, std::string_view name);

  /// Starts the copies of the block of k that begins at `k` into a stage, or the loads of its elements; with
  /// `left`, only so many of its steps exist.
  void fetch(kernel::Val stage, kernel::Val k, kernel::Val left) const;
  /// Stores the elements that were loaded.
  void put(kernel::Val stage) const;

  const Shape& shape() const { return shape_; }
  const kernel::Buffer& shared() const { return shared_; }
  /// First element of a stage.
  kernel::Val start_of(kernel::Val stage) const { return stage * elements_; }

 private:
  struct Place {
    kernel::Val k, target, source;
  };

  kernel::Buffer source_, shared_;
  kernel::Val step_;
  Shape shape_;
  bool vectors_;
  std::int64_t elements_;  ///< of a stage
  std::vector<Place> places_;
  std::vector<kernel::Var> staged_;  ///< without vectors
};

/// Eight rows below each other cover all banks: rows of 64 bytes two by two.
kernel::Val permuted_place(const Panel::Shape& shape, kernel::Val row, kernel::Val column);

/// Walks from `begin` to `end` in blocks of k: `multiply(stage)` when both panels' block is there for all
/// units.
void walk_blocks(const Panel& a, const Panel& b, const Schedule& s, kernel::Val begin, kernel::Val end,
                 const std::function<void(kernel::Val stage)>& multiply);

}  // namespace strata::cube::matmul
