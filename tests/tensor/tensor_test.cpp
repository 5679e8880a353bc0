#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tensor/devices.hpp"

namespace strata {
namespace {

using test::OnEveryDevice;
using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

class TensorTest : public OnEveryDevice {};
STRATA_ON_EVERY_DEVICE(TensorTest);

TEST_P(TensorTest, OneMatmul) {
  const auto a = Tensor<2>::from({{1, 2}, {3, 4}}, device());
  const auto b = Tensor<2>::from({{5, 6}, {7, 8}}, device());
  EXPECT_EQ(a.matmul(b).to_vector<float>(), (Floats{19, 22, 43, 50}));
}

TEST_P(TensorTest, MatmulBroadcastsBatchesAndTakesAnyStrides) {
  const auto a = Tensor<3>::random({3, 4, 5}, device());
  const auto b = Tensor<2>::random({6, 5}, device());
  const auto c = a.matmul(b.t());
  EXPECT_EQ(c.shape(), (Shape{3, 4, 6}));
  const auto av = a.to_vector<float>(), bv = b.to_vector<float>(), cv = c.to_vector<float>();
  for (int batch = 0; batch < 3; ++batch) {
    for (int m = 0; m < 4; ++m) {
      for (int n = 0; n < 6; ++n) {
        double sum = 0;
        for (int k = 0; k < 5; ++k) sum += double(av[(batch * 4 + m) * 5 + k]) * bv[n * 5 + k];
        EXPECT_NEAR(cv[(batch * 4 + m) * 6 + n], sum, 1e-5);
      }
    }
  }
}

TEST_P(TensorTest, EmptyInnerDimensionGivesZeros) {
  const auto a = Tensor<2>::zeros({2, 0}, device()), b = Tensor<2>::zeros({0, 3}, device());
  EXPECT_EQ(a.matmul(b).to_vector<float>(), Floats(6, 0.f));
}

TEST_P(TensorTest, ElementwiseChainsAndScalars) {
  const auto x = Tensor<1>::from({-1, 0, 2}, device());
  EXPECT_EQ((2.0 * x + 1.0).relu().to_vector<float>(), (Floats{0, 1, 5}));
  EXPECT_EQ((1.0 - x / 2.0).to_vector<float>(), (Floats{1.5, 1, 0}));
  const auto y = (x.exp() * x.sigmoid()).to_vector<float>();
  for (int i = 0; i < 3; ++i) {
    const double v = std::vector<double>{-1, 0, 2}[static_cast<std::size_t>(i)];
    EXPECT_NEAR(y[static_cast<std::size_t>(i)], std::exp(v) / (1 + std::exp(-v)), 1e-5);
  }
}

TEST_P(TensorTest, AnglesRemaindersAndActivations) {
  const auto x = Tensor<1>::from({3, -4}, device()), y = Tensor<1>::from({4, 3}, device());
  EXPECT_EQ(x.hypot(y).round().to_vector<float>(), (Floats{5, 5}));
  EXPECT_EQ(x.fmod(y).to_vector<float>(), (Floats{3, -1}));
  EXPECT_NEAR(x.atan2(y).to_vector<float>()[1], std::atan2(-4.0, 3.0), 1e-6);
  EXPECT_NEAR(x.gelu().to_vector<float>()[0], 3 * 0.5 * std::erfc(-3 / std::sqrt(2.0)), 1e-6);
  EXPECT_NEAR(x.lgamma().to_vector<float>()[0], std::log(2.0), 1e-6);
}

TEST_P(TensorTest, BroadcastingAcrossRanks) {
  const auto a = Tensor<2>::from({{1, 2, 3}, {4, 5, 6}}, device());
  const auto b = Tensor<1>::from({10, 20, 30}, device());
  const Tensor<2> c = a + b;
  EXPECT_EQ(c.to_vector<float>(), (Floats{11, 22, 33, 14, 25, 36}));
  const Tensor<2> d = b - a;
  EXPECT_EQ(d.to_vector<float>(), (Floats{9, 18, 27, 6, 15, 24}));
}

TEST_P(TensorTest, ComparisonsWhereAndMasks) {
  const auto a = Tensor<1>::from({1, 5, 3}, device()), b = Tensor<1>::from({4, 2, 3}, device());
  EXPECT_EQ(a.less(b).where(a, b).to_vector<float>(), (Floats{1, 2, 3}));
  EXPECT_EQ(a.mask_fill(a.greater(2), -1).to_vector<float>(), (Floats{1, -1, -1}));
  EXPECT_TRUE(a.equal(b).any().item());
  EXPECT_FALSE(a.equal(b).all().item());
}

TEST_P(TensorTest, IntegersFloorTheirDivision) {
  const auto a = Tensor<1, Int>::from({-7, 7, -7, 7}, device()),
             b = Tensor<1, Int>::from({2, 2, -2, -2}, device());
  EXPECT_EQ((a / b).to_vector<std::int64_t>(), (Ints{-4, 3, 3, -4}));
  EXPECT_EQ(a.rem(b).to_vector<std::int64_t>(), (Ints{1, 1, -1, -1}));
}

TEST_P(TensorTest, Reductions) {
  const auto a = Tensor<2>::from({{1, 2, 3}, {4, 5, 6}}, device());
  EXPECT_EQ(a.sum().item(), 21);
  EXPECT_EQ(a.mean(1).to_vector<float>(), (Floats{2, 5}));
  EXPECT_EQ(a.max(0).to_vector<float>(), (Floats{4, 5, 6}));
  EXPECT_EQ(a.prod(-1).to_vector<float>(), (Floats{6, 120}));
  EXPECT_EQ(a.sum_keep({1}).shape(), (Shape{2, 1}));
  EXPECT_EQ((a - a.sum_keep({0})).to_vector<float>(), (Floats{-4, -5, -6, -1, -2, -3}));
}

// Case 2: unlike max and min of numbers, any and all of nothing have a value.
TEST_P(TensorTest, AnyAndAllOfNothing) {
  const auto x = Tensor<2>::zeros({3, 0}, device()).greater(0);
  EXPECT_EQ(x.any(1).to_vector<bool>(), (std::vector<bool>{0, 0, 0}));
  EXPECT_EQ(x.all(1).to_vector<bool>(), (std::vector<bool>{1, 1, 1}));
  EXPECT_EQ(x.any(0).shape(), (Shape{0}));
  EXPECT_EQ(x.all_keep({0, 1}).to_vector<bool>(), (std::vector<bool>{1}));
  EXPECT_FALSE(x.any().item());
  EXPECT_TRUE(x.all().item());
}

TEST_P(TensorTest, LayoutOperations) {
  const auto a = Tensor<1>::arange(0, 24, 1, device()).reshape({2, 3, 4});
  EXPECT_EQ(a.permute({2, 0, 1}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(a.transpose().slice({{0, 1}, {1, 2}}).to_vector<float>(), (Floats{1, 5, 9}));
  EXPECT_EQ(a.narrow(2, 1, 2).sum().item(), 138);
  EXPECT_EQ(a.flatten().slice({{.step = -8}}).to_vector<float>(), (Floats{23, 15, 7}));
  EXPECT_EQ(a.unsqueeze(1).squeeze(1).shape(), a.shape());
  EXPECT_EQ(cat({a, a}, 1).shape(), (Shape{2, 6, 4}));
  EXPECT_EQ(stack({a, a}, 0).shape(), (Shape{2, 2, 3, 4}));
}

TEST_P(TensorTest, SeveralAxesOfExtentOneComeAndGo) {
  const auto a = Tensor<2>::from({{1, 2, 3}, {4, 5, 6}}, device());
  const Tensor<5> wide = a.unsqueeze({0, -1, 2});  // axes of the result
  EXPECT_EQ(wide.shape(), (Shape{1, 2, 1, 3, 1}));
  EXPECT_EQ(wide.to_vector<float>(), a.to_vector<float>());
  const Tensor<3> part = wide.squeeze({-1, 0});
  EXPECT_EQ(part.shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(wide.squeeze({4, 0, -3}).shape(), a.shape());
  EXPECT_EQ(wide.squeeze({2}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(a.sum_keep({0, 1}).squeeze({0, 1}).item(), 21);
  EXPECT_EQ(a.sum().unsqueeze({0, 1}).shape(), (Shape{1, 1}));
  const auto empty = Tensor<3, Int>::zeros({1, 0, 1}, device());
  EXPECT_EQ(empty.squeeze({0, 2}).shape(), (Shape{0}));
  const auto turned = a.t().unsqueeze({0, 3}).flip({1}).slice({{}, {0, 2}});
  EXPECT_EQ(turned.squeeze({3, 0}).to_vector<float>(), (Floats{3, 6, 2, 5}));
}

TEST_P(TensorTest, AxesThatCannotComeOrGoAreNamed) {
  const auto a = Tensor<4>::ones({1, 3, 1, 2}, device());
  const auto expect_error = [](auto&& call, std::initializer_list<const char*> parts) {
    try {
      call();
      FAIL();
    } catch (const ShapeError& e) {
      const std::string what = e.what();
      for (const char* part : parts)
        EXPECT_NE(what.find(part), std::string::npos) << what << " lacks " << part;
    }
  };
  expect_error(
      [&] {
        a.squeeze({0, 1});
      },
      {"[squeeze]", "axes 0, 1", "f32[1, 3, 1, 2]", "axis 1", "extent 3"});
  expect_error([&] { a.squeeze({2, -2}); }, {"[squeeze]", "axes 2, -2", "[1, 3, 1, 2]", "axis -2", "twice"});
  expect_error([&] { a.squeeze({0, 4}); }, {"[squeeze]", "axes 0, 4", "axis 4", "does not exist", "-4 to 3"});
  expect_error([&] { a.unsqueeze({1, 1}); }, {"[unsqueeze]", "axes 1, 1", "[1, 3, 1, 2]", "axis 1", "twice"});
  expect_error([&] { a.unsqueeze({0, -7}); }, {"[unsqueeze]", "axis -7", "does not exist", "-6 to 5"});
  expect_error([&] { a.squeeze(3); }, {"[squeeze]", "axis 3", "extent 2"});
  expect_error([&] { a.unsqueeze(5); }, {"[unsqueeze]", "axis 5", "-5 to 4"});
}

TEST_P(TensorTest, GradientsPassAxesOfExtentOne) {
  if (!device().is_autodiff()) return;
  const auto a = Tensor<2>::from({{1, 2, 3}, {4, 5, 6}}, device()).require_grad();
  const auto b = a.unsqueeze({0, 2}).square().squeeze({2, 0});
  EXPECT_EQ(a.grad(b.backward()).to_vector<float>(), (Floats{2, 4, 6, 8, 10, 12}));
}

TEST_P(TensorTest, PythonSlices) {
  const auto a = Tensor<1, Int>::arange(0, 10, 1, device());
  EXPECT_EQ(a.slice({{2, 8, 3}}).to_vector<std::int64_t>(), (Ints{2, 5}));
  EXPECT_EQ(a.slice({{-3}}).to_vector<std::int64_t>(), (Ints{7, 8, 9}));
  EXPECT_EQ(a.slice({{8, 2, -2}}).to_vector<std::int64_t>(), (Ints{8, 6, 4}));
  EXPECT_EQ(a.slice({{5, 100}}).to_vector<std::int64_t>(), (Ints{5, 6, 7, 8, 9}));
  EXPECT_EQ(a.slice({{5, 2}}).size(), 0);
  EXPECT_THROW(a.slice({{0, 5, 0}}), ArgumentError);
}

TEST_P(TensorTest, EveryDTypeGoesInAndComesOut) {
  const auto a = Tensor<1>::from({-1.5, 0, 3}, device());
  for (const auto t : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    EXPECT_EQ(a.cast(t).into_data().to_doubles(), (std::vector<double>{-1.5, 0, 3})) << name_of(t);
  }
  EXPECT_EQ(a.to_int().to_vector<std::int64_t>(), (Ints{-1, 0, 3}));
  EXPECT_EQ(a.to_bool().to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(a.to_int(DType::u8).into_data().to_doubles(), (std::vector<double>{0, 0, 3}));
}

TEST_P(TensorTest, RankZero) {
  const auto s = Tensor<0>::from(3.5f, device());
  EXPECT_EQ(s.item(), 3.5);
  EXPECT_EQ((s * s).item(), 12.25);
  const auto v = Tensor<1>::from({1, 2}, device());
  EXPECT_EQ((v * s).to_vector<float>(), (Floats{3.5, 7}));
}

TEST_P(TensorTest, SameSeedSameNumbersOnEveryDevice) {
  manual_seed(7);
  const auto here = Tensor<2>::random({5, 7}, device()).to_vector<float>();
  const auto normal = Tensor<1>::random_normal({100}, 0, 1, device()).to_vector<float>();
  manual_seed(7);
  EXPECT_EQ(Tensor<2>::random({5, 7}, Device::flex()).to_vector<float>(), here);
  const auto reference = Tensor<1>::random_normal({100}, 0, 1, Device::flex()).to_vector<float>();
  for (std::size_t i = 0; i < normal.size(); ++i) EXPECT_NEAR(normal[i], reference[i], 1e-5);
  for (float v : here) EXPECT_TRUE(v >= 0 && v < 1);
}

TEST_P(TensorTest, AsyncReadsGiveTheSameElements) {
  const auto a = Tensor<2>::ones({3, 3}, device());
  auto first = a.matmul(a).into_data_async();
  auto second = (a + 1.0).into_data_async();
  EXPECT_EQ(second.get().to_vector<float>(), Floats(9, 2.f));
  EXPECT_EQ(first.get().to_vector<float>(), Floats(9, 3.f));
}

TEST_P(TensorTest, ThreadsShareTensors) {
  const auto a = Tensor<2>::ones({16, 16}, device());
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto x = a * double(t + 1);
      for (int i = 0; i < 20; ++i) x = x.matmul(a) / 16.0;
      sums[static_cast<std::size_t>(t)] = x.sum().item();
    });
  }
  for (auto& t : threads) t.join();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(sums[static_cast<std::size_t>(t)], 256 * (t + 1));
}

TEST_P(TensorTest, MistakesThrowTypedErrorsThatSayWhat) {
  const auto a = Tensor<2>::ones({2, 3}, device()), b = Tensor<2>::ones({4, 5}, device());
  try {
    a.matmul(b);
    FAIL();
  } catch (const ShapeError& e) {
    const std::string what = e.what();
    for (const char* part : {"[matmul]", "[2, 3]", "[4, 5]", "3 and 4", "f32"}) {
      EXPECT_NE(what.find(part), std::string::npos) << what << " lacks " << part;
    }
  }
  EXPECT_THROW(a + b, ShapeError);
  EXPECT_THROW(a + Tensor<2>::ones({2, 3}, device(), DType::f64), DTypeError);
  EXPECT_THROW(a.reshape({4, 2}), ShapeError);
  EXPECT_THROW(a.sum(2), ShapeError);
  EXPECT_THROW(a.narrow(0, 1, 2), ShapeError);
  EXPECT_THROW(a.squeeze(0), ShapeError);
  EXPECT_THROW((Tensor<1, Int>::arange(0, 5, 0, device())), ArgumentError);
  EXPECT_THROW(Tensor<2>::from({{1, 2}, {3}}, device()), ShapeError);
  EXPECT_THROW(Tensor<1>::from_data(TensorData::from<float>({1, 2}, {1, 2}), device()), ShapeError);
  EXPECT_THROW((Tensor<1, Int>::from_data(TensorData::from<float>({1, 2}, {2}), device())), DTypeError);
  EXPECT_EQ(a.sum().item(), 6);  // and nothing was lost
}

TEST_P(TensorTest, AnImpossibleAllocationCanBeCaught) {
  const auto read = [&] {
    const auto big = Tensor<1>::zeros({std::int64_t{1} << 48}, device());
    (big + 1.0).into_data();
  };
  EXPECT_THROW(read(), OutOfMemoryError);
  EXPECT_EQ(Tensor<1>::ones({3}, device()).sum().item(), 3);
}

TEST_P(TensorTest, LazyGiantsKeepTheirShapeOrSayThatTheyOverflow) {
  const auto x = Tensor<1>::zeros({1}, device()).expand<2>({std::int64_t{1} << 30, 2});
  EXPECT_EQ(x.shape().product(), std::int64_t{1} << 31);
  EXPECT_THROW(x.expand<5>({1 << 30, 1 << 30, 1 << 30, std::int64_t{1} << 30, 2}), ShapeError);
}

TEST_P(TensorTest, PrintsNestedListsAndElidesTheMiddle) {
  const auto a = Tensor<2>::from({{1, 2.5}, {3, 4}}, device());
  EXPECT_EQ(a.to_string(), "[[1, 2.5],\n [3, 4]] f32[2, 2]");
  const auto text = Tensor<1, Int>::arange(0, 2000, 1, device()).to_string();
  EXPECT_EQ(text, "[0, 1, 2, ..., 1997, 1998, 1999] i64[2000]");
}

TEST_P(TensorTest, NpyFilesRoundTrip) {
  const auto dir = std::filesystem::temp_directory_path() / ("strata_npy_" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  const auto path = (dir / "a.npy").string();
  for (const auto t :
       {DType::f64, DType::f32, DType::f16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
    const auto data = TensorData::from<double>({0, 1, 2, 3, 4, 5}, {2, 3}).convert(t);
    save_npy(path, data);
    const auto back = load_npy(path);
    EXPECT_EQ(back.dtype(), t);
    EXPECT_EQ(back.shape(), (Shape{2, 3}));
    EXPECT_EQ(back.to_doubles(), data.to_doubles());
  }
  EXPECT_THROW(save_npy(path, TensorData::from<double>({1}, {1}).convert(DType::bf16)), DTypeError);
  EXPECT_THROW(load_npy((dir / "missing.npy").string()), IoError);
  std::ofstream(path) << "not numpy at all";
  EXPECT_THROW(load_npy(path), ArgumentError);
  std::filesystem::remove_all(dir);
}

TEST(Npy, ReadsFortranOrder) {
  const auto path =
      std::filesystem::temp_directory_path() / ("strata_f_" + std::to_string(::getpid()) + ".npy");
  std::string header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size()) << '\0' << header;
  const std::int32_t values[] = {1, 4, 2, 5, 3, 6};
  file.write(reinterpret_cast<const char*>(values), sizeof values);
  file.close();
  EXPECT_EQ(load_npy(path.string()).to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace strata
