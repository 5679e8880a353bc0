#include "tensor/devices.hpp"

namespace strata {
namespace {

using test::OnEveryDevice;
using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

class ReadTest : public OnEveryDevice {};
STRATA_ON_EVERY_DEVICE(ReadTest);

TEST_P(ReadTest, TensorsOfAnyRankKindDtypeAndDevice) {
  const auto a = Tensor<2>::from({{1, 2, 3}, {4, 5, 6}}, device());
  const auto [sum, order, positive, view, half, empty, elsewhere] =
      read_all(a.sum(), a.argsort(1, true), a.greater(2), a.t(), a.cast(DType::f16) * 0.5,
               Tensor<3>::zeros({2, 0, 1}, device()), Tensor<1>::from({7}, Device::flex()) + 1);
  EXPECT_EQ(sum.shape(), Shape{});
  EXPECT_EQ(sum.to_vector<float>(), (Floats{21}));
  EXPECT_EQ(order.to_vector<std::int64_t>(), (Ints{2, 1, 0, 2, 1, 0}));
  EXPECT_EQ(positive.to_vector<bool>(), (std::vector<bool>{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(view.shape(), (Shape{3, 2}));
  EXPECT_EQ(view.to_vector<float>(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(half.dtype(), DType::f16);
  EXPECT_EQ(half.to_doubles(), (std::vector<double>{0.5, 1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(empty.shape(), (Shape{2, 0, 1}));
  EXPECT_EQ(elsewhere.to_vector<float>(), (Floats{8}));
}

TEST_P(ReadTest, AsManyAsAVectorHolds) {
  const auto a = Tensor<1>::from({1, 2}, device());
  const auto parts = read_all(std::vector{a, a + 1, a * a});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(parts[1].to_vector<float>(), (Floats{2, 3}));
  EXPECT_EQ(parts[2].to_vector<float>(), (Floats{1, 4}));
  EXPECT_TRUE(read_all(std::vector<Tensor<1>>()).empty());
  EXPECT_TRUE(read_all_async(std::vector<Tensor<1>>()).empty());
}

TEST_P(ReadTest, WithoutWaiting) {
  const auto a = Tensor<1>::from({1, 2}, device());
  auto [sum, elsewhere, square] =
      read_all_async(a.sum(), Tensor<1>::from({7}, Device::flex()), a.to_int() * a.to_int());
  EXPECT_EQ(square.get().to_vector<std::int64_t>(), (Ints{1, 4}));
  EXPECT_EQ(elsewhere.get().to_vector<float>(), (Floats{7}));
  EXPECT_EQ(sum.get().to_vector<float>(), (Floats{3}));
  auto parts = read_all_async(std::vector{a, a + 1});
  EXPECT_EQ(parts.at(1).get().to_vector<float>(), (Floats{2, 3}));
}

TEST_P(ReadTest, AnErrorIsThatOfItsOwnTensor) {
  if (std::string_view(GetParam()).starts_with("flex")) return;  // throws when called
  const auto a = Tensor<1>::from({1, 2}, device());
  const auto bad = a.select(0, Tensor<1, Int>::from({5}, device()));
  EXPECT_THROW(read_all(a + 1, bad), IndexError);
  EXPECT_THROW(read_all(bad, Tensor<1>::from({7}, Device::flex())), IndexError);
  auto [good, failed] = read_all_async(a + 1, bad);
  EXPECT_THROW(failed.get(), IndexError);
  EXPECT_EQ(good.get().to_vector<float>(), (Floats{2, 3}));
}

// z closes the block of x and y: read one by one, the host would wait for x before z is computed.
TEST_P(ReadTest, ALazyDeviceIsDrainedOnceAndBeforeItIsRead) {
  if (std::string_view(GetParam()).starts_with("flex")) return;
  const auto a = Tensor<2>::from({{1, 2, 3}, {4, 5, 6}}, device());
  const auto b = Tensor<1>::from({1, 2}, device());
  static_cast<void>(read_all(a, b));
  for (const bool waits : {true, false}) {
    std::vector<std::string> events;
    int drains = 0;
    auto subscription = trace::subscribe([&](const trace::Event& e) {
      if (e.layer == "fusion" && e.name == "drain") ++drains;
      if ((e.layer == "fusion" && e.name == "fuse") || (e.layer == "cube" && e.name == "into_data"))
        events.emplace_back(e.name);
    });
    const auto x = a * 2, y = a + 1;
    const auto z = b * 3;
    std::array<TensorData, 3> parts;
    if (waits) {
      parts = read_all(x, y, z);
    } else {
      auto futures = read_all_async(x, y, z);
      for (std::size_t i = 0; i < 3; ++i) parts[i] = futures[i].get();
    }
    subscription.reset();
    EXPECT_EQ(events, (std::vector<std::string>{"fuse", "fuse", "into_data", "into_data", "into_data"}));
    EXPECT_LE(drains, 1);  // none when the device's thread has yet to end it
    EXPECT_EQ(parts[0].to_vector<float>(), (Floats{2, 4, 6, 8, 10, 12}));
    EXPECT_EQ(parts[1].to_vector<float>(), (Floats{2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(parts[2].to_vector<float>(), (Floats{3, 6}));
  }
}

}  // namespace
}  // namespace strata
