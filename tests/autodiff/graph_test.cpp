#include <gtest/gtest.h>

#include "autodiff/autodiff.hpp"
#include "bridge/bridge.hpp"
#include "gradient_check.hpp"
#include "reference_backend.hpp"

namespace strata::testing {
namespace {

using autodiff::Autodiff;
using autodiff::backward;
using autodiff::track;
using Doubles = std::vector<double>;

class GraphTest : public ::testing::Test {
 protected:
  ReferenceBackend reference;
  Autodiff ad{reference};

  ValueRef value(std::initializer_list<double> elements, const Shape& shape) {
    return ad.from_data(TensorData::from<double>(elements, shape));
  }
  ValueRef leaf(std::initializer_list<double> elements, const Shape& shape) {
    return track(value(elements, shape));
  }
};

TEST_F(GraphTest, DifferentiatesAMatmulSum) {
  const auto a = leaf({1, 2, 3, 4}, {2, 2}), b = leaf({5, 6, 7, 8}, {2, 2});
  const auto c = bridge::matmul(a, b);
  EXPECT_EQ(read(c), (Doubles{19, 22, 43, 50}));
  const auto gradients = backward(bridge::reduce_all(op::ReduceKind::sum, c));
  EXPECT_EQ(read(gradients.get(a)), (Doubles{11, 15, 11, 15}));
  EXPECT_EQ(read(gradients.get(b)), (Doubles{4, 4, 6, 6}));
  EXPECT_EQ(&gradients.get(a)->backend, &reference);
}

TEST_F(GraphTest, SumsOverEveryUseOfASharedValue) {
  const auto x = leaf({2, 3}, {2});
  const auto square = bridge::mul(x, x);
  const auto diamond = bridge::add(bridge::mul(square, x), square);  // x^3 + x^2
  EXPECT_EQ(read(backward(diamond).get(x)), (Doubles{16, 33}));
}

}  // namespace
}  // namespace strata::testing
