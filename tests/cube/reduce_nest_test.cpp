#include "cube/reduce_nest.hpp"

#include <gtest/gtest.h>

namespace strata::cube {
namespace {

op::View dense(const Shape& shape) { return {shape, op::contiguous_strides(shape), 0}; }

TEST(ReduceNest, LastAxisOfARowMajorTensorIsReducedInRows) {
  const auto nest = analyse_reduce(dense({4, 5, 6}), Axes{2});
  EXPECT_EQ(nest.form, ReduceForm::rows);
  EXPECT_EQ(nest.kept_extents, (Shape{20}));
  EXPECT_EQ(nest.kept_strides, (Strides{6}));
  EXPECT_EQ(nest.reduced_extents, (Shape{6}));
}

TEST(ReduceNest, FirstAndMiddleAxesAreReducedInColumns) {
  const auto first = analyse_reduce(dense({4, 5, 6}), Axes{0});
  EXPECT_EQ(first.form, ReduceForm::columns);
  EXPECT_EQ(first.kept_extents, (Shape{30}));
  EXPECT_EQ(first.reduced_strides, (Strides{30}));
  const auto middle = analyse_reduce(dense({4, 5, 6}), Axes{1});
  EXPECT_EQ(middle.form, ReduceForm::columns);
  EXPECT_EQ(middle.kept_extents, (Shape{4, 6}));
}

TEST(ReduceNest, TransposedViewIsNotTakenForRows) {
  const op::View transposed{{3, 2}, {1, 3}, 0};  // of a dense [2, 3]
  const auto nest = analyse_reduce(transposed, Axes{1});
  EXPECT_EQ(nest.form, ReduceForm::columns);
  EXPECT_EQ(nest.kept_extents, (Shape{3}));
  EXPECT_EQ(nest.reduced_extents, (Shape{2}));
  EXPECT_EQ(nest.reduced_strides, (Strides{3}));
}

TEST(ReduceNest, ReducingEverythingIsOneRowWhateverTheOrderOfAxes) {
  const op::View transposed{{3, 2}, {1, 3}, 5};
  const auto nest = analyse_reduce(transposed, Axes{0, 1});
  EXPECT_EQ(nest.form, ReduceForm::rows);
  EXPECT_EQ(nest.outputs(), 1);
  EXPECT_EQ(nest.reduced_extents, (Shape{6}));
  EXPECT_EQ(nest.offset, 5);
}

TEST(ReduceNest, FlippedAxesAreWalkedForwards) {
  const op::View flipped{{2, 65}, {65, -1}, 64};
  const auto nest = analyse_reduce(flipped, Axes{1});
  EXPECT_EQ(nest.form, ReduceForm::rows);
  EXPECT_EQ(nest.reduced_strides, (Strides{1}));
  EXPECT_EQ(nest.offset, 0);
}

TEST(ReduceNest, ExpandedAxisKeepsStrideZero) {
  const op::View expanded{{std::int64_t{1} << 31, 2}, {0, 1}, 0};
  EXPECT_EQ(analyse_reduce(expanded, Axes{0}).form, ReduceForm::rows);
  EXPECT_EQ(analyse_reduce(expanded, Axes{0}).reduced_strides, (Strides{0}));
}

}  // namespace
}  // namespace strata::cube
