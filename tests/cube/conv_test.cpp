// Convolution in its forms for a GPU, interpreted, against flex. Whole numbers make every order of summation
// exact.
#include "cube/conv.hpp"

#include <cmath>
#include <limits>

#include "cube/against_flex.hpp"
#include "op/window.hpp"

namespace strata::cube::test {
namespace {

using window::ConvMethod;
using window::ConvPlan;

TensorData whole_numbers(DType t, const Shape& shape, unsigned seed) {
  return random_data(DType::i32, shape, -3.9, 3.9, seed).convert(t);
}

struct Case {
  const char* name;
  Shape x, weight;
  op::Conv op;
};

const Case cases[] = {
    {"one axis", {2, 3, 19}, {4, 3, 5}, {{2}, {2}, {1}, 1, false, {}}},
    {"two axes", {2, 4, 9, 8}, {6, 4, 3, 3}, {{1, 2}, {1, 1}, {1, 1}, 1, false, {}}},
    {"dilated", {1, 2, 11, 10}, {3, 2, 3, 2}, {{2, 1}, {2, 1}, {2, 3}, 1, false, {}}},
    {"three axes", {2, 2, 5, 6, 4}, {3, 2, 2, 3, 2}, {{1, 2, 1}, {1, 0, 1}, {1, 1, 2}, 1, false, {}}},
    {"groups", {2, 6, 7, 5}, {4, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 2, false, {}}},
    {"depthwise", {1, 5, 8, 6}, {10, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 5, false, {}}},
    {"pointwise", {2, 6, 5, 4}, {8, 3, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, 2, false, {}}},
    {"strided pointwise", {2, 3, 5, 4}, {5, 3, 1, 1}, {{2, 2}, {0, 0}, {1, 1}, 1, false, {}}},
    {"gradient of a weight", {4, 6, 9, 9}, {8, 3, 7, 8}, {{1, 1}, {1, 1}, {1, 1}, 2, false, {}}},
    {"transposed", {2, 4, 6, 5}, {4, 3, 3, 2}, {{1, 1}, {1, 0}, {1, 1}, 1, true, {}}},
    {"transposed with gaps", {2, 4, 4, 5}, {4, 3, 3, 4}, {{2, 3}, {1, 0}, {1, 2}, 2, true, {1, 2}}},
    {"transposed along one axis", {1, 2, 7}, {2, 3, 4}, {{3}, {2}, {1}, 1, true, {}}},
    {"transposed pointwise", {2, 6, 5, 4}, {6, 4, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, 3, true, {}}},
    {"transposed in space",
     {1, 2, 3, 2, 3},
     {2, 2, 2, 2, 3},
     {{2, 1, 2}, {0, 1, 1}, {1, 1, 1}, 1, true, {0, 0, 1}}},
    {"nothing but padding", {2, 3, 0}, {4, 3, 2}, {{1}, {2}, {2}, 1, false, {}}},
    {"transposed from nothing", {1, 2, 0}, {2, 3, 4}, {{1}, {0}, {1}, 1, true, {}}},
    {"no channels", {2, 0, 5}, {3, 0, 2}, {{1}, {0}, {1}, 1, false, {}}},
};

op::TensorType result_type(const op::Conv& op, const op::TensorType& x, const op::TensorType& weight) {
  const op::TensorType types[] = {x, weight};
  return op::infer(op, op::Site{"conv", types, "gpu"})[0];
}

TensorData by(const ConvPlan& plan, const op::Conv& op, const TensorData& x, const TensorData& weight) {
  auto& cube = gpu_cube();
  const auto value = [&](const TensorData& d) {
    return CubeRef(static_cast<CubeValue*>(cube.from_data(d).get()));
  };
  const auto type = result_type(op, {x.dtype(), x.shape()}, {weight.dtype(), weight.shape()});
  return cube.into_data(window::convolve(cube, plan, op, value(x), value(weight), type)).get();
}
TensorData by(ConvMethod method, const op::Conv& op, const TensorData& x, const TensorData& weight) {
  return by(ConvPlan{method, 1 << 20}, op, x, weight);
}

TEST(GpuConv, AsOnFlexInEveryLayout) {
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    for (const auto layout : all_layouts) {
      expect_same_as_flex(c.op, {{whole_numbers(DType::f32, c.x, 1), layout},
                                 {whole_numbers(DType::f32, c.weight, 2), layout}});
    }
  }
}

TEST(GpuConv, EveryMethodServesEveryConvolution) {
  // The least workspaces cut the matrices into as many parts as they can be cut into.
  const ConvPlan plans[] = {{ConvMethod::direct, 0},
                            {ConvMethod::by_cubes, 0},
                            {ConvMethod::product, 1 << 20},
                            {ConvMethod::product, 1}};
  for (const auto& c : cases) {
    const auto x = whole_numbers(DType::f32, c.x, 3), weight = whole_numbers(DType::f32, c.weight, 4);
    const auto expected = results_on(flex::instance(), c.op, {{x}, {weight}})[0];
    for (const auto& plan : plans) {
      SCOPED_TRACE(std::string(c.name) + " by method " + std::to_string(static_cast<int>(plan.method)));
      EXPECT_TRUE(same(by(plan, c.op, x, weight), expected));
    }
  }
}

TEST(GpuConv, EveryFloatByEveryMethod) {
  for (const auto t : {DType::f64, DType::f16, DType::bf16}) {
    for (const auto i : {1, 10}) {
      const auto& c = cases[i];
      const auto x = whole_numbers(t, c.x, 5), weight = whole_numbers(t, c.weight, 6);
      const auto expected = results_on(flex::instance(), c.op, {{x}, {weight}})[0];
      for (const auto method : {ConvMethod::direct, ConvMethod::by_cubes, ConvMethod::product}) {
        SCOPED_TRACE(std::string(name_of(t)) + " by method " + std::to_string(static_cast<int>(method)));
        EXPECT_TRUE(same(by(method, c.op, x, weight), expected));
      }
    }
  }
}

TEST(GpuConv, HalvesRoundOnce) {
  // 2049 is no f16: the sum over channels must reach the sum over the window unrounded.
  const auto x = TensorData::from<float>({2048, -2048, 1, 0}, {1, 2, 2}).convert(DType::f16);
  const auto ones = TensorData::from<float>({1, 1, 1, 1}, {2, 1, 2}).convert(DType::f16);
  const op::Conv transposed{{1}, {0}, {1}, 1, true, {}};
  for (const auto method : {ConvMethod::direct, ConvMethod::by_cubes, ConvMethod::product})
    EXPECT_EQ(by(method, transposed, x, ones).to_doubles(), (std::vector<double>{2048, 1, -2048}));
}

TEST(GpuConv, PaddingTakesPartAndGapsDoNot) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto x = TensorData::from<float>({1, 2, 3}, {1, 1, 3});
  const auto weight = TensorData::from<float>({inf, 1, 1}, {1, 1, 3});
  for (const auto method : {ConvMethod::direct, ConvMethod::by_cubes, ConvMethod::product}) {
    const auto run = [&](const op::Conv& op) { return by(method, op, x, weight).to_vector<float>(); };
    const auto straight = run({{1}, {1}, {1}, 1, false, {}});
    EXPECT_TRUE(std::isnan(straight[0]));
    EXPECT_EQ(straight[1], inf);
    const auto transposed = run({{2}, {0}, {1}, 1, true, {}});
    EXPECT_EQ(transposed, (std::vector<float>{inf, 1, inf, 2, inf, 3, 3}));
  }
}

