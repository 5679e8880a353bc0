// Joining, splitting, diagonals, grids and images. Values: by hand, or from NumPy 2.
#include "tensor/function_fixture.hpp"

namespace strata {
namespace {

using namespace test;

class ArrangeTest : public FunctionFixture {};
STRATA_ON_EVERY_DEVICE(ArrangeTest);

TEST_P(ArrangeTest, JoinsWithTheRanksOfNumPy) {
  const auto a = vector({1, 2}), b = vector({3, 4});
  EXPECT_EQ(floats(hstack({a, b})), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(vstack({a, b}).shape(), (Shape{2, 2}));
  EXPECT_EQ(floats(vstack({a, b})), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(dstack({a, b}).shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(floats(dstack({a, b})), (Floats{1, 3, 2, 4}));
  const auto m = ramp(2, 2);
  EXPECT_EQ(floats(hstack({m, m})), (Floats{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(vstack({m, m}).shape(), (Shape{4, 2}));
  EXPECT_EQ(dstack({m, m}).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(floats(dstack({m, m})), (Floats{0, 0, 1, 1, 2, 2, 3, 3}));
  const auto one = Tensor<0, Int>::from(7, device());
  EXPECT_EQ(hstack({one, one}).shape(), (Shape{2}));
  EXPECT_EQ(vstack({one, one}).shape(), (Shape{2, 1}));
  EXPECT_EQ(dstack({one, one}).shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(hstack({Tensor<3>::ones({2, 1, 2}, device()), Tensor<3>::ones({2, 3, 2}, device())}).shape(),
            (Shape{2, 4, 2}));
  EXPECT_THROW(hstack({m, ramp(3, 2)}), ShapeError);
}

TEST_P(ArrangeTest, Splits) {
  const auto x = ramp(2, 5);
  const auto parts = split(x, {1, 0, 4}, 1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(floats(parts[0]), (Floats{0, 5}));
  EXPECT_EQ(parts[1].shape(), (Shape{2, 0}));
  EXPECT_EQ(floats(parts[2]), (Floats{1, 2, 3, 4, 6, 7, 8, 9}));
  EXPECT_THROW(split(x, {1, 2}, 1), ShapeError);
  EXPECT_THROW(split(x, {6, -1}, 1), ShapeError);
  EXPECT_THROW(split(x, {INT64_MAX, INT64_MAX}, 1), ShapeError);
  const auto chunks = chunk(x, 3, -1);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(floats(chunks[2]), (Floats{4, 9}));
  EXPECT_EQ(chunk(x, 9, 1).size(), 5u);
  EXPECT_EQ(chunk(x, 4, 1).size(), 3u);  // as torch: pieces of 2
  EXPECT_EQ(chunk(Tensor<1>::zeros({0}, device()), 3, 0).size(), 1u);
  EXPECT_THROW(chunk(x, 0, 0), ArgumentError);
  const auto rows = unbind(x);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(floats(rows[1]), (Floats{5, 6, 7, 8, 9}));
  EXPECT_EQ(floats(unbind(x, -1).at(2)), (Floats{2, 7}));
}

TEST_P(ArrangeTest, RepeatsAndRolls) {
  EXPECT_EQ(floats(repeat(ramp(2, 2), 2, 0)), (Floats{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(floats(repeat(ramp(2, 2), 2, -1)), (Floats{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(repeat(ramp(2, 2), 0, 0).shape(), (Shape{0, 2}));
  EXPECT_EQ(floats(roll(ramp(2, 3), {1, -1}, {0, 1})), (Floats{4, 5, 3, 1, 2, 0}));
  EXPECT_THROW(roll(ramp(2, 3), {1}, {0, 1}), ArgumentError);
}

TEST_P(ArrangeTest, DiagonalsAndMasks) {
  EXPECT_EQ(bools(tril_mask(2, 3, 0, device())), (Bools{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(bools(triu_mask(2, 3, 1, device())), (Bools{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(bools(diag_mask(2, 3, -1, device())), (Bools{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(tril_mask(0, 3, 0, device()).shape(), (Shape{0, 3}));
  EXPECT_THROW(tril_mask(-1, 3, 0, device()), ShapeError);
  EXPECT_EQ(floats(diag(vector({1, 2}))), (Floats{1, 0, 0, 2}));
  EXPECT_EQ(floats(diag(vector({1, 2}), 1)), (Floats{0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(floats(diag(vector({1, 2}), -1)), (Floats{0, 0, 0, 1, 0, 0, 0, 2, 0}));
  const auto batch = diag(ramp(2, 3), -2);
  EXPECT_EQ(batch.shape(), (Shape{2, 5, 5}));
  EXPECT_EQ(floats(batch.diagonal(-2)), floats(ramp(2, 3)));
  EXPECT_EQ(batch.sum().item(), 15);
  EXPECT_EQ(diag(vector({})).shape(), (Shape{0, 0}));
  EXPECT_EQ(floats(diag(vector({}), 1)), (Floats{0}));
  EXPECT_EQ(bools(diag(Tensor<1, Bool>::from({true}, device()), 1)), (Bools{0, 1, 0, 0}));
  EXPECT_THROW(diag(vector({1}), INT64_MAX), ShapeError);
}

TEST_P(ArrangeTest, Grids) {
  const auto u = vector({1, 2, 3}), v = vector({7, 8});
  const auto [a, b] = meshgrid(std::array{u, v});
  EXPECT_EQ(a.shape(), (Shape{3, 2}));
  EXPECT_EQ(floats(a), (Floats{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(floats(b), (Floats{7, 8, 7, 8, 7, 8}));
  const auto [x, y] = meshgrid(std::array{u, v}, Indexing::xy);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(floats(x), (Floats{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(floats(y), (Floats{7, 7, 7, 8, 8, 8}));
  EXPECT_EQ(meshgrid(std::array{u, v, v}, Indexing::xy)[2].shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(floats(meshgrid(std::array{u}, Indexing::xy)[0]), (Floats{1, 2, 3}));
  EXPECT_EQ(floats(cartesian_product(std::array{v, u})), (Floats{7, 1, 7, 2, 7, 3, 8, 1, 8, 2, 8, 3}));
  EXPECT_EQ(ints(cartesian_grid({2, 2}, device())), (Ints{0, 0, 0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(cartesian_grid({2, 0, 3}, device()).shape(), (Shape{2, 0, 3, 3}));
}

TEST_P(ArrangeTest, AffineGrids) {
  const auto identity = Tensor<3>::from({{{1, 0, 0}, {0, 1, 0}}}, device());
  expect_near(affine_grid_2d(identity, 2, 3, true), {-1, -1, 0, -1, 1, -1, -1, 1, 0, 1, 1, 1});
  expect_near(affine_grid_2d(identity, 1, 2), {-0.5f, 0, 0.5f, 0});
  const auto turned = Tensor<3>::from({{{0, -1, 0.5f}, {1, 0, 0}}}, device());
  expect_near(affine_grid_2d(turned, 1, 2), {0.5f, -0.5f, 0.5f, 0.5f});
  EXPECT_THROW(affine_grid_2d(Tensor<3>::zeros({1, 3, 3}, device()), 2, 2), ShapeError);
}

/// What grid_sample_2d is to give at one point of one channel, in doubles.
class Sampler {
 public:
  Sampler(const std::vector<double>& image, std::int64_t height, std::int64_t width,
          const GridSampleOptions& o)
      : image_(image), height_(height), width_(width), options_(o) {}

  double at(double gx, double gy) const {
    const double x = place(gx, width_), y = place(gy, height_);
    if (options_.how == Sampling::nearest) return pixel(std::nearbyint(x), std::nearbyint(y));
    const double left = std::floor(x), top = std::floor(y), a = x - left, b = y - top;
    return pixel(left, top) * (1 - a) * (1 - b) + pixel(left + 1, top) * a * (1 - b) +
           pixel(left, top + 1) * (1 - a) * b + pixel(left + 1, top + 1) * a * b;
  }

 private:
  double place(double g, std::int64_t n) const {
    const auto extent = static_cast<double>(n);
    double x = options_.align_corners ? (g + 1) / 2 * (extent - 1) : ((g + 1) * extent - 1) / 2;
    if (options_.outside == Outside::reflection) {
      const double low = options_.align_corners ? 0 : -0.5,
                   high = options_.align_corners ? extent - 1 : extent - 0.5;
      if (low == high) return 0;
      while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
    }
    return options_.outside == Outside::zeros ? x : std::clamp(x, 0.0, extent - 1);
  }
  double pixel(double x, double y) const {
    if (x < 0 || y < 0 || x >= static_cast<double>(width_) || y >= static_cast<double>(height_)) return 0;
    return image_[static_cast<std::size_t>(static_cast<std::int64_t>(y) * width_ +
                                           static_cast<std::int64_t>(x))];
  }

  const std::vector<double>& image_;
  const std::int64_t height_, width_;
  const GridSampleOptions options_;
};

TEST_P(ArrangeTest, SamplesImagesAsPointByPoint) {
  manual_seed(5);
  for (const Shape& size : {Shape{4, 5}, Shape{1, 3}, Shape{1, 1}}) {
    const auto image = Tensor<4>::random({2, 2, size[0], size[1]}, -1, 1, device());
    const auto grid = Tensor<4>::random({2, 3, 4, 2}, -2.6, 2.6, device());
    const auto pixels = image.into_data().to_doubles(), points = grid.into_data().to_doubles();
    for (auto how : {Sampling::bilinear, Sampling::nearest}) {
      for (auto outside : {Outside::zeros, Outside::border, Outside::reflection}) {
        for (bool align : {false, true}) {
          const GridSampleOptions o{how, outside, align};
          const auto got = grid_sample_2d(image, grid, o).into_data().to_doubles();
          const auto area = static_cast<std::size_t>(size.product());
          for (std::size_t i = 0; i < got.size(); ++i) {
            const auto plane = i / 12, batch = plane / 2, point = (batch * 12 + i % 12) * 2;
            const std::vector<double> channel(
                pixels.begin() + static_cast<std::ptrdiff_t>(plane * area),
                pixels.begin() + static_cast<std::ptrdiff_t>((plane + 1) * area));
            const Sampler sampler(channel, size[0], size[1], o);
            EXPECT_NEAR(got[i], sampler.at(points[point], points[point + 1]), 1e-5)
                << i << " of " << size.to_string() << ": " << int(how) << int(outside) << align;
          }
        }
      }
    }
  }
  // Outside is 0 even beside an infinite pixel, and points at infinity are outside.
  const auto hot = Tensor<4>::full({1, 1, 1, 1}, inf, device());
  EXPECT_EQ(
      floats(grid_sample_2d(hot, Tensor<4>::from({{{{9, 9}, {-inf, 0}}}}, device()), {Sampling::nearest})),
      (Floats{0, 0}));
  EXPECT_THROW(grid_sample_2d(hot, Tensor<4>::zeros({2, 1, 1, 2}, device())), ShapeError);
  EXPECT_THROW(grid_sample_2d(hot, Tensor<4>::zeros({1, 1, 1, 3}, device())), ShapeError);
  EXPECT_THROW(grid_sample_2d(hot, Tensor<4>::zeros({1, 1, 1, 2}, device(), DType::f64)), DTypeError);
  EXPECT_EQ(grid_sample_2d(hot, Tensor<4>::zeros({1, 0, 4, 2}, device())).shape(), (Shape{1, 1, 0, 4}));
}

TEST_P(ArrangeTest, SamplesEveryFloatType) {
  expect_every_float<4>(device(), {1, 2, 3, 4}, [](const auto& image) {
    const auto grid = image.narrow(1, 0, 1).template reshape<4>({1, 2, 3, 2}) * 1.5;
    return grid_sample_2d(image.flip({3}).transpose(), grid.transpose(1, 2));
  });
}

TEST_P(ArrangeTest, ConvolvesBesideItsWindow) {
  manual_seed(3);
  const auto d = device();
  const auto x = Tensor<4>::random({2, 4, 7, 8}, -1, 1, d), w = Tensor<4>::random({6, 2, 3, 2}, -1, 1, d);
  const ConvOptions<2> o{.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2};
  const auto plain = conv2d(x, w, o);
  const auto size = plain.shape();
  const auto still = Tensor<4>::zeros({2, 2 * 2 * 6, size[2], size[3]}, d);
  EXPECT_TRUE(deform_conv2d(x, still, w, o).all_close(plain, 1e-5, 1e-5));
  // One pixel down for all taps: the convolution of the image moved up.
  const auto down = Tensor<6>::ones({2, 2, 6, 1, size[2], size[3]}, d);
  const auto offset = cat({down, down * 0}, 3).reshape<4>({2, 24, size[2], size[3]});
  const auto moved = x.slice({{}, {}, {1, 7}}).pad({{0, 0}, {0, 0}, {0, 1}});
  const auto expected = conv2d(moved, w, o).slice({{}, {}, {1, size[2]}});
  EXPECT_TRUE(deform_conv2d(x, offset, w, o).slice({{}, {}, {1, size[2]}}).all_close(expected, 1e-5, 1e-5));
  // Half a pixel: the mean of both.
  const auto between = deform_conv2d(x, offset * 0.5, w, o).slice({{}, {}, {1, size[2]}});
  EXPECT_TRUE(between.all_close((expected + plain.slice({{}, {}, {1, size[2]}})) * 0.5, 1e-5, 1e-5));
  const auto mask = Tensor<4>::full({2, 12, size[2], size[3]}, 0.25, d);
  EXPECT_TRUE(deform_conv2d(x, still, w, mask, o).all_close(plain * 0.25, 1e-5, 1e-5));
  EXPECT_THROW(deform_conv2d(x, still.narrow(1, 0, 23), w, o), ShapeError);
  EXPECT_THROW(deform_conv2d(x, still, w, mask.narrow(1, 0, 6), o), ShapeError);
  EXPECT_THROW(deform_conv2d(x, still, w.narrow(1, 0, 1), o), ShapeError);
}

TEST_P(ArrangeTest, CutsImagesIntoPatchesAndBack) {
  const auto image = Tensor<1>::arange(1, 13, 1, device()).reshape<4>({1, 1, 3, 4});
  EXPECT_EQ(floats(unfold4d(image, {.window = 2, .stride = {1, 2}})),
            (Floats{1, 3, 5, 7, 2, 4, 6, 8, 5, 7, 9, 11, 6, 8, 10, 12}));
  EXPECT_EQ(floats(unfold4d(image, {.window = {2, 1}, .stride = 3, .padding = {1, 0}, .dilation = {2, 1}})),
            (Floats{0, 0, 5, 8}));
  // A window over infinite pixels moves them, and makes no NaN beside them.
  EXPECT_EQ(floats(unfold4d(Tensor<4>::full({1, 1, 1, 2}, inf, device()), {.window = {1, 2}})),
            (Floats{inf, inf}));
  // Each pixel comes back as often as a window covers it.
  const PatchOptions o{.window = {2, 3}, .stride = {1, 2}, .padding = {1, 1}, .dilation = {2, 1}};
  const auto twice = Tensor<1>::arange(0, 2 * 2 * 5 * 6, 1, device()).reshape<4>({2, 2, 5, 6});
  const auto covered = fold4d(unfold4d(Tensor<4>::ones({2, 2, 5, 6}, device()), o), {5, 6}, o);
  EXPECT_TRUE(fold4d(unfold4d(twice, o), {5, 6}, o).all_close(twice * covered));
  EXPECT_EQ(unfold4d(twice, o).shape(), (Shape{2, 12, 15}));
  EXPECT_THROW(unfold4d(image, {.window = 4}), ShapeError);
  EXPECT_THROW(unfold4d(image, {.window = 2, .stride = 0}), ArgumentError);
  EXPECT_THROW(fold4d(Tensor<3>::zeros({1, 4, 5}, device()), {3, 4}, {.window = 2}), ShapeError);
}

class ArrangeGradientTest : public OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(ArrangeGradientTest);

TEST_P(ArrangeGradientTest, OfADeformableConvolution) {
  const auto with = [](const auto& like, std::uint64_t seed, const Shape& shape) {
    manual_seed(seed);
    return Tensor<4>::random(shape, 0.1, 0.9, like.device(), DType::f64);
  };
  const Shape image{1, 2, 4, 4}, offsets{1, 8, 3, 3}, weights{2, 2, 2, 2}, masks{1, 4, 3, 3};
  const auto of = [&](const auto& like, auto&& f) {
    return f(with(like, 1, image), with(like, 2, offsets), with(like, 3, weights), with(like, 4, masks));
  };
  expect_gradient<4>(device(), image, [&](const auto& v) {
    return of(v, [&](auto, auto o, auto w, auto m) { return deform_conv2d(v, o, w, m); });
  });
  expect_gradient<4>(
      device(), offsets,
      [&](const auto& v) {
        return of(v, [&](auto x, auto, auto w, auto m) { return deform_conv2d(x, v, w, m); });
      },
      0.1, 0.9);
  expect_gradient<4>(device(), masks, [&](const auto& v) {
    return of(v, [&](auto x, auto o, auto w, auto) { return deform_conv2d(x, o, w, v); });
  });
}

TEST_P(ArrangeGradientTest, AgreeWithDifferences) {
  const auto d = device();
  expect_gradient<1>(d, {3}, [](const auto& x) { return vstack({x, x * 2}); });
  expect_gradient<2>(d, {2, 3}, [](const auto& x) { return diag(x, -1); });
  expect_gradient<2>(d, {2, 5}, [](const auto& x) { return split(x, {2, 3}, 1)[1] * chunk(x, 2, 1)[0]; });
  expect_gradient<4>(d, {1, 2, 4, 4}, [](const auto& x) {
    const PatchOptions o{.window = 2, .stride = 2, .padding = 1};
    return fold4d(unfold4d(x, o).square(), {4, 4}, o);
  });
  expect_gradient<3>(d, {2, 2, 3}, [](const auto& theta) { return affine_grid_2d(theta, 2, 3); });
  for (auto outside : {Outside::zeros, Outside::border, Outside::reflection}) {
    for (bool align : {false, true}) {
      const GridSampleOptions o{Sampling::bilinear, outside, align};
      expect_gradient<4>(d, {1, 2, 3, 2}, [&](const auto& image) {
        const auto grid =
            Tensor<1>::linspace(-1.4, 1.3, 8, image.device(), DType::f64).template reshape<4>({1, 2, 2, 2});
        return grid_sample_2d(image, grid, o);
      });
      expect_gradient<4>(d, {1, 2, 2, 2}, [&](const auto& grid) {
        const auto image =
            Tensor<1>::linspace(0, 3, 18, grid.device(), DType::f64).sin().template reshape<4>({1, 2, 3, 3});
        return grid_sample_2d(image, grid * 1.3, o);
      });
    }
  }
}

}  // namespace
}  // namespace strata
