#include "cube/gpu_families.hpp"
#include "strata/error.hpp"

namespace strata::cube::test {
namespace {

class Gather : public GpuFamilies {
 protected:
  static TensorData indices(DType t, const Shape& shape, std::int64_t extent) {
    return random_data(t, shape, 0, static_cast<double>(extent) - 1, 9);
  }
  static std::string message(const std::function<void()>& run) {
    try {
      run();
    } catch (const IndexError& e) {
      return e.what();
    }
    return "no IndexError";
  }
};

TEST_F(Gather, ElementsOfEveryDtypeAlongEveryAxis) {
  for (const DType t : all_dtypes) {
    for (const DType of_index : {DType::i64, DType::i32}) {
      for (int axis = 0; axis < 3; ++axis) {
        Shape shape{5, 7, 9};
        shape[axis] = 11;
        agrees(op::Gather{axis}, {{tied_data(t, {5, 7, 9})}, {indices(of_index, shape, 5)}});
      }
    }
  }
}

TEST_F(Gather, WholeRows) {
  for (const DType t : all_dtypes) {
    for (const std::int64_t width : {3, 16, 64, 192, 1000}) {
      agrees(op::Gather{0},
             {{tied_data(t, {6, width})}, {indices(DType::i64, {9, 1}, 6), {expand({9, width})}}});
    }
  }
  const auto x = tied_data(DType::f32, {2, 6, 16});
  agrees(op::Gather{1}, {{x}, {indices(DType::i32, {1, 9, 1}, 6), {expand({2, 9, 16})}}});
  agrees(op::Gather{1}, {{x}, {indices(DType::i32, {2, 9, 1}, 6), {expand({2, 9, 16})}}});
}

TEST_F(Gather, EveryLayout) {
  const auto x = tied_data(DType::f32, {8, 6, 4});
  const Operand index{indices(DType::i64, {4, 3, 8}, 6), {permute({2, 1, 0})}};
  agrees(op::Gather{1}, {{x}, index});
  agrees(op::Gather{1}, {{x, {flip({0, 1, 2})}}, index});
  agrees(op::Gather{1}, {{tied_data(DType::f32, {4, 6, 8}), {permute({2, 1, 0})}}, index});
  agrees(op::Gather{1}, {{tied_data(DType::f32, {8, 1, 4}), {expand({8, 6, 4})}}, index});
  const Operand part{indices(DType::i64, {8, 9, 4}, 6), {op::Slice{{0, 1, 0}, {8, 9, 4}, {1, 4, 1}}}};
  agrees(op::Gather{1}, {{x}, part});
  agrees(op::Gather{0}, {{tied_data(DType::f32, {1000})}, {indices(DType::i64, {5000}, 1000)}});
  agrees(op::Gather{0}, {{tied_data(DType::f32, {3})}, {indices(DType::i64, {0}, 3)}});
}

TEST_F(Gather, AnIndexOutOfRangeReachesWhoeverReads) {
  const Operand x{random_data(DType::f32, {5, 4})};
  for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    auto at = std::vector<std::int64_t>(300, 2);
    at[170] = bad;
    at[200] = 77;
    const auto index = TensorData::from<std::int64_t>(at, {75, 4});
    const auto flexes = message([&] { results(flex::instance(), op::Gather{0}, {x, {index}}); });
    EXPECT_NE(flexes.find("[gather] index " + std::to_string(bad) + " is not in 0..4"), std::string::npos);
    const auto on_device = flexes.substr(0, flexes.find("device: "));

    const auto value = x.on(cube()), taken = run(op::Gather{0}, {value, put(index)});
    const auto sum = run(op::Reduce{op::ReduceKind::sum, {0, 1}, false}, {taken});
    const auto on_host =
        run(op::Linalg{op::LinalgKind::cholesky}, {run(op::Slice{{0, 0}, {4, 4}, {1, 1}}, {taken})});
    const auto good = run(op::Gather{0}, {value, run(op::Slice{{0, 0}, {40, 4}, {1, 1}}, {put(index)})});
    for (const auto& v : {sum, taken, on_host}) {
      const auto text = message([&] { get(v); });
      EXPECT_EQ(text.substr(0, text.find("device: ")), on_device);
      EXPECT_NE(text.find("device: cube<interpreted<none>>"), std::string::npos) << text;
    }
    EXPECT_EQ(get(value).to_doubles(), x.data.to_doubles());
    EXPECT_EQ(get(good).shape(), (Shape{40, 4}));
    EXPECT_EQ(message([&] { get(run(op::Unary{op::UnaryKind::neg}, {sum})); }), message([&] { get(sum); }));
  }
}

TEST_F(Gather, TheFirstOfTwoFailuresIsReported) {
  const auto x = put(random_data(DType::f32, {5}));
  const auto first = run(op::Gather{0}, {x, put<std::int64_t>({1, 9}, {2})});
  const auto second = run(op::Gather{0}, {first, put<std::int64_t>({0, 0, 8}, {3})});
  EXPECT_NE(message([&] { get(second); }).find("index 9 "), std::string::npos);
  const auto other = run(op::Gather{0}, {x, put<std::int64_t>({7}, {1})});
  EXPECT_NE(message([&] { get(run(op::Cat{0}, {other, first})); }).find("index 9 "), std::string::npos);
}

TEST_F(Gather, NothingToGatherFrom) {
  const auto x = put(TensorData::from<float>({}, {0, 3}));
  const auto y = run(op::Gather{0}, {x, put<std::int64_t>({0, 1, 2}, {1, 3})});
  EXPECT_NE(message([&] { get(y); }).find("index 0 is not in 0..-1"), std::string::npos);
}

TEST_F(Gather, ARowIsReportedByItsIndex) {
  const auto x = put(random_data(DType::f32, {5, 64}));
  const auto index = run(op::Expand{{3, 64}}, {put<std::int32_t>({1, -7, 5}, {3, 1})});
  EXPECT_NE(message([&] { get(run(op::Gather{0}, {x, index})); }).find("index -7 "), std::string::npos);
}

}  // namespace
}  // namespace strata::cube::test
