#include "cube/gpu_families.hpp"
#include "strata/error.hpp"

namespace strata::cube::test {
namespace {

using op::ScatterMode;

class Scatter : public GpuFamilies {
 protected:
  static constexpr ScatterMode modes[] = {ScatterMode::assign, ScatterMode::add, ScatterMode::mul,
                                          ScatterMode::max, ScatterMode::min};
  static TensorData indices(DType t, const Shape& shape, std::int64_t extent) {
    return random_data(t, shape, 0, static_cast<double>(extent) - 1, 9);
  }
  void every_mode(int axis, const Operand& x, const Operand& index, const Operand& source,
                  double relative = 0) const {
    for (const auto mode : modes) {
      if (x.data.dtype() == DType::boolean && mode != ScatterMode::assign) continue;
      agrees(op::Scatter{axis, mode}, {x, index, source}, relative);  // without one: in order, bit for bit
    }
  }
};

TEST_F(Scatter, EveryModeDtypeAndAxis) {
  for (const DType t : all_dtypes) {
    for (int axis = 0; axis < 3; ++axis) {
      Shape shape{5, 7, 3};
      shape[axis] = 13;
      const auto of_index = axis == 1 ? DType::i32 : DType::i64;
      every_mode(axis, {random_data(t, {5, 7, 3})}, {indices(of_index, shape, 3)},
                 {random_data(t, shape, -2, 2, 4)});
    }
  }
}

TEST_F(Scatter, NaNWinsMaximaAndMinima) {
  for (const auto mode : {ScatterMode::max, ScatterMode::min}) {
    agrees(
        op::Scatter{0, mode},
        {{tied_data(DType::f32, {40})}, {indices(DType::i64, {90}, 40)}, {tied_data(DType::f32, {90}, 2)}});
  }
}

TEST_F(Scatter, WholeRowsAndEveryLayout) {
  const auto x = random_data(DType::f32, {6, 20}), source = random_data(DType::f32, {50, 20}, -1, 1, 2);
  const Operand shared{indices(DType::i64, {50, 1}, 6), {expand({50, 20})}};
  every_mode(0, {x}, shared, {source});
  every_mode(0, {x, {flip({0})}}, shared, {source, {flip({1})}});
  every_mode(0, {x}, {shared.data, {expand({50, 20}), flip({0})}}, {source});
  every_mode(0, {random_data(DType::f32, {20, 6}), {permute({1, 0})}}, shared,
             {random_data(DType::f32, {20, 50}), {permute({1, 0})}});
  every_mode(0, {x}, {indices(DType::i64, {20, 50}, 6), {permute({1, 0})}}, {source});
  every_mode(1, {random_data(DType::f32, {3, 6, 4})},
             {indices(DType::i64, {1, 9, 1}, 6), {expand({3, 9, 4})}}, {random_data(DType::f32, {3, 9, 4})});
  every_mode(0, {x}, {indices(DType::i64, {50, 20}, 6)},
             {random_data(DType::f32, {1, 20}), {expand({50, 20})}});
  every_mode(0, {x, {op::Slice{{2, 0}, {6, 20}, {1, 1}}}}, {indices(DType::i64, {9, 20}, 4)},
             {source, {op::Slice{{20, 0}, {29, 20}, {1, 1}}}});
  every_mode(0, {x}, {TensorData::from<std::int64_t>({}, {0, 20})}, {TensorData::from<float>({}, {0, 20})});
}

TEST_F(Scatter, ManyEntriesOfFewTargets) {
  for (const DType t : {DType::f32, DType::bf16, DType::i64}) {
    // In chunks floats are added in another order: by one rounding of the accumulator for each entry.
    const double rounding = t == DType::f32 ? 0x1p-13 : t == DType::bf16 ? 0x1p-7 : 0;
    for (const std::int64_t targets : {1, 40}) {
      every_mode(0, {random_data(t, {targets})}, {indices(DType::i64, {3000}, targets)},
                 {random_data(t, {3000}, -1, 1)}, rounding);
      every_mode(1, {random_data(t, {2, targets, 3})}, {indices(DType::i64, {2, 1100, 3}, targets)},
                 {random_data(t, {2, 1100, 3}, -1, 1)}, rounding);
    }
    every_mode(0, {random_data(t, {7, 5})}, {indices(DType::i64, {1500, 1}, 7), {expand({1500, 5})}},
               {random_data(t, {1500, 5}, -1, 1)}, rounding);
  }
}

TEST_F(Scatter, RunsThatEndWithTheirChunks) {
  std::vector<std::int64_t> at(2048);
  for (std::size_t i = 0; i < at.size(); ++i)
    at[i] = static_cast<std::int64_t>(i / 256 * 256 + (i % 512 == 511));
  const Operand x{random_data(DType::i32, {2000})}, y{random_data(DType::u8, {2000})};
  for (const auto& index : {TensorData::from<std::int64_t>(at, {2048}), indices(DType::i64, {2048}, 9)}) {
    agrees(op::Scatter{0, ScatterMode::mul}, {x, {index}, {random_data(DType::i32, {2048}, 1, 4)}});
    agrees(op::Scatter{0, ScatterMode::add}, {y, {index}, {random_data(DType::u8, {2048}, 0, 9)}});
  }
}

TEST_F(Scatter, AnIndexOutOfRangeIsNamed) {
  for (const DType t : {DType::f32, DType::i32}) {
    for (const auto mode : modes) {
      const Operand x{random_data(t, {5})}, source{random_data(t, {4})},
          index{TensorData::from<std::int64_t>({1, 9, -2, 9}, {4})};
      std::string texts[2];
      for (int i = 0; i < 2; ++i) {
        try {
          results(i ? static_cast<backend::Backend&>(cube()) : flex::instance(), op::Scatter{0, mode},
                  {x, index, source});
        } catch (const IndexError& e) {
          texts[i] = std::string(e.what()).substr(0, std::string_view(e.what()).find("device: "));
        }
      }
      EXPECT_NE(texts[0].find("[scatter] index 9 is not in 0..4"), std::string::npos) << texts[0];
      EXPECT_EQ(texts[0], texts[1]);
    }
  }
}

}  // namespace
}  // namespace strata::cube::test
