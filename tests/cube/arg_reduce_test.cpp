#include "cube/gpu_families.hpp"

namespace strata::cube::test {
namespace {

using op::ExtremumKind;

class ArgReduce : public GpuFamilies {
 protected:
  void both_kinds(int axis, const Operand& x) const {
    agrees(op::ArgReduce{ExtremumKind::max, axis, false}, {x});
    agrees(op::ArgReduce{ExtremumKind::min, axis, true}, {x});
  }
};

TEST_F(ArgReduce, EveryDtypeInRowsAndColumns) {
  for (const DType t : all_dtypes) {
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 64}, Shape{7, 257}, Shape{40, 3}}) {
      for (int axis = 0; axis < 2; ++axis) both_kinds(axis, {tied_data(t, shape)});
    }
  }
}

TEST_F(ArgReduce, EveryLayout) {
  const auto x = tied_data(DType::f32, {4, 6, 20});
  for (int axis = 0; axis < 3; ++axis) {
    both_kinds(axis, {x});
    both_kinds(axis, {x, {permute({2, 0, 1})}});
    both_kinds(axis, {x, {flip({0, 2})}});
    both_kinds(axis, {x, {op::Slice{{1, 0, 3}, {4, 6, 20}, {2, 1, 3}}}});
    both_kinds(axis, {tied_data(DType::f32, {4, 1, 20}), {expand({4, 6, 20})}});
  }
  both_kinds(0, {tied_data(DType::f32, {1})});
  both_kinds(1, {tied_data(DType::f32, {0, 3})});
}

TEST_F(ArgReduce, LongLinesInTwoStages) {
  for (const DType t : {DType::f32, DType::bf16, DType::u8}) {
    for (unsigned seed = 1; seed <= 2; ++seed) {
      both_kinds(0, {tied_data(t, {30000}, seed)});
      both_kinds(1, {tied_data(t, {2, 9001}, seed)});
      both_kinds(0, {tied_data(t, {9000, 3}, seed)});
    }
  }
  EXPECT_EQ(cube()
                .plan(op::ArgReduce{ExtremumKind::max, 0}, std::vector<op::TensorType>{{DType::f32, {30000}}})
                .size(),
            2u);
}

TEST_F(ArgReduce, WhereNothingBeatsTheWorstTheFirstWins) {
  for (const Shape& shape : {Shape{33}, Shape{300}, Shape{301}, Shape{30001}}) {  // whole vectors and a rest
    const auto n = static_cast<std::size_t>(shape[0]);
    both_kinds(0, {TensorData::from<float>(std::vector<float>(n, -INFINITY), shape)});
    both_kinds(0, {TensorData::from<float>(std::vector<float>(n, INFINITY), shape)});
    both_kinds(0, {TensorData::from<float>(std::vector<float>(n, NAN), shape)});
    both_kinds(0, {TensorData::from<std::int64_t>(std::vector<std::int64_t>(n, INT64_MIN), shape)});
    both_kinds(0, {TensorData::from<std::uint8_t>(std::vector<std::uint8_t>(n, 0), shape)});
    both_kinds(0, {TensorData::from<std::uint8_t>(std::vector<std::uint8_t>(n, 255), shape)});
  }
}

}  // namespace
}  // namespace strata::cube::test
