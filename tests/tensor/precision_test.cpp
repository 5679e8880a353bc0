// Products of f32 in each precision, on each device, against f64.
#include <cmath>
#include <limits>

#include "tensor/devices.hpp"

namespace strata {
namespace {

class PrecisionTest : public test::OnEveryDevice {
 protected:
  void SetUp() override {
    OnEveryDevice::SetUp();
    if (!IsSkipped()) manual_seed(5);
  }
  bool has_matrix_units() const { return std::string_view(GetParam()).starts_with("cuda"); }

  Tensor<2> random(std::int64_t rows, std::int64_t columns, bool transposed) const {
    if (transposed) return Tensor<2>::random({columns, rows}, -1, 1, device()).transpose();
    return Tensor<2>::random({rows, columns}, -1, 1, device());
  }
  /// The largest error of an element, relative to its sum of magnitudes.
  static double error_of(const Tensor<2>& c, const Tensor<2>& a, const Tensor<2>& b) {
    const auto x = a.cast(DType::f64), y = b.cast(DType::f64);
    return ((c.cast(DType::f64) - x.matmul(y)).abs() / x.abs().matmul(y.abs())).max().item();
  }
};
STRATA_ON_EVERY_DEVICE(PrecisionTest);

TEST_P(PrecisionTest, ErrorsAreBelowWhatIsPromised) {
  struct Case {
    std::int64_t m, k, n;
    bool left, right;  ///< transposed
  };
  for (const auto& [m, k, n, left, right] : {Case{64, 64, 64, false, false},
                                             {200, 300, 100, false, true},
                                             {256, 512, 384, true, false},
                                             {512, 4096, 512, true, true},
                                             {333, 77, 555, false, false},
                                             {3, 500, 700, false, false}}) {
    SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n);
    const auto a = random(m, k, left), b = random(k, n, right);
    const auto terms = static_cast<double>(k);
    const double exact = error_of(a.matmul(b), a, b), tf32 = error_of(matmul(a, b, Precision::tf32), a, b),
                 split = error_of(matmul(a, b, Precision::split), a, b);
    EXPECT_LE(exact, terms * 0x1p-24);
    EXPECT_LE(tf32, 0x1p-10 + (terms + 2) * 0x1p-23);
    EXPECT_LE(split, 0x1p-20);  // of the order of exact, a quarter of what is promised
    if (!has_matrix_units()) {
      EXPECT_LE(tf32, terms * 0x1p-24);
    } else if (m > 16 && k % 4 == 0) {  // else an exact kernel may be as fast
      EXPECT_GT(tf32, 8 * exact) << "the switch made no difference";
    }
  }
}

TEST_P(PrecisionTest, ScopesHoldForWhatIsMadeOfProducts) {
  const auto a = random(96, 200, false), b = random(200, 64, false);
  const auto bias = Tensor<1>::random({64}, -1, 1, device());
  const auto inside = [&] {
    const MatmulPrecision scope(Precision::tf32);
    return std::pair(linear(a, b.transpose(), bias).to_vector<float>(),
                     einsum<2>("ij,jk->ik", a, b).to_vector<float>());
  }();
  EXPECT_EQ(inside.second, matmul(a, b, Precision::tf32).to_vector<float>());
  EXPECT_EQ(inside.first, (matmul(a, b, Precision::tf32) + bias).to_vector<float>());
  EXPECT_EQ(inside.second == a.matmul(b).to_vector<float>(), !has_matrix_units());
}

TEST_P(PrecisionTest, InfinitiesAndNaNsStayInTheirRows) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> elements(64 * 64, 1.5f);
  elements[2 * 64 + 5] = inf;
  elements[3 * 64 + 7] = nan;
  const auto a = Tensor<2>::from(elements, {64, 64}, device()), b = Tensor<2>::full({64, 64}, 2, device());
  for (const auto precision : {Precision::exact, Precision::tf32, Precision::split}) {
    SCOPED_TRACE(name_of(precision));
    const auto c = matmul(a, b, precision).to_vector<float>();
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (i / 64 == 3 || (i / 64 == 2 && precision == Precision::split && has_matrix_units()))
        ASSERT_TRUE(std::isnan(c[i])) << i << ": " << c[i];
      else
        ASSERT_EQ(c[i], i / 64 == 2 ? inf : 192) << i;
    }
  }
}

TEST_P(PrecisionTest, GradientsOfLessExactProductsAreNearThoseOfExactOnes) {
  if (!std::string_view(GetParam()).ends_with("autodiff()")) GTEST_SKIP() << "has no gradients";
  const auto a = random(64, 48, false).require_grad(), b = random(48, 80, false).require_grad();
  const auto gradients = [&](Precision precision) {
    const auto g = (matmul(a, b, precision) * matmul(a, b, precision)).sum().backward();
    return std::pair(a.grad(g).to_vector<float>(), b.grad(g).to_vector<float>());
  };
  const auto exact = gradients(Precision::exact);
  for (const auto precision : {Precision::tf32, Precision::split}) {
    const auto other = gradients(precision);
    const double tolerance =
        precision == Precision::tf32 ? 0.5 : 2e-3;  // sums of 80 products, each of sums of 48
    for (std::size_t i = 0; i < exact.first.size(); ++i)
      ASSERT_NEAR(other.first[i], exact.first[i], tolerance) << i;
    for (std::size_t i = 0; i < exact.second.size(); ++i)
      ASSERT_NEAR(other.second[i], exact.second[i], tolerance) << i;
  }
}

}  // namespace
}  // namespace strata
