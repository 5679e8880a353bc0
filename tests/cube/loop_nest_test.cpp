#include "cube/loop_nest.hpp"

#include <gtest/gtest.h>

namespace strata::cube {
namespace {

TEST(LoopNest, ContiguousOperandsBecomeOneAxis) {
  const auto nest = collapse(Shape{2, 1, 3, 4}, {Strides{12, 99, 4, 1}, Strides{12, 12, 4, 1}});
  EXPECT_EQ(nest.extents, (Shape{24}));
  ASSERT_EQ(nest.layouts.size(), 1u) << "strides of extents of 1 do not matter";
  EXPECT_EQ(nest.layout_of, (std::vector<int>{0, 0}));
}

TEST(LoopNest, AnAxisMergesOnlyWhereEveryOperandAllowsIt) {
  const auto nest = collapse(Shape{2, 3, 4}, {Strides{12, 4, 1}, Strides{0, 4, 1}});
  EXPECT_EQ(nest.extents, (Shape{2, 12}));
  EXPECT_EQ(nest.layouts[0], (Strides{12, 1}));
  EXPECT_EQ(nest.layouts[1], (Strides{0, 1}));
}

TEST(LoopNest, TransposedOperandKeepsBothAxes) {
  const auto nest = collapse(Shape{3, 2}, {Strides{2, 1}, Strides{1, 3}});
  EXPECT_EQ(nest.extents, (Shape{3, 2}));
  EXPECT_EQ(nest.inner_access(1), Access::strided);
}

TEST(LoopNest, NegativeStridesMergeWhenAllAxesAreFlipped) {
  const auto nest = collapse(Shape{2, 3}, {Strides{3, 1}, Strides{-3, -1}});
  EXPECT_EQ(nest.extents, (Shape{6}));
  EXPECT_EQ(nest.layouts[1], (Strides{-1}));
}

TEST(LoopNest, BroadcastScalarIsRecognised) {
  const auto nest =
      collapse(Shape{5, 7}, {Strides{7, 1}, broadcast_strides(Shape{1, 1}, Strides{1, 1}, Shape{5, 7})});
  EXPECT_FALSE(nest.is_scalar(0));
  EXPECT_TRUE(nest.is_scalar(1));
  EXPECT_EQ(nest.extents, (Shape{35}));
}

TEST(LoopNest, OneElementOfAnyRankIsOneLoop) {
  for (const auto& space : {Shape{}, Shape{1}, Shape{1, 1, 1}}) {
    const auto nest = collapse(space, {Strides::filled(space.rank(), 17), Strides::filled(space.rank(), 0)});
    EXPECT_EQ(nest.extents, (Shape{1}));
    EXPECT_EQ(nest.layouts, (std::vector<Strides>{Strides{1}}));
  }
}

TEST(LoopNest, BroadcastAcrossRanks) {
  EXPECT_EQ(broadcast_strides(Shape{4, 1}, Strides{1, 1}, Shape{2, 4, 3}), (Strides{0, 1, 0}));
}

}  // namespace
}  // namespace strata::cube
