#include "flex/value.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/bridge.hpp"
#include "flex/flex.hpp"
#include "flex/memory.hpp"

namespace strata {
namespace {

using backend::ValueRef;

ValueRef ramp(const Shape& shape) {
  return bridge::reshape(bridge::iota(flex::instance(), shape.product(), DType::f32, 0, 1), shape);
}
const std::byte* bytes_of(const ValueRef& v) { return flex::flex(v).data(); }

TEST(FlexValue, LayoutOperationsShareTheirElements) {
  const auto x = ramp({4, 6});
  const auto* start = bytes_of(x);
  EXPECT_EQ(bytes_of(bridge::transpose(x)), start);
  EXPECT_EQ(bytes_of(bridge::reshape(x, {2, 12})), start);
  EXPECT_EQ(bytes_of(bridge::expand(x, {3, 4, 6})), start);
  EXPECT_EQ(bytes_of(bridge::slice(x, {1, 2}, {4, 6}, {1, 2})), start + 8 * sizeof(float));
  EXPECT_EQ(bytes_of(bridge::flip(x, {0, 1})), start + 23 * sizeof(float));
  EXPECT_EQ(bytes_of(bridge::reshape(bridge::transpose(x), {6, 2, 2})), start);
  EXPECT_NE(bytes_of(bridge::reshape(bridge::transpose(x), {24})), start);
}

TEST(FlexValue, ViewsKeepTheirElementsAlive) {
  ValueRef view;
  {
    const auto x = ramp({100, 100});
    view = bridge::slice(bridge::transpose(x), {5, 0}, {6, 3}, {1, 1});
  }
  static_cast<void>(ramp({100, 100}));
  EXPECT_EQ(flex::instance().into_data(view).get().to_vector<float>(), (std::vector<float>{5, 105, 205}));
}

TEST(FlexValue, DataIsSharedInBothDirectionsWhenItsLayoutAllows) {
  const auto data = TensorData::from<float>({1, 2, 3, 4}, {2, 2});
  const auto x = flex::instance().from_data(data);
  EXPECT_EQ(bytes_of(x), data.bytes());
  EXPECT_EQ(flex::instance().into_data(x).get().bytes(), data.bytes());
  EXPECT_NE(flex::instance().into_data(bridge::transpose(x)).get().bytes(), data.bytes());
  static_cast<void>(bridge::add(x, x));
  EXPECT_EQ(data.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(FlexValue, ElementsAreAligned) {
  for (std::int64_t n : {1, 3, 100, 5000, 100000, 3000000}) {
    const auto x = bridge::fill(flex::instance(), {n}, DType::f32, 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes_of(x)) % (n > 8192 ? 4096 : 64), 0u) << n;
  }
}

TEST(FlexMemory, LargeBlocksAreKeptAndReused) {
  flex::trim();
  EXPECT_EQ(flex::cached_bytes(), 0u);
  constexpr std::size_t bytes = 5 << 20;
  auto* first = flex::allocate(bytes);
  ASSERT_NE(first, nullptr);
  flex::release(first, bytes);
#if !defined(__SANITIZE_ADDRESS__)  // under it nothing is cached
  EXPECT_GE(flex::cached_bytes(), bytes);
  auto* second = flex::allocate(bytes - 1000);  // the same size class
  EXPECT_EQ(second, first);
  flex::release(second, bytes - 1000);
#endif
  flex::trim();
  EXPECT_EQ(flex::cached_bytes(), 0u);
}

TEST(FlexMemory, BlocksOfEverySizeHoldWhatTheyPromise) {
  for (std::size_t bytes = 1; bytes < (9u << 20); bytes += bytes / 3 + 1) {
    auto* block = flex::allocate(bytes);
    ASSERT_NE(block, nullptr);
    std::fill(block, block + bytes, std::byte{1});
    flex::release(block, bytes);
  }
  EXPECT_EQ(flex::allocate(std::size_t{1} << 50), nullptr);
  EXPECT_EQ(flex::allocate(~std::size_t{0}), nullptr);
}

TEST(FlexMemory, TensorsCrossThreads) {
  ValueRef x;
  std::thread maker([&] { x = ramp({3, 5}); });
  maker.join();  // its free lists are gone, its tensor is not
  EXPECT_EQ(flex::instance().into_data(x).get().to_vector<float>()[14], 14);
  std::thread dropper([&] { x = nullptr; });
  dropper.join();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const auto a = bridge::fill(flex::instance(), {40, 40}, DType::f32, t);
      for (int i = 0; i < 50; ++i) {
        const auto sum = bridge::reduce_all(op::ReduceKind::sum, bridge::matmul(a, a));
        ASSERT_EQ(flex::instance().into_data(sum).get().as<float>()[0], static_cast<float>(64000 * t * t));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Flex, NamesItself) {
  EXPECT_EQ(flex::instance().name(), "flex");
  EXPECT_NE(flex::description().find("oneDNN"), std::string::npos);
}

TEST(Flex, ValuesOfOtherBackendsAreRefused) {
  flex::Flex other;
  const auto here = ramp({2}), there = bridge::fill(other, {2}, DType::f32, 1);
  EXPECT_THROW(bridge::add(here, there), DeviceError);
}

TEST(Flex, ErrorsNameWhatWasAsked) {
  try {
    bridge::add(ramp({2, 3}), ramp({2, 4}));
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(std::string(e.what()),
              "[add] shapes [2, 3] and [2, 4] do not broadcast: axis 1 has extents 3 and 4; they must be "
              "equal or one of "
              "them 1 (inputs: f32[2, 3], f32[2, 4]; device: flex)");
  }
  try {
    bridge::matmul(
        bridge::expand(bridge::fill(flex::instance(), {1, 1}, DType::f32, 1), {std::int64_t{1} << 24, 1}),
        bridge::expand(bridge::fill(flex::instance(), {1, 1}, DType::f32, 1), {1, std::int64_t{1} << 24}));
    FAIL();
  } catch (const OutOfMemoryError& e) {
    EXPECT_EQ(std::string(e.what()),
              "[matmul] cannot allocate 1125899906842624 bytes for the result f32[16777216, 16777216] "
              "(device: flex)");
  }
}

/// Exit status of a forked child that runs `body`.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends a child that waits for ever
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(FlexFork, TheChildComputesOnSeveralThreads) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer does not follow threads started after a fork";
#endif
  const auto product = [] {  // oneDNN's threads, then ours
    const auto x = bridge::fill(flex::instance(), {700, 700}, DType::f32, 0.5);
    const auto y = bridge::unary(op::UnaryKind::neg, bridge::matmul(x, x));
    return flex::instance().into_data(y).get().to_vector<float>().back();
  };
  EXPECT_EQ(product(), -175);
  EXPECT_EQ(in_child([&] { return product() == -175; }), 0);
  EXPECT_EQ(product(), -175);
}

TEST(FlexFork, TheChildFindsTheMemoryPoolUnlocked) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's own allocator does not survive a fork beside a thread that allocates";
#endif
  std::atomic<bool> done = false;
  std::thread busy([&] {
    while (!done) flex::release(flex::allocate(1 << 20), 1 << 20);
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(in_child([] {
                auto* block = flex::allocate(1 << 20);
                flex::release(block, 1 << 20);
                return block != nullptr;
              }),
              0);
  }
  done = true;
  busy.join();
}

}  // namespace
}  // namespace strata
