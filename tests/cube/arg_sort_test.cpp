#include "cube/gpu_families.hpp"

namespace strata::cube::test {
namespace {

class ArgSort : public GpuFamilies {
 protected:
  void both_directions(int axis, const Operand& x, std::int64_t count = -1) const {
    agrees(op::ArgSort{axis, false, count}, {x});
    agrees(op::ArgSort{axis, true, count}, {x});
  }
};

TEST_F(ArgSort, EveryDtypeStably) {
  for (const DType t : all_dtypes) {
    for (const std::int64_t n : {1, 2, 3, 33, 200}) both_directions(1, {tied_data(t, {3, n})});
  }
}

TEST_F(ArgSort, ExtremeIntegers) {
  using I = std::int64_t;
  both_directions(0, {TensorData::from<I>({0, INT64_MAX, INT64_MIN, -1, INT64_MAX, INT64_MIN, 1}, {7})});
  both_directions(0,
                  {TensorData::from<std::int32_t>({0, INT32_MAX, INT32_MIN, -1, INT32_MAX, INT32_MIN}, {6})});
}

TEST_F(ArgSort, EveryLayoutAndAxis) {
  const auto x = tied_data(DType::f32, {4, 6, 9});
  for (int axis = 0; axis < 3; ++axis) {
    both_directions(axis, {x});
    both_directions(axis, {x}, 2);
    both_directions(axis, {x}, 0);
    both_directions(axis, {x, {permute({1, 2, 0})}});
    both_directions(axis, {x, {flip({0, 2})}});
    both_directions(axis, {tied_data(DType::f32, {4, 1, 9}), {expand({4, 6, 9})}});
    both_directions(axis, {x, {op::Slice{{2, 0, 0}, {4, 6, 9}, {1, 1, 1}}}});
  }
  both_directions(0, {tied_data(DType::f32, {3, 0})});
}

TEST_F(ArgSort, LongLinesAreMerged) {
  for (const DType t : {DType::f32, DType::i64, DType::bf16}) {
    for (const std::int64_t n : {1025, 2048, 5000}) {
      both_directions(1, {tied_data(t, {2, n})});
      both_directions(1, {tied_data(t, {2, n})}, n - 600);
    }
  }
  const std::vector<op::TensorType> type{{DType::f32, {5000}}};
  EXPECT_EQ(cube().plan(op::ArgSort{0}, type).size(), 4u);
}

}  // namespace
}  // namespace strata::cube::test
