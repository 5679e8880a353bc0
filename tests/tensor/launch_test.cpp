/// Kernels of the caller on tensors, on every device.
#include <numeric>

#include "tensor/devices.hpp"

namespace strata {
namespace {

using namespace lang;
using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

class LaunchTest : public test::OnEveryDevice {};
STRATA_ON_EVERY_DEVICE(LaunchTest);
class LaunchGradientTest : public test::OnEveryDevice {};
STRATA_ON_EVERY_BARE_DEVICE(LaunchGradientTest);

const auto axpy = kernel("axpy", [](In<f32> x, InOut<f32> y, Scalar<f32> a) {
  const auto i = absolute_pos();
  if_(i < y.len(), [&] { y[i] = fma(a, x[i], y[i]); });
});

/// Twice each element; no element is guarded.
template <class T>
auto doubled() {
  return kernel("doubled", Cube{32}, [](In<T> x, Out<T> y) {
    const auto i = absolute_pos();
    if constexpr (std::same_as<T, bool>) {
      if_(i < y.len(), [&] { y[i] = !x[i]; });
    } else {
      if_(i < y.len(), [&] { y[i] = x[i] + x[i]; });
    }
  });
}

static_assert(strata::detail::Passes<In<f32>, Tensor<3>> &&
              strata::detail::Passes<InOut<i32>, Tensor<1, Int>> &&
              strata::detail::Passes<Out<bool>, Output<2>> && strata::detail::Passes<Scalar<f32>, int>);
static_assert(!strata::detail::Passes<In<f32>, Tensor<1, Int>> &&
                  !strata::detail::Passes<InOut<bool>, Tensor<1>>,
              "a tensor of another kind");
static_assert(!strata::detail::Passes<In<u32>, Tensor<1, Int>>, "no tensor has u32");
static_assert(!strata::detail::Passes<Out<f32>, Tensor<1>> && !strata::detail::Passes<In<f32>, float>);
static_assert(!strata::detail::Passes<Scalar<i32>, double> && !strata::detail::Passes<Scalar<bool>, int>,
              "nothing is rounded");

template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_P(LaunchTest, AResultIsANewTensor) {
  const auto x = Tensor<1>::arange(0, 1000, 1, device()), y = Tensor<1>::ones({1000}, device());
  const Tensor<1> z = launch(axpy, x, y, 2);
  const auto got = z.to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2 * static_cast<float>(i) + 1);
  EXPECT_EQ(y.to_vector<float>(), Floats(1000, 1));
  EXPECT_EQ(z.device(), device());
  EXPECT_EQ(launch(axpy, z, z, 0.5).to_vector<float>()[3], 10.5F);
}

TEST_P(LaunchTest, TheKernelSeesRowMajorElementsOfEveryLayout) {
  const auto x = Tensor<2>::from({{1, 2, 3}, {4, 5, 6}}, device());
  const auto twice = doubled<f32>();
  const auto run = [&](const Tensor<2>& v) {
    return launch(twice, v, output<2>(v.shape())).to_vector<float>();
  };
  EXPECT_EQ(run(x), (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(run(x.transpose()), (Floats{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(run(x.flip({1})), (Floats{6, 4, 2, 12, 10, 8}));
  EXPECT_EQ(run(x.narrow(0, 1, 1)), (Floats{8, 10, 12}));
  EXPECT_EQ(run(x.narrow(0, 0, 1).expand<2>({2, 3})), (Floats{2, 4, 6, 2, 4, 6}));
  EXPECT_EQ(run(x.narrow(1, 0, 0)), Floats());
  EXPECT_EQ(launch(twice, x.sum(), output<0>({})).to_vector<float>(), Floats{42});
}

TEST_P(LaunchTest, EveryElementType) {
  const auto check = [&]<class T, class Kind>() {
    const auto data = TensorData::from<double>(std::vector<double>{0, 1, 2}, {3}).convert(dtype_of<T>());
    const auto x = Tensor<1, Kind>::from_data(data, device());
    const auto y = launch(doubled<T>(), x, output<1>({3}));
    EXPECT_EQ(y.dtype(), dtype_of<T>());
    const auto expected = std::same_as<T, bool> ? std::vector<double>{1, 0, 0} : std::vector<double>{0, 2, 4};
    EXPECT_EQ(y.into_data().to_doubles(), expected) << name_of(dtype_of<T>());
  };
  check.operator()<f64, Float>();
  check.operator()<f32, Float>();
  check.operator()<f16, Float>();
  check.operator()<bf16, Float>();
  check.operator()<i64, Int>();
  check.operator()<i32, Int>();
  check.operator()<u8, Int>();
  check.operator()<bool, Bool>();
}

TEST_P(LaunchTest, ScalarsOfEveryType) {
  const auto all =
      kernel("scalars", Cube{1},
             [](Out<f64> y, Scalar<f64> a, Scalar<f32> b, Scalar<f16> c, Scalar<bf16> d, Scalar<i64> e,
                Scalar<i32> f, Scalar<u8> g, Scalar<bool> h, Scalar<u32> i, Scalar<u64> j) {
               y[0] = a;
               y[1] = convert<f64>(b);
               y[2] = convert<f64>(c);
               y[3] = convert<f64>(d);
               y[4] = convert<f64>(e);
               y[5] = convert<f64>(f);
               y[6] = convert<f64>(g);
               y[7] = convert<f64>(h);
               y[8] = convert<f64>(i);
               y[9] = convert<f64>(j);
             });
  const auto run = [&](auto f) {
    return launch(device(), all, Grid{}, output<1>({10}), 0.1, 0.5F, -2, 3.0F, -(std::int64_t{1} << 40), f,
                  200, true, 4000000000u, std::uint64_t{1} << 63);
  };
  EXPECT_EQ(run(-7).into_data().to_doubles(),
            (std::vector<double>{0.1, 0.5, -2, 3, -0x1p40, -7, 200, 1, 4e9, 0x1p63}));
  EXPECT_NE(message_of<ArgumentError>([&] { run(std::int64_t{1} << 31); }).find("2147483648 does not fit"),
            std::string::npos);
}

TEST_P(LaunchTest, SharedArraysBarriersAndSeveralResults) {
  // Of each row: its sum, and its elements the other way round.
  const auto rows =
      kernel("rows", Cube{64}, [](In<i64> x, Out<i64> sum, Out<i64> reversed, Scalar<i64> columns) {
        SharedArray<i64> part(64);
        const auto u = convert<i64>(unit_x()), row = convert<i64>(cube_x()) * columns;
        Var<i64> total = 0;
        for_(u, columns, 64, [&](auto i) {
          total += x[row + i];
          reversed[row + columns - 1 - i] = x[row + i];
        });
        part[u] = total;
        for (std::int64_t width = 32; width > 0; width /= 2) {
          barrier();
          if_(u < width, [&] { part[u] += part[u + width]; });
        }
        if_(u == 0, [&] { sum[convert<i64>(cube_x())] = part[0]; });
      });
  const auto x = Tensor<2, Int>::from(
      [] {
        std::vector<std::int64_t> v(5 * 300);
        std::iota(v.begin(), v.end(), 0);
        return v;
      }(),
      {5, 300}, device());
  const auto [sum, reversed] = launch(rows, Grid{5}, x, output<1>({5}), output<2>({5, 300}), 300);
  EXPECT_EQ(sum.to_vector<std::int64_t>(), x.sum(1).template to_vector<std::int64_t>());
  EXPECT_EQ(reversed.to_vector<std::int64_t>(), x.flip({1}).to_vector<std::int64_t>());
}

TEST_P(LaunchTest, ResultsFlowIntoOtherOperations) {
  const auto x = Tensor<1>::arange(0, 100, 1, device());
  const auto y = launch(axpy, x + 1, x * 2, 3) * 2 - x;
  const auto got = y.to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 9 * static_cast<float>(i) + 6);
}

TEST_P(LaunchTest, AnAccessBeyondATensorIsAnErrorOfTheReader) {
  const auto copy = kernel("copy", Cube{8}, [](In<f32> x, Scalar<i64> shift, Out<f32> y, Out<i32> whole) {
    const auto i = absolute_pos();
    y[i] = x[i + shift];
    whole[i] = 1;
  });
  const auto x = Tensor<1>::ones({16}, device());
  const auto run = [&](std::int64_t shift, std::uint32_t cubes) {
    const auto [y, whole] = launch(copy, Grid{cubes}, x, shift, output<1>({16}), output<1>({16}));
    return y.to_vector<float>();
  };
  EXPECT_EQ(run(0, 2), Floats(16, 1));
  EXPECT_NE(message_of<IndexError>([&] {
              run(1, 2);
            }).find("[copy] the kernel uses element 16 of argument 0, which has 16 (f32)"),
            std::string::npos)
      << message_of<IndexError>([&] { run(1, 2); });
  EXPECT_NE(message_of<IndexError>([&] { run(-3, 2); }).find("element -3 of argument 0"), std::string::npos);
  EXPECT_NE(message_of<IndexError>([&] { run(std::int64_t{1} << 62, 2); }).find("of argument 0"),
            std::string::npos);
  EXPECT_NE(message_of<IndexError>([&] { run(-16, 3); }).find("element -16 of argument 0"),
            std::string::npos);
  const auto store = kernel("store", Cube{8}, [](InOut<f32> y) { y[absolute_pos() * 2] = 5; });
  EXPECT_NE(
      message_of<IndexError>([&] { launch(store, x).to_vector<float>(); }).find("element 16 of argument 0"),
      std::string::npos);
  EXPECT_EQ((x + 1).to_vector<float>(), Floats(16, 2)) << "the device goes on";
}

TEST_P(LaunchTest, VectorsAtomicsAndArraysAreCheckedToo) {
  const auto x = Tensor<1>::ones({6}, device());
  const auto vectors = kernel(
      "vectors", Cube{1}, [](In<f32> v, Out<f32> y, Scalar<i64> at) { y.store<4>(at, v.load<4>(at) + 1); });
  const auto run = [&](std::int64_t at) {
    return launch(vectors, Grid{}, x, output<1>({6}), at).to_vector<float>();
  };
  EXPECT_EQ(run(2)[5], 2);
  EXPECT_NE(message_of<IndexError>([&] { run(3); }).find("element 3 of argument"), std::string::npos);
  const auto counts =
      kernel("counts", Cube{8}, [](In<i64> at, InOut<i64> n) { n.atomic_add(at[unit_x()], 1); });
  const auto count = [&](std::int64_t last) {
    const auto v = Tensor<1, Int>::from({0, 1, 1, 2, 2, 2, 3, last}, device());
    return launch(counts, Grid{}, v, Tensor<1, Int>::zeros({4}, device())).to_vector<std::int64_t>();
  };
  EXPECT_EQ(count(0), (Longs{2, 2, 3, 1}));
  EXPECT_NE(message_of<IndexError>([&] { count(4); }).find("element 4 of argument 1"), std::string::npos);
  const auto arrays = kernel("arrays", Cube{4}, [](In<i64> at, Out<i64> y) {
    SharedArray<i64> part(4);
    part[at[unit_x()]] = 7;
    barrier();
    y[unit_x()] = part[unit_x()];
  });
  const auto pick = [&](std::int64_t last) {
    return launch(arrays, Grid{}, Tensor<1, Int>::from({0, 1, 2, last}, device()), output<1>({4}))
        .to_vector<std::int64_t>();
  };
  EXPECT_EQ(pick(3), Longs(4, 7));
  EXPECT_NE(message_of<IndexError>([&] { pick(4); }).find("element 4 of a shared array, which has 4 (i64)"),
            std::string::npos);
}

TEST_P(LaunchTest, ArgumentsThatDoNotFitAreRefused) {
  const auto x = Tensor<1>::ones({4}, device());
  const auto message = message_of<DTypeError>([&] { launch(axpy, x.cast(DType::f64), x, 1); });
  EXPECT_NE(message.find("[axpy] argument 0 is f32 in the kernel, not f64"), std::string::npos) << message;
  EXPECT_NE(message_of<ArgumentError>([&] { launch(axpy, Grid{0}, x, x, 1); }).find("grid of 0 x 1 x 1"),
            std::string::npos);
  EXPECT_NE(message_of<ArgumentError>([&] {
              launch(axpy, Grid{1, 70000}, x, x, 1);
            }).find("grid of 1 x 70000 x 1"),
            std::string::npos);
  EXPECT_THROW(output<2>({3}), ShapeError);
  const auto sevens = kernel("sevens", [](Out<f32> y) {
    const auto i = absolute_pos();
    if_(i < y.len(), [&] { y[i] = 7; });
  });
  EXPECT_THROW(launch(sevens, output<1>({3})), DeviceError);
  EXPECT_EQ(launch(device(), sevens, output<1>({3})).to_vector<float>(), Floats(3, 7));
  EXPECT_EQ(launch(device(), sevens, output<1>({0})).to_vector<float>(), Floats());
  const auto other = GetParam() == std::string_view("flex") ? Device::flex().autodiff() : Device::flex();
  EXPECT_THROW(launch(axpy, x, x.to_device(other), 1), DeviceError);
}

TEST(Launch, KernelsThatCannotBeAreRefused) {
  EXPECT_THROW(kernel("wide", Cube{1025}, [](Out<f32> y) { y[0] = 1; }), CompileError);
  EXPECT_THROW(kernel("wide", Cube{0xffffffff, 0xffffffff, 0xffffffff}, [](Out<f32> y) { y[0] = 1; }),
               CompileError);
  const auto beyond = message_of<CompileError>([] {
    kernel("beyond", [](Out<f32> y) {
      LocalArray<f32> a(4);
      a[4] = 1;
      y[0] = a[0];
    });
  });
  EXPECT_NE(beyond.find("index 4 lies outside an array of 4 elements"), std::string::npos) << beyond;
}

TEST(Launch, EqualKernelsHaveEqualHashes) {
  const auto same = kernel("axpy", [](In<f32> x, InOut<f32> y, Scalar<f32> a) {
    const auto i = absolute_pos();
    if_(i < y.len(), [&] { y[i] = fma(a, x[i], y[i]); });
  });
  EXPECT_EQ(same.signature().hash, axpy.signature().hash);
  EXPECT_NE(doubled<f32>().signature().hash, axpy.signature().hash);
}

TEST_P(LaunchGradientTest, CustomGradientsMakeAKernelDifferentiable) {
  const auto square = kernel("square", [](In<f32> x, Out<f32> y) {
    const auto i = absolute_pos();
    if_(i < y.len(), [&] { y[i] = x[i] * x[i]; });
  });
  const auto x = Tensor<1>::from({1, 2, 3}, device().autodiff()).require_grad();
  const auto run = [&](const Tensor<1>& v) { return launch(square, v, output<1>(v.shape())); };
  const auto y = custom_gradient(
      run, [](const Tensor<1>& g, const Tensor<1>&, const Tensor<1>& v) { return std::tuple(2 * v * g); }, x);
  EXPECT_EQ(x.grad((3 * y).sum().backward()).to_vector<float>(), (Floats{6, 12, 18}));
  EXPECT_EQ(y.to_vector<float>(), (Floats{1, 4, 9}));
}

TEST_P(LaunchGradientTest, BackwardThroughABareKernelSaysWhatToDo) {
  const auto x = Tensor<1>::from({1, 2, 3}, device().autodiff()).require_grad();
  const auto y = launch(axpy, x, x, 1);
  EXPECT_EQ(y.to_vector<float>(), (Floats{2, 4, 6}));
  const auto message = message_of<ArgumentError>([&] { (y * 2).sum().backward(); });
  EXPECT_NE(message.find("[axpy] is a kernel, whose gradient nobody knows"), std::string::npos) << message;
}

}  // namespace
}  // namespace strata
