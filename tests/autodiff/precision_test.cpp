// Which precision a product is asked for in: by scope, by argument, and in its gradient.
#include <stdexcept>
#include <thread>

#include "autodiff_fixture.hpp"

namespace strata::testing {
namespace {

/// Remembers the precisions of the products that it computes.
class Recorder final : public ReferenceBackend {
 public:
  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override {
    if (const auto* product = std::get_if<op::Matmul>(&op)) asked.push_back(product->precision);
    return ReferenceBackend::execute(op, inputs);
  }
  std::vector<Precision> asked;
};

using Precisions = std::vector<Precision>;

class MatmulPrecisionTest : public ::testing::Test {
 protected:
  ValueRef value(DType dtype = DType::f32) {
    return bridge::fill(recorder, {2, 2}, dtype, dtype == DType::f32 ? op::Number(1.5) : op::Number(1));
  }
  Precision asked() {
    const auto x = value();
    bridge::matmul(x, x);
    return recorder.asked.back();
  }

  Recorder recorder;
};

TEST_F(MatmulPrecisionTest, IsExactOutsideScopes) {
  EXPECT_EQ(MatmulPrecision::current(), Precision::exact);
  EXPECT_EQ(asked(), Precision::exact);
}

TEST_F(MatmulPrecisionTest, ScopesNest) {
  {
    const MatmulPrecision outer(Precision::tf32);
    EXPECT_EQ(asked(), Precision::tf32);
    {
      const MatmulPrecision inner(Precision::exact);
      EXPECT_EQ(asked(), Precision::exact);
      const MatmulPrecision innermost(Precision::split);
      EXPECT_EQ(asked(), Precision::split);
    }
    EXPECT_EQ(asked(), Precision::tf32);
  }
  EXPECT_EQ(asked(), Precision::exact);
}

TEST_F(MatmulPrecisionTest, AnExceptionEndsItsScope) {
  try {
    const MatmulPrecision scope(Precision::tf32);
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(asked(), Precision::exact);
}

TEST_F(MatmulPrecisionTest, OtherThreadsHaveTheirOwn) {
  const MatmulPrecision scope(Precision::tf32);
  Precision there{};
  std::thread([&] {
    there = MatmulPrecision::current();
    const MatmulPrecision own(Precision::split);
  }).join();
  EXPECT_EQ(there, Precision::exact);
  EXPECT_EQ(asked(), Precision::tf32);
}

TEST_F(MatmulPrecisionTest, AnArgumentGoesBeforeTheScope) {
  const MatmulPrecision scope(Precision::tf32);
  const auto x = value();
  bridge::matmul(x, x, Precision::split);
  EXPECT_EQ(recorder.asked, Precisions{Precision::split});
}

TEST_F(MatmulPrecisionTest, OtherDtypesAreOneOperationWhateverIsAsked) {
  const MatmulPrecision scope(Precision::tf32);
  for (const auto t : {DType::f64, DType::f16, DType::bf16, DType::i64}) {
    const auto x = value(t);
    bridge::matmul(x, x);
    EXPECT_EQ(recorder.asked.back(), Precision::exact) << name_of(t);
  }
}

TEST_F(MatmulPrecisionTest, GradientsFollowTheirProduct) {
  Autodiff ad(recorder);
  const auto filled = [&](const Shape& shape) { return bridge::fill(ad, shape, DType::f32, 1.5); };
  for (const auto& [left, right] :
       std::vector<std::pair<Shape, Shape>>{{{2, 2}, {2, 2}}, {{3, 2, 2}, {2, 2}}, {{3, 2, 2}, {3, 2, 2}}}) {
    const auto a = track(filled(left)), b = track(filled(right));
    recorder.asked.clear();
    const auto c = bridge::matmul(a, b, Precision::tf32);
    const MatmulPrecision elsewhere(Precision::split);
    backward(c);
    EXPECT_EQ(recorder.asked, Precisions(3, Precision::tf32));
  }
}

TEST_F(MatmulPrecisionTest, SecondDerivativesFollowTheProductToo) {
  Autodiff ad(recorder), upper(static_cast<backend::Backend&>(ad));
  const auto a = track(bridge::fill(upper, {2, 2}, DType::f32, 1.5));
  const auto first = backward(bridge::matmul(a, a, Precision::tf32)).get(a);
  recorder.asked.clear();
  const MatmulPrecision elsewhere(Precision::split);
  backward(first);
  EXPECT_FALSE(recorder.asked.empty());
  for (const auto p : recorder.asked) EXPECT_EQ(p, Precision::tf32);
}

}  // namespace
}  // namespace strata::testing
