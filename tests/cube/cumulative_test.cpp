#include "cube/gpu_families.hpp"

namespace strata::cube::test {
namespace {

using op::CumulativeKind;

class Cumulative : public GpuFamilies {
 protected:
  /// Extrema and sums of integers are exact. Running totals are joined in another order than flex's: about
  /// log2(n) roundings of the accumulator, one of the result.
  void every_kind(int axis, const Operand& x) const {
    const DType t = x.data.dtype();
    const double rounding = t == DType::bf16  ? 0x1p-7
                            : t == DType::f16 ? 0x1p-10
                            : t == DType::f32 ? 0x1p-22
                                              : 0x1p-46;
    for (const auto kind : {CumulativeKind::sum, CumulativeKind::prod}) {
      agrees(op::Cumulative{kind, axis}, {x}, is_float(t) ? rounding : 0);
    }
    for (const auto kind : {CumulativeKind::max, CumulativeKind::min}) {
      agrees(op::Cumulative{kind, axis}, {x}, is_float(t) ? 0x1p-1000 : 0);  // zeros of either sign
    }
  }
};

TEST_F(Cumulative, EveryDtypeInRowsAndColumns) {
  for (const DType t : all_dtypes) {
    if (t == DType::boolean) continue;
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 64}, Shape{7, 257}, Shape{40, 20}, Shape{1, 700}}) {
      for (int axis = 0; axis < 2; ++axis) every_kind(axis, {random_data(t, shape, -1.5, 1.5)});
    }
  }
}

TEST_F(Cumulative, NaNAndInfinitiesStay) {
  for (int axis = 0; axis < 2; ++axis) every_kind(axis, {tied_data(DType::f32, {30, 150})});
}

TEST_F(Cumulative, EveryLayout) {
  const auto x = random_data(DType::f32, {4, 6, 20});
  for (int axis = 0; axis < 3; ++axis) {
    every_kind(axis, {x});
    every_kind(axis, {x, {permute({2, 0, 1})}});
    every_kind(axis, {x, {flip({0, 2})}});
    every_kind(axis, {x, {op::Slice{{1, 0, 0}, {4, 6, 20}, {1, 1, 1}}}});
    every_kind(axis, {random_data(DType::f32, {4, 1, 20}), {expand({4, 6, 20})}});
  }
  every_kind(0, {random_data(DType::f32, {1})});
  every_kind(1, {random_data(DType::f32, {3, 0})});
}

TEST_F(Cumulative, LongLinesInParts) {
  for (const DType t : {DType::f32, DType::f16, DType::i32}) {
    every_kind(0, {random_data(t, {9001}, -1.1, 1.1)});
    every_kind(1, {random_data(t, {2, 9000}, -1.1, 1.1)});
    every_kind(0, {random_data(t, {1000, 17}, -1.1, 1.1)});
  }
  const std::vector<op::TensorType> type{{DType::f32, {9000}}};
  EXPECT_EQ(cube().plan(op::Cumulative{CumulativeKind::sum, 0}, type).size(), 2u);
}

}  // namespace
}  // namespace strata::cube::test
