#include "cube/matmul/panel.hpp"

#include <bit>

#include "cube/matmul/tile_kernel.hpp"

namespace strata::cube::matmul {

using kernel::Val;
using kernel::Var;

namespace {

int log2(std::int64_t n) { return std::countr_zero(static_cast<std::uint64_t>(n)); }

}  // namespace

Panel::Panel(const Operand& operand, Val line, Val step, Val lines, Val first_line, std::int64_t height,
             const Schedule& s, bool vectors, Placement placement, std::string_view name)
    : source_(operand.data),
      step_(step),
      shape_{!is_constant(line, 1), is_constant(line, 1) ? height : s.kc,
             static_cast<int>(16 / kernel::size_of(operand.data.scalar()))},
      vectors_(vectors),
      elements_(height * s.kc) {
  shared_ = kernel::shared_array(source_.scalar(), elements_ * s.prefetch, name);
  const std::int64_t width = vectors ? shape_.chunk : 1, pieces = shape_.row / width;
  for (std::int64_t i = 0; i < elements_ / width / s.units; ++i) {
    const Val q = kernel::unit_x() + i32(i * s.units), row = q >> log2(pieces),
              column = (q & (pieces - 1)) * width;
    const Val at_line = shape_.along_k ? row : column, k = wide(shape_.along_k ? column : row);
    const Val last = shape_.along_k ? lines - 1 : lines - width;
    const Val there = kernel::min(first_line + wide(at_line), last);
    places_.push_back({k, wide(placement(shape_, row, column)), operand.start + there * line + k * step});
    if (!vectors) staged_.emplace_back(kernel::constant(kernel::make_type(source_.scalar()), 0));
  }
}

void Panel::fetch(Val stage, Val k, Val left) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto& p = places_[i];
    const Val at = p.source + k * step_;
    const Val exists = left.present() ? p.k < left : Val{};
    if (vectors_) {
      shared_.copy_async(start_of(stage) + p.target, source_, at, exists);
    } else {
      staged_[i].set(source_.load(at, 1, {.mask = exists}));
    }
  }
}

void Panel::put(Val stage) const {
  for (std::size_t i = 0; i < staged_.size(); ++i)
    shared_.store(start_of(stage) + places_[i].target, staged_[i]);
}

Val permuted_place(const Panel::Shape& shape, Val row, Val column) {
  const std::int64_t turns = std::min<std::int64_t>(shape.row / shape.chunk, 8), rows_a_turn = 8 / turns;
  const Val turn = (row >> log2(rows_a_turn)) & (turns - 1);
  return row * i32(shape.row) + (column ^ (turn * shape.chunk));
}

void walk_blocks(const Panel& a, const Panel& b, const Schedule& s, Val begin, Val end,
                 const std::function<void(Val)>& multiply) {
  const int stages = s.prefetch;
  const auto fetch = [&](Val stage, Val k) {
    kernel::if_(
        k + s.kc <= end,
        [&] {
          a.fetch(stage, k, {});
          b.fetch(stage, k, {});
        },
        [&] {
          kernel::if_(k < end, [&] {
            a.fetch(stage, k, end - k);
            b.fetch(stage, k, end - k);
          });
        });
    kernel::copy_commit();  // also an empty group: the count of groups stays that of blocks
  };
  const auto put = [&](Val stage) {
    a.put(stage);
    b.put(stage);
  };
  for (int stage = 0; stage + 1 < stages; ++stage) {
    fetch(index_constant(stage), begin + stage * s.kc);
    put(index_constant(stage));
  }
  const Var stage(index_constant(0)), free(index_constant(stages - 1));
  kernel::for_(begin, end, s.kc, [&](Val k) {
    kernel::copy_wait(stages - 2);
    kernel::barrier();  // the block is there for all, and nobody reads the one before it any more
    fetch(free, k + static_cast<std::int64_t>(stages - 1) * s.kc);
    multiply(stage);
    put(free);
    const auto turn = [&](const Var& v) {
      v.set(kernel::select(v.get() == stages - 1, index_constant(0), v.get() + 1));
    };
    turn(stage);
    turn(free);
  });
}

}  // namespace strata::cube::matmul
