// LU and what follows from it, pseudo-inverses and norms of matrices. Values: by hand, or from NumPy 2.
#include "tensor/function_fixture.hpp"

namespace strata {
namespace {

using namespace test;

class LinalgTest : public FunctionFixture {};
STRATA_ON_EVERY_DEVICE(LinalgTest);

TEST_P(LinalgTest, DecomposesIntoTriangles) {
  for (const Shape& shape : {Shape{2, 4, 4}, Shape{2, 5, 3}, Shape{2, 3, 5}}) {
    const auto a = Tensor<3>::random(shape, -1, 1, device());
    const auto lu = linalg::lu(a);
    EXPECT_TRUE(lu.p().matmul(lu.l).matmul(lu.u).all_close(a, 1e-5, 1e-5));
    EXPECT_TRUE(lu.l.triu(1).all_close(Tensor<3>::zeros_like(lu.l), 0, 0));
    EXPECT_TRUE(lu.l.diagonal().all_close(Tensor<2>::ones({2, lu.u.dim(1)}, device()), 0, 0));
    EXPECT_TRUE(lu.u.tril(-1).all_close(Tensor<3>::zeros_like(lu.u), 0, 0));
    EXPECT_LE(lu.l.abs().max().item(), 1);
  }
  EXPECT_EQ(ints(linalg::lu(Tensor<2>::from({{0, 1}, {2, 0}}, device())).order), (Ints{1, 0}));
  EXPECT_EQ(ints(linalg::lu(Tensor<2>::zeros({3, 0}, device())).order), (Ints{0, 1, 2}));
  EXPECT_EQ(linalg::lu(Tensor<2>::zeros({0, 3}, device())).u.shape(), (Shape{0, 3}));
  EXPECT_EQ(linalg::lu(Tensor<2>::eye(2, 2, device(), DType::f16)).u.dtype(), DType::f16);
  EXPECT_THROW(static_cast<void>(linalg::lu(Tensor<2>::full({2, 2}, nan_value, device())).l.into_data()),
               MatrixError);
}

TEST_P(LinalgTest, LogarithmsOfDeterminants) {
  const auto a = Tensor<3>::from({{{0, 2}, {3, 4}}, {{2, 0}, {0, 3}}, {{1, 2}, {2, 4}}}, device());
  const auto [sign, log] = linalg::slogdet(a);
  EXPECT_EQ(floats(sign), (Floats{-1, 1, 0}));
  expect_near(log, {std::log(6.0f), std::log(6.0f), -inf});
  expect_near(linalg::logdet(a), {nan_value, std::log(6.0f), -inf});
  // The determinant itself is 10^-200.
  expect_near(linalg::slogdet(Tensor<2>::eye(100, device()) * 0.01).log_magnitude, {-460.51702f});
  EXPECT_EQ(floats(linalg::slogdet(Tensor<3>::zeros({2, 0, 0}, device())).sign), (Floats{1, 1}));
  EXPECT_EQ(floats(linalg::slogdet(Tensor<3>::zeros({2, 0, 0}, device())).log_magnitude), (Floats{0, 0}));
}

TEST_P(LinalgTest, PseudoInversesAndMatrixNorms) {
  const auto a = Tensor<3>::random({2, 4, 3}, -1, 1, device());
  const auto identity = Tensor<2>::eye(3, device()).expand<3>({2, 3, 3});
  EXPECT_TRUE(linalg::pinv(a).matmul(a).all_close(identity, 1e-4, 1e-4));
  EXPECT_TRUE(a.transpose().matmul(linalg::pinv(a.transpose())).all_close(identity, 1e-4, 1e-4));
  const auto singular = Tensor<2>::from({{1, 2}, {2, 4}}, device());
  expect_near(linalg::pinv(singular), {0.04f, 0.08f, 0.08f, 0.16f});
  expect_near(linalg::pinv(Tensor<2>::from({{2, 0}, {0, 0.5f}}, device()), 0.5), {0.5f, 0, 0, 0});
  EXPECT_EQ(linalg::pinv(Tensor<2>::zeros({3, 0}, device())).shape(), (Shape{0, 3}));
  EXPECT_EQ(floats(linalg::pinv(Tensor<2>::zeros({1, 2}, device()))), (Floats{0, 0}));
  const auto m = Tensor<3>::from({{{3, 0}, {0, -4}}}, device());
  expect_near(linalg::frobenius_norm(m), {5});
  expect_near(linalg::nuclear_norm(m), {7});
  expect_near(linalg::spectral_norm(m), {4});
}

class LinalgGradientTest : public OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(LinalgGradientTest);

TEST_P(LinalgGradientTest, AgreeWithDifferences) {
  const auto d = device();
  expect_gradient<2>(d, {3, 3}, [](const auto& a) {
    const auto lu = linalg::lu(a + Tensor<2>::eye(3, 3, a.device(), DType::f64) * 4);
    return lu.l.matmul(lu.l) * lu.u;
  });
  expect_gradient<2>(d, {3, 3}, [](const auto& a) {
    return linalg::logdet(a + Tensor<2>::eye(3, 3, a.device(), DType::f64) * 4);
  });
  expect_gradient<2>(d, {4, 3}, [](const auto& a) { return linalg::pinv(a); });
  expect_gradient<2>(d, {4, 3}, [](const auto& a) { return linalg::nuclear_norm(a); });
  expect_gradient<2>(d, {4, 3}, [](const auto& a) { return linalg::frobenius_norm(a); });
}

}  // namespace
}  // namespace strata
