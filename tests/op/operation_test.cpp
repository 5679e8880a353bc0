#include "op/operation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace strata::op {
namespace {

TensorType f32(Shape s) { return {DType::f32, s}; }

Shape shape_of(const Operation& op, std::vector<TensorType> inputs) { return infer(op, inputs)[0].shape; }

template <class E>
std::string error_of(const Operation& op, std::vector<TensorType> inputs) {
  try {
    infer(op, inputs, "flex");
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

TEST(Infer, BroadcastsZeroExtentsLikeAnyOther) {
  const Operation add = Binary{BinaryKind::add};
  EXPECT_EQ(shape_of(add, {f32({2, 0}), f32({2, 1})}), (Shape{2, 0}));
  EXPECT_EQ(shape_of(add, {f32({0, 3}), f32({1, 3})}), (Shape{0, 3}));
  EXPECT_EQ(shape_of(add, {f32({1, 0}), f32({2, 0})}), (Shape{2, 0}));
  EXPECT_EQ(shape_of(Compare{CompareKind::greater}, {f32({2, 0}), f32({2, 1})}), (Shape{2, 0}));
  EXPECT_EQ(shape_of(Where{}, {{DType::boolean, {2, 1}}, f32({2, 0}), f32({2, 1})}), (Shape{2, 0}));
  EXPECT_EQ(shape_of(add, {f32({3}), f32({})}), (Shape{3}));
  EXPECT_NE(error_of<ShapeError>(add, {f32({2, 3}), f32({4})}).find("[add]"), std::string::npos);
}

TEST(Infer, MatmulShapes) {
  EXPECT_EQ(shape_of(Matmul{}, {f32({2, 3}), f32({3, 4})}), (Shape{2, 4}));
  EXPECT_EQ(shape_of(Matmul{}, {f32({5, 1, 2, 3}), f32({7, 3, 4})}), (Shape{5, 7, 2, 4}));
  EXPECT_EQ(shape_of(Matmul{}, {f32({3, 0, 0}), f32({0, 0})}), (Shape{3, 0, 0}));
  const auto what = error_of<ShapeError>(Matmul{}, {f32({2, 3}), f32({4, 5})});
  EXPECT_EQ(what,
            "[matmul] lhs [2, 3] and rhs [4, 5]: inner dimensions 3 and 4 differ; is a transpose missing? "
            "(inputs: f32[2, 3], f32[4, 5]; device: flex)");
  EXPECT_NE(error_of<DTypeError>(Matmul{}, {f32({2, 2}), {DType::f64, {2, 2}}}), "no error");
  EXPECT_NE(error_of<ShapeError>(Matmul{}, {f32({2}), f32({2, 2})}), "no error");
}

TEST(Infer, ReductionsOverEmptyAxes) {
  const auto reduce = [](ReduceKind k, Axes axes) { return Operation(Reduce{k, axes, false}); };
  EXPECT_EQ(shape_of(reduce(ReduceKind::sum, {1}), {f32({3, 0})}), (Shape{3}));
  EXPECT_EQ(shape_of(Reduce{ReduceKind::sum, {1}, true}, {f32({0, 3})}), (Shape{0, 1}));
  EXPECT_EQ(shape_of(reduce(ReduceKind::mean, {1}), {f32({3, 0})}), (Shape{3}));
  EXPECT_NE(error_of<ShapeError>(reduce(ReduceKind::max, {1}), {f32({3, 0})}), "no error");
  EXPECT_NE(error_of<ShapeError>(reduce(ReduceKind::max, {1}), {f32({0, 0})}), "no error");
  EXPECT_NE(error_of<ShapeError>(reduce(ReduceKind::mean, {0}), {{DType::i64, {0}}}), "no error");
  EXPECT_NE(error_of<ShapeError>(reduce(ReduceKind::sum, {1}), {f32({3})}), "no error");
  EXPECT_NE(error_of<ShapeError>(reduce(ReduceKind::sum, {1, 0}), {f32({3, 3})}), "no error");
}

TEST(Infer, EveryPoolingWindowHoldsAnElement) {
  const auto pool = [](Dims window, Dims padding, Dims dilation) {
    return Operation(Pool{PoolKind::max, window, {1}, padding, dilation, false, true});
  };
  EXPECT_EQ(shape_of(pool({2}, {1}, {1}), {f32({1, 1, 1})}), (Shape{1, 1, 2}));
  EXPECT_NE(error_of<ShapeError>(pool({2}, {1}, {1}), {f32({1, 1, 0})}), "no error");
  EXPECT_NE(error_of<ShapeError>(pool({2}, {1}, {2}), {f32({1, 1, 1})}), "no error");
  EXPECT_NE(error_of<ArgumentError>(pool({2}, {2}, {1}), {f32({1, 1, 4})}), "no error");
}

TEST(Infer, SizesBeyond63BitsAreNamed) {
  const std::int64_t big = std::int64_t{1} << 31;
  EXPECT_EQ(shape_of(Fill{{big, 2}, DType::u8, 0}, {}).product(), std::int64_t{1} << 32);
  const auto what = error_of<ShapeError>(Fill{{big, big, 4}, DType::f32, 0}, {});
  EXPECT_NE(what.find("2147483648"), std::string::npos) << what;
  EXPECT_EQ(shape_of(Fill{{big, big, big, 0}, DType::f32, 0}, {}).product(), 0);
  EXPECT_TRUE(is_contiguous({{0, big, big, big}, contiguous_strides({0, big, big, big}), 0}));
  EXPECT_NE(error_of<ShapeError>(Cat{0}, {{DType::u8, {INT64_MAX}}, {DType::u8, {INT64_MAX}}}), "no error");
  EXPECT_NE(error_of<ShapeError>(Fill{{-1}, DType::f32, 0}, {}), "no error");
}

TEST(Infer, KindsRefuseDTypesTheyHaveNoMeaningFor) {
  const TensorType b{DType::boolean, {2}}, i{DType::i32, {2}}, u{DType::u8, {2}};
  EXPECT_NE(error_of<DTypeError>(Unary{UnaryKind::exp}, {i}), "no error");
  EXPECT_NE(error_of<DTypeError>(Unary{UnaryKind::neg}, {u}), "no error");
  EXPECT_NE(error_of<DTypeError>(Unary{UnaryKind::logical_not}, {i}), "no error");
  EXPECT_NE(error_of<DTypeError>(Binary{BinaryKind::add}, {b, b}), "no error");
  EXPECT_NE(error_of<DTypeError>(Binary{BinaryKind::bit_and}, {f32({2}), f32({2})}), "no error");
  EXPECT_NE(error_of<DTypeError>(Unary{UnaryKind::lgamma}, {i}), "no error");
  EXPECT_NE(error_of<DTypeError>(Binary{BinaryKind::atan2}, {i, i}), "no error");
  EXPECT_NE(error_of<DTypeError>(Binary{BinaryKind::hypot}, {u, u}), "no error");
  EXPECT_NE(error_of<DTypeError>(Binary{BinaryKind::fmod}, {b, b}), "no error");
  EXPECT_EQ(shape_of(Binary{BinaryKind::fmod}, {i, i}), (Shape{2}));
  EXPECT_NE(error_of<DTypeError>(Where{}, {f32({2}), f32({2}), f32({2})}), "no error");
  EXPECT_NE(error_of<DTypeError>(Random{{2}, DType::i64, Distribution::normal, 0, 1, 0}, {}), "no error");
  EXPECT_NE(error_of<ArgumentError>(Random{{2}, DType::f32, Distribution::uniform, 1, 0, 0}, {}), "no error");
  EXPECT_NE(error_of<ArgumentError>(Binary{BinaryKind::add}, {f32({2})}), "no error");
}

TEST(Infer, LayoutAttributesAreChecked) {
  EXPECT_NE(error_of<ShapeError>(Reshape{{4, 2}}, {f32({2, 3})}), "no error");
  EXPECT_NE(error_of<ShapeError>(Permute{{0, 0}}, {f32({2, 3})}), "no error");
  EXPECT_NE(error_of<ShapeError>(Expand{{2, 3}}, {f32({2})}), "no error");
  EXPECT_NE(error_of<ShapeError>(Slice{{0}, {4}, {1}}, {f32({3})}), "no error");
  EXPECT_NE(error_of<ArgumentError>(Slice{{0}, {3}, {0}}, {f32({3})}), "no error");
  EXPECT_NE(error_of<ShapeError>(Flip{{1}}, {f32({3})}), "no error");
  EXPECT_NE(error_of<ShapeError>(Cat{0}, {f32({2, 3}), f32({2, 4})}), "no error");
  EXPECT_EQ(shape_of(Cat{1}, {f32({2, 3}), f32({2, 4})}), (Shape{2, 7}));
  EXPECT_EQ(shape_of(Slice{{1}, {8}, {3}}, {f32({9})}), (Shape{3}));
}

TEST(Hash, SeesEveryField) {
  const std::vector<Operation> ops{Fill{{2}, DType::f32, 1.0},
                                   Fill{{2}, DType::f32, 2.0},
                                   Fill{{2}, DType::f32, 1},
                                   Fill{{2}, DType::f64, 1.0},
                                   Fill{{3}, DType::f32, 1.0},
                                   Fill{{2, 1}, DType::f32, 1.0},
                                   Iota{5, DType::i64, 0, 1},
                                   Iota{5, DType::i64, 1, 1},
                                   Iota{5, DType::i64, 0, 2},
                                   Random{{2}, DType::f32, Distribution::uniform, 0, 1, 1},
                                   Random{{2}, DType::f32, Distribution::uniform, 0, 1, 2},
                                   Random{{2}, DType::f32, Distribution::uniform, 0, 2, 1},
                                   Random{{2}, DType::f32, Distribution::normal, 0, 1, 1},
                                   Unary{UnaryKind::exp},
                                   Unary{UnaryKind::log},
                                   Binary{BinaryKind::add},
                                   Binary{BinaryKind::sub},
                                   Compare{CompareKind::less},
                                   Compare{CompareKind::less_equal},
                                   Where{},
                                   Cast{DType::f32},
                                   Cast{DType::f16},
                                   Matmul{},
                                   Matmul{Precision::tf32},
                                   Matmul{Precision::split},
                                   Reduce{ReduceKind::sum, {0}, false},
                                   Reduce{ReduceKind::sum, {0}, true},
                                   Reduce{ReduceKind::sum, {1}, false},
                                   Reduce{ReduceKind::prod, {0}, false},
                                   Reshape{{2, 3}},
                                   Reshape{{3, 2}},
                                   Permute{{0, 1}},
                                   Permute{{1, 0}},
                                   Expand{{2, 3}},
                                   Slice{{0}, {2}, {1}},
                                   Slice{{0}, {2}, {2}},
                                   Slice{{1}, {2}, {1}},
                                   Flip{{0}},
                                   Flip{{1}},
                                   Cat{0},
                                   Cat{1}};
  std::set<std::uint64_t> hashes;
  for (const auto& a : ops) hashes.insert(hash_of(a));
  EXPECT_EQ(hashes.size(), ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (std::size_t j = 0; j < ops.size(); ++j) EXPECT_EQ(ops[i] == ops[j], i == j);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ((Fill{{2}, DType::f32, nan}), (Fill{{2}, DType::f32, nan}));
}

TEST(Print, NamesFamilyAndAttributes) {
  EXPECT_EQ(to_string(Slice{{0, 1}, {2, 3}, {1, 1}}), "slice(start=[0, 1], stop=[2, 3], step=[1, 1])");
  EXPECT_EQ(to_string(Reduce{ReduceKind::sum, {1}, true}), "reduce_sum(axes=[1], keep_dims)");
  EXPECT_EQ(to_string(Matmul{}), "matmul");
  EXPECT_EQ(to_string(Matmul{Precision::tf32}), "matmul(tf32)");
  EXPECT_EQ(to_string(Matmul{Precision::split}), "matmul(split)");
}

/// Element `index` (row-major) of a view over 0, 1, 2 ...
std::vector<std::int64_t> elements(const View& v) {
  std::vector<std::int64_t> out;
  Dims i = Dims::filled(v.shape.rank(), 0);
  for (std::int64_t n = 0; n < v.shape.product(); ++n) {
    std::int64_t at = v.offset;
    for (int a = 0; a < v.shape.rank(); ++a) at += i[a] * v.strides[a];
    out.push_back(at);
    for (int a = v.shape.rank() - 1; a >= 0 && ++i[a] == v.shape[a]; --a) i[a] = 0;
  }
  return out;
}
View dense(Shape s) { return {s, contiguous_strides(s), 0}; }
using Ints = std::vector<std::int64_t>;

TEST(View, LayoutOpsMoveNoElements) {
  const auto x = dense({2, 3});
  EXPECT_EQ(elements(permuted(x, {{1, 0}})), (Ints{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(elements(flipped(x, {{0, 1}})), (Ints{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(elements(sliced(x, {{0, 0}, {2, 3}, {1, 2}})), (Ints{0, 2, 3, 5}));
  EXPECT_EQ(elements(expanded(dense({2, 1}), {{2, 2, 3}})), (Ints{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(sliced(x, {{2, 3}, {2, 3}, {1, 1}}).offset, 0);  // an empty range never points past the end
}

TEST(View, ReshapesWithoutACopyWhereAxesMerge) {
  View out;
  ASSERT_TRUE(reshaped(dense({4, 6}), {2, 2, 3, 2}, out));
  EXPECT_EQ(elements(out), elements(dense({24})));
  EXPECT_FALSE(reshaped(permuted(dense({2, 3}), {{1, 0}}), {6}, out));
  const auto rows = sliced(dense({4, 6}), {{0, 0}, {4, 4}, {1, 1}});  // row stride 6
  ASSERT_TRUE(reshaped(rows, {2, 2, 2, 2}, out));
  EXPECT_EQ(elements(out), elements(rows));
  EXPECT_FALSE(reshaped(rows, {16}, out));
  ASSERT_TRUE(reshaped(expanded(dense({1, 3}), {{4, 3}}), {2, 2, 3}, out));
  EXPECT_EQ(elements(out), elements(expanded(dense({1, 3}), {{4, 3}})));
  EXPECT_FALSE(reshaped(expanded(dense({1, 3}), {{4, 3}}), {12}, out));
  ASSERT_TRUE(reshaped(flipped(dense({6}), {{0}}), {2, 3}, out));
  EXPECT_EQ(elements(out), (Ints{5, 4, 3, 2, 1, 0}));
  ASSERT_TRUE(reshaped(dense({0, 3}), {3, 0, 2}, out));
}

TEST(View, ContiguityIgnoresExtentsOfOne) {
  EXPECT_TRUE(is_contiguous({{1, 3}, {99, 1}, 0}));
  EXPECT_FALSE(is_contiguous({{2, 3}, {1, 2}, 0}));
  EXPECT_FALSE(is_contiguous(flipped(dense({3}), {{0}})));
  EXPECT_TRUE(is_contiguous({{0, 3}, {7, 7}, 0}));
}

}  // namespace
}  // namespace strata::op
