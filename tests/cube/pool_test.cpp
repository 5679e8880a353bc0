// Pooling in its form for a GPU, interpreted, against flex.
#include <cmath>
#include <limits>

#include "cube/against_flex.hpp"

namespace strata::cube::test {
namespace {

using op::PoolKind;

struct Window {
  Shape x;
  Dims window, stride, padding, dilation;
  bool ceil_mode = false;
};

const Window windows[] = {
    {{2, 3, 11}, {3}, {2}, {1}, {1}},
    {{1, 2, 9, 14}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
    {{2, 2, 10, 7}, {3, 2}, {2, 1}, {1, 1}, {1, 1}, true},
    {{1, 3, 12, 13}, {3, 4}, {2, 3}, {1, 2}, {2, 1}},
    {{1, 1, 9, 40}, {6, 7}, {1, 2}, {3, 3}, {1, 1}},  // too large to unroll
    {{2, 1, 5, 6, 7}, {2, 3, 2}, {2, 1, 3}, {1, 1, 0}, {1, 1, 1}, true},
    {{3, 2, 6, 5}, {6, 5}, {1, 1}, {0, 0}, {1, 1}},  // everything
};

op::Pool pool(PoolKind kind, const Window& w, bool count_padding = true) {
  return {kind, w.window, w.stride, w.padding, w.dilation, w.ceil_mode, count_padding};
}
op::ArgPool arg_pool(const Window& w) { return {w.window, w.stride, w.padding, w.dilation, w.ceil_mode}; }

TEST(GpuPool, EveryWindowAndLayout) {
  for (const auto& w : windows) {
    SCOPED_TRACE(w.x.to_string() + " by " + w.window.to_string());
    const auto x = random_data(DType::f32, w.x);
    for (const auto layout : all_layouts) {
      expect_same_as_flex(pool(PoolKind::max, w), {{x, layout}});
      expect_same_as_flex(arg_pool(w), {{x, layout}});
      for (const bool count_padding : {true, false}) {
        const op::Operation mean = pool(PoolKind::mean, w, count_padding);
        if (w.window.product() < w.x.product() / (w.x[0] * w.x[1])) {
          expect_same_as_flex(mean, {{x, layout}});
        } else {  // summed in another order
          expect_as_on_flex(mean, {{x, layout}}, [&](auto, const TensorData& gpu, const TensorData& flex) {
            const auto a = gpu.to_doubles(), b = flex.to_doubles();
            const double bound = 3.0 * static_cast<double>(w.window.product()) * 0x1p-24;
            for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], bound);
          });
        }
      }
    }
  }
}

TEST(GpuPool, EveryDtype) {
  const auto& w = windows[3];
  for (const auto t : all_dtypes) {
    if (t == DType::boolean) continue;
    SCOPED_TRACE(name_of(t));
    const auto x = random_data(t, w.x, t == DType::u8 ? 0 : -9, 9);  // integers have ties
    expect_same_as_flex(pool(PoolKind::max, w), {{x}});
    expect_same_as_flex(arg_pool(w), {{x}});
    if (is_float(t)) expect_same_as_flex(pool(PoolKind::mean, w), {{x}});
  }
}

TEST(GpuPool, NaNAndInfinities) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto x =
      TensorData::from<float>({1, nan, 3, nan, -inf, -inf, -inf, -inf, inf, 2, -0.f, 0.f}, {1, 1, 12});
  const Window w{{1, 1, 12}, {3}, {1}, {1}, {1}};
  expect_same_as_flex(pool(PoolKind::max, w), {{x}});
  expect_same_as_flex(pool(PoolKind::mean, w), {{x}});
  expect_same_as_flex(arg_pool(w), {{x}});
}

TEST(GpuPool, NothingToPoolLaunchesNothing) {
  const Window w{{0, 2, 6}, {2}, {2}, {0}, {1}};
  const auto launches = gpu_cube().client().counters().launches;
  expect_same_as_flex(pool(PoolKind::max, w), {{random_data(DType::f32, w.x)}});
  EXPECT_EQ(gpu_cube().client().counters().launches, launches);
}

TEST(GpuPool, PlansWithoutADevice) {
  const op::TensorType x{DType::f32, {1, 1, std::int64_t{1} << 20, std::int64_t{1} << 20}};  // 64-bit indices
  const auto launches = gpu_cube().plan(op::Pool{PoolKind::max, {2, 2}, {2, 2}, {0, 0}, {1, 1}}, {&x, 1});
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].kernel_name, "max_pool_f32");
  ASSERT_NE(launches[0].ir, nullptr);
}

}  // namespace
}  // namespace strata::cube::test