TEST(GpuConv, RuleWeighsChannelsAndResults) {
  const auto method = [](const Shape& x, const Shape& weight, const op::Conv& op) {
    const op::TensorType a{DType::f32, x}, b{DType::f32, weight};
    return window::plan_conv(gpu_cube().target(), op, a, b, result_type(op, a, b)).method;
  };
  const op::Conv same{{1, 1}, {1, 1}, {1, 1}, 1, false, {}};
  EXPECT_EQ(method({8, 64, 28, 28}, {64, 64, 3, 3}, same), ConvMethod::product);
  auto depthwise = same;
  depthwise.groups = 64;
  EXPECT_EQ(method({8, 64, 28, 28}, {64, 1, 3, 3}, depthwise), ConvMethod::direct);
  // The gradient of a depthwise weight: few results, each a sum over all images.
  EXPECT_EQ(method({1, 64 * 8, 28, 28}, {64, 8, 28, 28}, depthwise), ConvMethod::by_cubes);
  auto transposed = same;
  transposed.transposed = true;
  EXPECT_EQ(method({8, 64, 28, 28}, {64, 64, 3, 3}, transposed), ConvMethod::product);
}

TEST(GpuConv, WorkspaceStaysBounded) {
  const op::Conv op{{1, 1}, {1, 1}, {1, 1}, 1, false, {}};
  const op::TensorType types[] = {{DType::f32, {64, 64, 112, 112}}, {DType::f32, {64, 64, 3, 3}}};
  const auto launches = gpu_cube().plan(op, types);
  const auto unfolds = std::ranges::count_if(
      launches, [](const PlannedLaunch& l) { return l.kernel_name == "conv_unfold_f32"; });
  EXPECT_EQ(unfolds, 14);  // 64 * 112^2 columns of 2304 bytes in parts of 128 MiB
}

}  // namespace
}  // namespace strata::cube::test
