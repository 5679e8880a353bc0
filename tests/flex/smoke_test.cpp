#include <gtest/gtest.h>
#include "bridge/bridge.hpp"
#include "flex/flex.hpp"
namespace strata {
TEST(Smoke, MatmulAndAdd) {
  auto& f = flex::instance();
  auto a = f.from_data(TensorData::from<float>({1, 2, 3, 4}, {2, 2})),
       b = f.from_data(TensorData::from<float>({5, 6, 7, 8}, {2, 2}));
  EXPECT_EQ(f.into_data(bridge::matmul(a, b)).get().to_vector<float>(), (std::vector<float>{19, 22, 43, 50}));
  EXPECT_EQ(f.into_data(bridge::add(a, b)).get().to_vector<float>(), (std::vector<float>{6, 8, 10, 12}));
}
}  // namespace strata
