// Composed functions of the public API. Values: by hand, or from NumPy 2 and SciPy 1.17.
#include <cmath>
#include <limits>

#include "tensor/function_fixture.hpp"

namespace strata {
namespace {

using namespace test;

class FunctionTest : public test::FunctionFixture {};
STRATA_ON_EVERY_DEVICE(FunctionTest);

TEST_P(FunctionTest, SortsAndSelectsInOrder) {
  const auto x = Tensor<2>::from({{3, 1, 2}, {0, 5, 4}}, device());
  EXPECT_EQ(x.sort().to_vector<float>(), (Floats{1, 2, 3, 0, 4, 5}));
  EXPECT_EQ(x.sort(0, true).to_vector<float>(), (Floats{3, 5, 4, 0, 1, 2}));
  const auto [values, indices] = x.topk(2);
  EXPECT_EQ(values.to_vector<float>(), (Floats{3, 2, 5, 4}));
  EXPECT_EQ(indices.to_vector<std::int64_t>(), (Ints{0, 2, 1, 2}));
  EXPECT_EQ(x.topk(1, 1, false).values.to_vector<float>(), (Floats{1, 0}));
  EXPECT_EQ(x.argmax().item(), 4);
  EXPECT_EQ(x.max_with_indices(0).values.to_vector<float>(), (Floats{3, 5, 4}));
  EXPECT_EQ(x.max_with_indices(-2).indices.to_vector<std::int64_t>(), (Ints{0, 1, 1}));
  EXPECT_EQ(x.kthvalue(2).to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(vector({4, 1, 3, 2}).median().item(), 2);
  EXPECT_THROW(x.topk(4), ShapeError);
}

TEST_P(FunctionTest, QuantilesAreLinearBetweenNeighbours) {
  const auto x = vector({3, 1, 2, 10});
  const std::pair<double, float> cases[] = {{0, 1}, {0.25, 1.75f}, {0.5, 2.5f}, {0.9, 7.9f}, {1, 10}};
  for (const auto& [q, wanted] : cases) EXPECT_NEAR(x.quantile(q).item(), wanted, 1e-5);
  EXPECT_TRUE(std::isnan(vector({1, nan_value, 2}).quantile(0.1).item()));
  EXPECT_THROW(x.quantile(1.5), ArgumentError);
}

TEST_P(FunctionTest, Statistics) {
  const auto x = Tensor<2>::from({{1, 2, 4}, {-1, 0, 1}}, device());
  expect_near(x.var(1), {7.0f / 3, 1});
  expect_near(x.var(1, 0), {1.5555556f, 2.0f / 3});
  expect_near(x.std(1), {std::sqrt(7.0f / 3), 1});
  expect_near(x.norm(2, 1), {std::sqrt(21.0f), std::sqrt(2.0f)});
  expect_near(x.norm(1, 1), {7, 2});
  expect_near(x.norm(0, 1), {3, 2});
  expect_near(x.norm(3, 1), {std::cbrt(73.0f), std::cbrt(2.0f)});
  expect_near(x.norm(std::numeric_limits<double>::infinity(), 1), {4, 1});
  expect_near(vector({1000, 1000}).unsqueeze(0).logsumexp(1), {1000.6931f});
  expect_near(vector({-inf, -inf}).unsqueeze(0).logsumexp(1), {-inf});
  expect_near(vector({1, inf}).unsqueeze(0).logsumexp(1), {inf});
  const auto holes = vector({1, nan_value, 3}).unsqueeze(0);
  expect_near(holes.nansum(1), {4});
  expect_near(holes.nanmean(1), {2});
  expect_near(vector({nan_value, inf, -inf, 2}).nan_to_num(7, 8, 9), {7, 8, 9, 2});
  EXPECT_EQ(vector({nan_value, inf, -inf, 2}).is_finite().to_vector<bool>(), (std::vector<bool>{0, 0, 0, 1}));
  EXPECT_EQ(vector({nan_value, inf, -inf, 2}).is_inf().to_vector<bool>(), (std::vector<bool>{0, 1, 1, 0}));
  EXPECT_TRUE(vector({1, inf}).all_close(vector({1.000001f, inf})));
  EXPECT_FALSE(vector({1, inf}).all_close(vector({1, 1e30f})));
  EXPECT_FALSE(vector({1, -inf}).all_close(vector({1, inf})));
  EXPECT_FALSE(vector({nan_value}).all_close(vector({nan_value})));
  EXPECT_TRUE(vector({nan_value}).all_close(vector({nan_value}), 0, 0, true));
}

TEST_P(FunctionTest, PadsLikeNumPy) {
  const auto x = vector({1, 2, 3, 4});
  const auto padded = [&](PadMode mode) { return x.pad({{2, 3}}, mode).to_vector<float>(); };
  EXPECT_EQ(padded(PadMode::reflect), (Floats{3, 2, 1, 2, 3, 4, 3, 2, 1}));
  EXPECT_EQ(padded(PadMode::symmetric), (Floats{2, 1, 1, 2, 3, 4, 4, 3, 2}));
  EXPECT_EQ(padded(PadMode::edge), (Floats{1, 1, 1, 2, 3, 4, 4, 4, 4}));
  EXPECT_EQ(padded(PadMode::wrap), (Floats{3, 4, 1, 2, 3, 4, 1, 2, 3}));
  EXPECT_EQ(x.pad({{1, 2}}, 9).to_vector<float>(), (Floats{9, 1, 2, 3, 4, 9, 9}));
  EXPECT_THROW(x.pad({{4, 0}}, PadMode::reflect), ShapeError);
  EXPECT_THROW(x.pad({{-1, 0}}), ShapeError);
}

// Case 7: repeating 0 times.
TEST_P(FunctionTest, MovesElements) {
  const auto x = ramp(2, 3);
  EXPECT_EQ((x.repeat({1, 2}).to_vector<float>()), (Floats{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ((Tensor<3>::ones({2, 3, 4}, device()).repeat({1, 0, 2}).shape()), (Shape{2, 0, 8}));
  EXPECT_EQ(x.roll(1, 1).to_vector<float>(), (Floats{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(x.roll(-1, 0).to_vector<float>(), (Floats{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(ramp(3, 3).tril().to_vector<float>(), (Floats{0, 0, 0, 3, 4, 0, 6, 7, 8}));
  EXPECT_EQ(ramp(3, 3).triu(1).to_vector<float>(), (Floats{0, 1, 2, 0, 0, 5, 0, 0, 0}));
  EXPECT_EQ(ramp(3, 4).diagonal().to_vector<float>(), (Floats{0, 5, 10}));
  EXPECT_EQ(ramp(3, 4).diagonal(2).to_vector<float>(), (Floats{2, 7}));
  EXPECT_EQ(ramp(3, 4).diagonal(-1).to_vector<float>(), (Floats{4, 9}));
  EXPECT_EQ(ramp(3, 4).diagonal(7).to_vector<float>(), Floats{});
  EXPECT_EQ(ramp(3, 3).trace().item(), 12);
  const auto cube = Tensor<1>::arange(0, 24, 1, device()).reshape<3>({2, 3, 4});
  EXPECT_EQ(cube.movedim(0, 2).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(cube.movedim(2, 0).at(0, 1).to_vector<float>(), (Floats{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ((cube.flatten<2>(1, 2).shape()), (Shape{2, 12}));
  EXPECT_EQ(vector({1, 2, 3, 4, 5}).unfold(0, 3, 2).to_vector<float>(), (Floats{1, 2, 3, 3, 4, 5}));
  const auto parts = vector({1, 2, 3, 4, 5}).split(2, 0);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].to_vector<float>(), (Floats{5}));
  EXPECT_EQ(x.slice_fill({{}, {.start = -2}}, 9).to_vector<float>(), (Floats{0, 9, 9, 3, 9, 9}));
  EXPECT_EQ(x.slice_assign({{0, 1}, {.step = -1}}, Tensor<2>::from({{7, 8, 9}}, device())).to_vector<float>(),
            (Floats{9, 8, 7, 3, 4, 5}));
}

// Case 17: a view of overlapping windows, reshaped.
TEST_P(FunctionTest, OverlappingWindowsReshape) {
  const auto windows = Tensor<1>::arange(1, 13, 1, device()).unfold(0, 4, 1).reshape<2>({9, 4});
  const auto values = windows.to_vector<float>();
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(values[i * 4 + k], static_cast<float>(1 + i + k));
  }
}

TEST_P(FunctionTest, MakesTensors) {
  EXPECT_EQ(Tensor<2>::eye(2, 3, device()).to_vector<float>(), (Floats{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(Tensor<1>::linspace(0, 1, 5, device()).to_vector<float>(), (Floats{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(Tensor<1>::linspace(3, 9, 1, device()).to_vector<float>(), (Floats{3}));
  expect_near(Tensor<1>::logspace(0, 2, 3, 10, device()), {1, 10, 100});
  auto numbers = Tensor<1, Int>::randperm(50, device()).to_vector<std::int64_t>();
  EXPECT_FALSE(std::ranges::is_sorted(numbers));
  std::ranges::sort(numbers);
  for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
}

TEST_P(FunctionTest, MasksAndIndices) {
  const auto x = Tensor<2>::from({{3, 1, 2}, {0, 5, 4}}, device());
  EXPECT_EQ(x.mask_select(x.greater(2)).to_vector<float>(), (Floats{3, 5, 4}));
  EXPECT_EQ(x.mask_select(x.greater(9)).shape(), (Shape{0}));
  EXPECT_EQ(x.greater(2).argwhere().to_vector<std::int64_t>(), (Ints{0, 0, 1, 1, 1, 2}));
  const auto index = Tensor<1, Int>::from({2, 0}, device());
  EXPECT_EQ(index.one_hot(3).to_vector<std::int64_t>(), (Ints{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(embedding(x.t().reshape<2>({3, 2}), index).to_vector<float>(), (Floats{2, 4, 3, 0}));
  EXPECT_EQ(x.select_assign(1, index, Tensor<2>::from({{1, 2}, {3, 4}}, device()), ScatterMode::add)
                .to_vector<float>(),
            (Floats{5, 1, 3, 4, 5, 7}));
  EXPECT_THROW(x.at(1, 3), IndexError);
  EXPECT_THROW(static_cast<void>(x.select(1, Tensor<1, Int>::from({3}, device())).to_vector<float>()),
               IndexError);
  EXPECT_THROW(static_cast<void>(x.select(1, Tensor<1, Int>::from({-1}, device())).to_vector<float>()),
               IndexError);
}

TEST_P(FunctionTest, OneHotFillsWithAnyNumbersAlongAnyAxis) {
  const auto index = Tensor<2, Int>::from({{2, 0}, {1, -1}}, device());  // -1: no class
  const auto last = index.one_hot_fill(3, 7, -2);
  EXPECT_EQ(last.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(last.dtype(), DType::i64);
  EXPECT_EQ(ints(last), (Ints{-2, -2, 7, 7, -2, -2, -2, 7, -2, -2, -2, -2}));
  const Tensor<3> smooth = index.one_hot_fill<Float>(3, 0.75, 0.125, 1);
  EXPECT_EQ(smooth.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(floats(smooth), (Floats{0.125f, 0.75f, 0.125f, 0.125f, 0.75f, 0.125f, 0.125f, 0.125f, 0.75f,
                                    0.125f, 0.125f, 0.125f}));
  EXPECT_EQ(floats(index.one_hot_fill<Float>(3, 0.75, 0.125, -2)), floats(smooth));
  EXPECT_EQ(bools(index.one_hot_fill<Bool>(2, false, true, 0)), (Bools{1, 0, 1, 1, 1, 1, 0, 1}));
  EXPECT_EQ(index.to_int(DType::i32).one_hot_fill(2, 1, 0).dtype(), DType::i32);
  EXPECT_EQ((ints(Tensor<0, Int>::full({}, 1, device()).one_hot_fill(3, 4, 5))), (Ints{5, 4, 5}));
  EXPECT_EQ((Tensor<1, Int>::zeros({0}, device()).one_hot_fill(3, 1, 0).shape()), (Shape{0, 3}));
  EXPECT_THROW(index.one_hot_fill(0, 1, 0), ArgumentError);
  EXPECT_THROW(index.one_hot_fill(3, 1, 0, 3), ShapeError);
}

// A u8 has fewer values than these have classes: no class may stand for two.
TEST_P(FunctionTest, OneHotOfManyClasses) {
  const auto index = integers({3}).to_int(DType::u8);
  EXPECT_EQ(index.one_hot(300).to_int().sum().item(), 1);
}

TEST_P(FunctionTest, EinsumNamesAxes) {
  const auto a = ramp(2, 3), b = ramp(3, 4) / 10;
  expect_near(einsum<2>("ij,jk->ik", a, b), {2, 2.3f, 2.6f, 2.9f, 5.6f, 6.8f, 8, 9.2f});
  expect_near(einsum<2>("ij , jk", a, b), {2, 2.3f, 2.6f, 2.9f, 5.6f, 6.8f, 8, 9.2f});
  expect_near(einsum<1>("ii->i", ramp(3, 3)), {0, 4, 8});
  expect_near(einsum<0>("ij->", a), {15});
  expect_near(einsum<2>("ij->ji", a), {0, 3, 1, 4, 2, 5});
  expect_near(einsum<1>("ij,ij,j->i", a, a, vector({1, 2, 3})), {14, 116});
  expect_near(einsum<2>("i,j->ij", vector({1, 2}), vector({3, 4})), {3, 4, 6, 8});
  const auto four = Tensor<1>::arange(0, 16, 1, device()).reshape<4>({2, 2, 2, 2});
  expect_near(einsum<0>("ijij->", four), {30});
  const auto batches = Tensor<1>::arange(0, 8, 1, device()).reshape<3>({2, 2, 2});
  expect_near(einsum<3>("bij,bjk->bik", batches, Tensor<3>::ones({2, 2, 2}, device())),
              {1, 1, 5, 5, 9, 9, 13, 13});
  EXPECT_THROW((einsum<2>("ij,jk->ik", a, a)), ShapeError);
  EXPECT_THROW((einsum<2>("ij,jk->iz", a, b)), ArgumentError);
  EXPECT_THROW((einsum<2>("ij->ij", a, b)), ArgumentError);
}

TEST_P(FunctionTest, ProductsAndDistances) {
  const auto a = vector({1, 2, 3}), b = vector({4, 5, 6});
  EXPECT_EQ(dot(a, b).item(), 32);
  EXPECT_EQ(outer(a, vector({1, 2})).to_vector<float>(), (Floats{1, 2, 2, 4, 3, 6}));
  EXPECT_EQ(matvec(ramp(2, 3), a).to_vector<float>(), (Floats{8, 26}));
  EXPECT_EQ(kron(Tensor<2>::from({{1, 2}, {3, 4}}, device()), Tensor<2>::from({{0, 5}, {6, 7}}, device()))
                .to_vector<float>(),
            (Floats{0, 5, 0, 10, 6, 7, 12, 14, 0, 15, 0, 20, 18, 21, 24, 28}));
  expect_near(cdist(Tensor<2>::from({{0, 0}, {3, 4}}, device()), Tensor<2>::from({{3, 4}}, device())),
              {5, 0});
  expect_near(cosine_similarity(a, b), {0.974632f});
  EXPECT_EQ(addmm(Tensor<1>::ones({2}, device()), ramp(2, 2), ramp(2, 2), 10, 2).to_vector<float>(),
            (Floats{14, 16, 22, 32}));
  EXPECT_EQ(lerp(a, b, 0.5).to_vector<float>(), (Floats{2.5f, 3.5f, 4.5f}));
  EXPECT_EQ(linear(ramp(2, 3), Tensor<2>::from({{1, 0, 1}}, device()), vector({5})).to_vector<float>(),
            (Floats{7, 13}));
}

TEST_P(FunctionTest, DecomposesAndSolves) {
  const auto a = Tensor<3>::random({2, 4, 3}, -1, 1, device());
  const auto identity = Tensor<2>::eye(3, device());
  const auto [q, r] = linalg::qr(a);
  EXPECT_TRUE(q.matmul(r).all_close(a, 1e-4, 1e-5));
  EXPECT_TRUE(q.transpose().matmul(q).all_close(identity.expand<3>({2, 3, 3}), 1e-4, 1e-5));
  EXPECT_TRUE(r.tril(-1).all_close(Tensor<3>::zeros_like(r), 0, 0));
  const auto [u, s, vt] = linalg::svd(a.transpose());
  EXPECT_TRUE((u * s.unsqueeze(1)).matmul(vt).all_close(a.transpose(), 1e-4, 1e-5));
  EXPECT_EQ(s.sort(1, true).to_vector<float>(), s.to_vector<float>());
  const auto definite = a.transpose().matmul(a) + identity * 0.1;
  const auto l = linalg::cholesky(definite);
  EXPECT_TRUE(l.matmul(l.transpose()).all_close(definite, 1e-4, 1e-5));
  EXPECT_TRUE(l.triu(1).all_close(Tensor<3>::zeros_like(l), 0, 0));
  const auto [values, vectors] = linalg::eigh(definite);
  EXPECT_TRUE(definite.matmul(vectors).all_close(vectors * values.unsqueeze(1), 1e-4, 1e-5));
  EXPECT_TRUE(linalg::det(definite).all_close(values.prod(1), 1e-4, 1e-6));
  const auto x = linalg::solve(definite, a.transpose());
  EXPECT_TRUE(definite.matmul(x).all_close(a.transpose(), 1e-3, 1e-4));
  EXPECT_TRUE(
      linalg::inverse(definite).matmul(definite).all_close(identity.expand<3>({2, 3, 3}), 1e-3, 1e-4));
  EXPECT_NEAR(linalg::det(Tensor<2>::from({{0, 2}, {3, 4}}, device())).item(), -6, 1e-5);
  EXPECT_EQ(linalg::det(Tensor<2>::from({{1, 2}, {2, 4}}, device())).item(), 0);
  EXPECT_EQ(linalg::det(Tensor<3>::zeros({2, 0, 0}, device())).to_vector<float>(), (Floats{1, 1}));
}

TEST_P(FunctionTest, MatricesWithoutTheNeededPropertyAreErrors) {
  const auto singular = Tensor<2>::from({{1, 2}, {2, 4}}, device());
  const auto read = [](const auto& t) { static_cast<void>(t.into_data()); };
  EXPECT_THROW(read(linalg::inverse(singular)), MatrixError);
  EXPECT_THROW(read(linalg::solve(singular, singular)), MatrixError);
  EXPECT_THROW(read(linalg::cholesky(Tensor<2>::from({{1, 2}, {2, 1}}, device()))), MatrixError);
  EXPECT_THROW(linalg::inverse(Tensor<2>::ones({2, 3}, device())), ShapeError);
  EXPECT_THROW(linalg::solve(singular, Tensor<2>::ones({3, 1}, device())), ShapeError);
  try {
    read(linalg::cholesky(Tensor<2>::from({{1, 2}, {2, 1}}, device())));
  } catch (const MatrixError& e) {
    EXPECT_NE(std::string(e.what()).find("[cholesky] matrix 0 of f32[2, 2] is not positive definite"),
              std::string::npos)
        << e.what();
  }
  // Every result of a failed decomposition throws; other tensors stay readable.
  const auto holes = Tensor<2>::full({2, 2}, nan_value, device());
  EXPECT_THROW(read(linalg::svd(holes).u), MatrixError);
  EXPECT_THROW(read(linalg::svd(holes).vt), MatrixError);
  EXPECT_EQ(singular.sum().item(), 9);
}

TEST_P(FunctionTest, ConvolvesAndPools) {
  const auto image = Tensor<1>::arange(0, 16, 1, device()).reshape<4>({1, 1, 4, 4});
  const auto ones = Tensor<4>::ones({1, 1, 3, 3}, device());
  EXPECT_EQ(conv2d(image, ones).to_vector<float>(), (Floats{45, 54, 81, 90}));
  EXPECT_EQ(conv2d(image, ones, {.stride = 2, .padding = 1}).to_vector<float>(), (Floats{10, 24, 51, 90}));
  EXPECT_EQ(conv_transpose2d(Tensor<4>::ones({1, 1, 2, 2}, device()), ones, {.stride = 2})
                .at(2, 2)
                .to_vector<float>(),
            (Floats{2, 2, 4, 2, 2}));
  EXPECT_EQ(max_pool(image, {.window = 2}).to_vector<float>(), (Floats{5, 7, 13, 15}));
  EXPECT_EQ(max_pool_with_indices(image, {.window = {2, 4}}).indices.to_vector<std::int64_t>(),
            (Ints{7, 15}));
  EXPECT_EQ(avg_pool(image, {.window = 3, .stride = 2, .padding = 1}).to_vector<float>(),
            (Floats{10.0f / 9, 24.0f / 9, 51.0f / 9, 10}));
  EXPECT_EQ(
      avg_pool(image, {.window = 3, .stride = 2, .padding = 1, .count_padding = false}).to_vector<float>(),
      (Floats{2.5f, 4, 8.5f, 10}));
  EXPECT_EQ(adaptive_avg_pool(image, {2, 1}).to_vector<float>(), (Floats{3.5f, 11.5f}));
  expect_near(adaptive_avg_pool(vector({1, 2, 3, 4, 5}).reshape<3>({1, 1, 5}), {3}), {1.5f, 3, 4.5f});
  EXPECT_EQ(adaptive_max_pool(vector({1, 9, 3, 4, 5}).reshape<3>({1, 1, 5}), {3}).to_vector<float>(),
            (Floats{9, 9, 5}));
}

TEST_P(FunctionTest, Interpolates) {
  const auto x = vector({1, 2, 4}).reshape<3>({1, 1, 3});
  expect_near(interpolate(x, 6, Interpolation::nearest), {1, 1, 2, 2, 4, 4});
  expect_near(interpolate(x, 6, Interpolation::linear), {1, 1.25f, 1.75f, 2.5f, 3.5f, 4});
  expect_near(interpolate(x, 5, Interpolation::linear, true), {1, 1.5f, 2, 3, 4});
  expect_near(interpolate(x, 3, Interpolation::cubic), {1, 2, 4});
  // A straight line stays one away from the ends.
  const auto line = Tensor<1>::arange(0, 8, 1, device()).reshape<3>({1, 1, 8});
  const auto fine = interpolate(line, 16, Interpolation::cubic).to_vector<float>();
  for (std::size_t i = 4; i < 12; ++i) EXPECT_NEAR(fine[i], (static_cast<float>(i) + 0.5f) / 2 - 0.5f, 0.05f);
}

TEST_P(FunctionTest, Normalises) {
  const auto x = Tensor<1>::arange(0, 8, 1, device()).reshape<3>({1, 4, 2});
  const auto ones = Tensor<1>::ones({4}, device()), zeros = Tensor<1>::zeros({4}, device());
  const float a = 1.3416408f, b = 0.4472136f;  // of 0, 1, 2, 3 around 1.5
  expect_near(group_norm(x, 2, ones, zeros, 0), {-a, -b, b, a, -a, -b, b, a});
  expect_near(batch_norm(x, ones, ones * 4, ones, ones * 10, 0), {9.5f, 10, 10.5f, 11, 11.5f, 12, 12.5f, 13});
  expect_near(layer_norm(vector({0, 1, 2, 3}).unsqueeze(0), ones * 2, ones, 0),
              {1 - 2 * a, 1 - 2 * b, 1 + 2 * b, 1 + 2 * a});
  expect_near(rms_norm(vector({1, 1, 1, 1}).unsqueeze(0) * 3, ones, 0), {1, 1, 1, 1});
}

TEST_P(FunctionTest, ActivationsWithParameters) {
  const auto x = vector({-2, -0.25f, 0, 0.25f, 2});
  expect_near(leaky_relu(x, 0.1), {-0.2f, -0.025f, 0, 0.25f, 2});
  expect_near(elu(x), {-0.8646647f, -0.2211992f, 0, 0.25f, 2});
  expect_near(celu(x, 2), {-1.2642411f, -0.2350062f, 0, 0.25f, 2});
  expect_near(selu(x), {-1.5201665f, -0.3888899f, 0, 0.2626752f, 2.1014020f});
  expect_near(hard_sigmoid(x * 3), {0, 0.375f, 0.5f, 0.625f, 1});
  expect_near(hard_swish(x), {-1.0f / 3, -0.1145833f, 0, 0.1354167f, 5.0f / 3});
  expect_near(softsign(x), {-2.0f / 3, -0.2f, 0, 0.2f, 2.0f / 3});
  expect_near(hard_shrink(x), {-2, 0, 0, 0, 2});
  expect_near(soft_shrink(x), {-1.5f, 0, 0, 0, 1.5f});
  expect_near(threshold(x, 0.1, 7), {7, 7, 7, 0.25f, 2});
  expect_near(prelu(x, vector({0.5f})), {-1, -0.125f, 0, 0.25f, 2});
  expect_near(glu(vector({1, 2, 0, 0})), {0.5f, 1});
}

TEST_P(FunctionTest, AttentionEqualsItsDefinition) {
  const auto q = Tensor<4>::random({2, 4, 3, 8}, -1, 1, device()),
             k = Tensor<4>::random({2, 2, 5, 8}, -1, 1, device()),
             v = Tensor<4>::random({2, 2, 5, 6}, -1, 1, device());
  // Heads 0 and 1 use group 0, heads 2 and 3 group 1.
  const auto whole = attention(q, k, v, {.causal = true});
  for (int head = 0; head < 4; ++head) {
    const auto qh = q.at(1, head), kh = k.at(1, head / 2), vh = v.at(1, head / 2);
    const auto future = Tensor<2>::ones({3, 5}, device()).triu(3).to_bool();  // row i may see column i + 2
    const auto scores = qh.matmul(kh.transpose()) / std::sqrt(8.0);
    const auto masked = future.where(Tensor<0>::full({}, -inf, device()), scores);
    EXPECT_TRUE(whole.at(1, head).all_close(masked.softmax(2).matmul(vh), 1e-4, 1e-5));
  }
}

// Case 24: a query that may look nowhere gives zeros, and no NaN in the gradients.
TEST_P(FunctionTest, FullyMaskedAttentionRowsAreZero) {
  auto q = Tensor<4>::random({1, 1, 4, 8}, device());
  const bool tracked = device().is_autodiff();
  if (tracked) q = q.require_grad();
  const auto none = Tensor<4, Bool>::full({1, 1, 4, 4}, false, device());
  const auto nowhere = attention(q, q, q, none);
  for (float x : nowhere.to_vector<float>()) EXPECT_EQ(x, 0);
  const auto first_hidden =
      Tensor<4>::ones({1, 1, 4, 4}, device()).slice_fill({{}, {}, {}, {0, 1}}, 0).to_bool();
  const auto out = attention(q, q, q, first_hidden, {.causal = true});
  const auto values = out.to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i < 8) {
      EXPECT_EQ(values[i], 0);
    } else {
      EXPECT_TRUE(std::isfinite(values[i])) << i;
    }
  }
  if (!tracked) return;
  for (const auto& loss : {nowhere.sum(), out.sum()}) {
    for (float g : q.grad(loss.backward()).to_vector<float>()) EXPECT_TRUE(std::isfinite(g));
  }
}

TEST_P(FunctionTest, AttentionAddsABiasToTheScores) {
  const auto q = Tensor<4>::random({1, 2, 3, 4}, -1, 1, device());
  const auto bias = Tensor<4>::random({1, 2, 1, 3}, -1, 1, device());
  const auto weights = (q.matmul(q.transpose()) * 0.5 + bias).softmax(3);
  EXPECT_TRUE(attention(q, q, q, bias).all_close(weights.matmul(q), 1e-4, 1e-5));
  EXPECT_THROW(attention(q, q, q, {.scale = inf}), ArgumentError);
}

// Case 48: what a model gives for N + 1 tokens at once, it gives for the last one by a step with kept keys
// and values.
TEST_P(FunctionTest, AttentionStepsAgreeWithTheWholeSequence) {
  const std::int64_t tokens = 9, width = 8, heads = 2;
  const auto x = Tensor<3>::random({1, tokens, width}, -1, 1, device());
  const auto wq = Tensor<2>::random({width, width}, -1, 1, device()),
             wk = Tensor<2>::random({width, width}, -1, 1, device()),
             wv = Tensor<2>::random({width, width}, -1, 1, device()),
             wo = Tensor<2>::random({width, width}, -1, 1, device());
  const auto split = [&](const Tensor<3>& y) {
    return y.reshape<4>({1, y.dim(1), heads, width / heads}).permute({0, 2, 1, 3});
  };
  const auto layer = [&](const Tensor<3>& queries, const Tensor<4>& k, const Tensor<4>& v) {
    const auto out = attention(split(queries.matmul(wq)), k, v, {.causal = true});
    return (out.permute({0, 2, 1, 3}).reshape<3>({1, queries.dim(1), width}).matmul(wo) + queries).tanh();
  };
  const auto whole = layer(x, split(x.matmul(wk)), split(x.matmul(wv)));
  const auto first = x.narrow(1, 0, tokens - 1), last = x.narrow(1, tokens - 1, 1);
  const auto k = split(first.matmul(wk)), v = split(first.matmul(wv));
  const auto prefill = layer(first, k, v);
  const auto step = layer(last, cat({k, split(last.matmul(wk))}, 2), cat({v, split(last.matmul(wv))}, 2));
  EXPECT_TRUE(whole.narrow(1, 0, tokens - 1).all_close(prefill, 1e-4, 1e-5));
  EXPECT_TRUE(whole.narrow(1, tokens - 1, 1).all_close(step, 1e-4, 1e-5));
}

}  // namespace
}  // namespace strata
