#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "bridge/bridge.hpp"
#include "fusion/backends.hpp"
#include "interpreted/client.hpp"

namespace strata::fusion {
namespace {

using backend::ValueRef;
using namespace bridge;
using test::fused;
using test::unfused;

ValueRef put(backend::Backend& b, std::vector<float> v, const Shape& shape) {
  return b.from_data(TensorData::from<float>(std::span<const float>(v), shape));
}
std::vector<float> get(const ValueRef& v) { return v->backend.into_data(v).get().to_vector<float>(); }

/// Kernels launched by `work`, which must read what it wants to have run.
template <class F>
std::uint64_t launches(F&& work) {
  auto& client = runtime::cpu::client();
  client.sync();
  const auto before = client.counters().launches;
  work();
  client.sync();
  return client.counters().launches - before;
}

TEST(Fusion, AChainOfElementwiseOperationsIsOneLaunch) {
  const auto chain = [](backend::Backend& b) {
    auto x = put(b, {1, 2, 3, 4}, {4});
    for (int i = 0; i < 5; ++i) x = bridge::mul(bridge::add(x, 1), 0.5);
    return get(x);
  };
  std::vector<float> a, b;
  EXPECT_EQ(launches([&] { a = chain(fused()); }), 1u);
  EXPECT_EQ(launches([&] { b = chain(unfused()); }), 10u);  // constants are arguments in either case
  EXPECT_EQ(a, b);
}

TEST(Fusion, WhatFollowsAMatmulJoinsItsKernel) {
  auto& b = fused();
  const auto x = put(b, std::vector<float>(64, 1), {8, 8}), bias = put(b, std::vector<float>(8, -9), {8});
  std::vector<float> out;
  EXPECT_EQ(launches([&] {
              // Temporaries live to the end of their expression: read in a statement of its own.
              const auto y = bridge::binary(BinaryKind::max, bridge::add(bridge::matmul(x, x), bias), 0.5);
              out = get(y);
            }),
            1u);
  EXPECT_EQ(out, std::vector<float>(64, 0.5f));
}

/// On a device whose units can be less exact: 1 + 2^-12 needs more bits than tf32 has.
TEST(Fusion, AProductKeepsItsPrecisionInItsKernel) {
  static auto& client = *new interpreted::Client(interpreted::gpu_properties());
  static Fusion& lazy = test::make(client, true);
  const auto x = put(lazy, std::vector<float>(32 * 32, 1 + 0x1p-12f), {32, 32}),
             bias = put(lazy, std::vector<float>(32, -1), {32});
  const auto element = [&](Precision precision) {
    client.sync();
    const auto before = client.counters().launches;
    const auto y = bridge::add(bridge::matmul(x, x, precision), bias);
    const auto all = get(y);
    EXPECT_EQ(client.counters().launches - before, 1u);
    return all[33];
  };
  EXPECT_EQ(element(Precision::tf32), 31);
  EXPECT_GT(element(Precision::exact), 31 + 0x1p-8);
  EXPECT_GT(element(Precision::split), 31 + 0x1p-8);
}

TEST(Fusion, ValuesStillHeldAreWrittenByTheSameLaunch) {
  auto& b = fused();
  const auto x = put(b, {1, 2, 3}, {3});
  const auto y = bridge::add(x, 1), z = bridge::mul(y, y);
  std::vector<float> ys, zs;
  EXPECT_EQ(launches([&] {
              zs = get(z);
              ys = get(y);
            }),
            1u);
  EXPECT_EQ(ys, (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(zs, (std::vector<float>{4, 9, 16}));
}

TEST(Fusion, WhatNobodyCanReachIsNotComputed) {
  auto& b = fused();
  const auto x = put(b, {1, 2, 3}, {3});
  EXPECT_EQ(launches([&] {
              bridge::unary(UnaryKind::exp, x);
              b.sync();
            }),
            0u);
}

TEST(Fusion, AHeldProductAndItsEpilogueAreBothRight) {
  auto& b = fused();
  const auto x = put(b, {1, 2, 3, 4}, {2, 2});
  const auto product = bridge::matmul(x, x), shifted = bridge::add(product, 1);
  EXPECT_EQ(get(shifted), (std::vector<float>{8, 11, 16, 23}));
  EXPECT_EQ(get(product), (std::vector<float>{7, 10, 15, 22}));
}

TEST(Fusion, ReadsInAnyOrderSeeTheSameValues) {  // case 41
  for (const bool y_first : {true, false}) {
    auto& b = fused();
    auto x = put(b, {1}, {1});
    const auto y = bridge::add(x, 10);
    x = bridge::mul(x, 2);
    x = bridge::add(x, 3);
    if (y_first) {
      EXPECT_EQ(get(y)[0], 11);
    }
    EXPECT_EQ(get(x)[0], 5);
    EXPECT_EQ(get(y)[0], 11);
  }
}

TEST(Fusion, NothingRunsBeforeARead) {
  auto& b = fused();
  const auto x = put(b, {1, 2, 3, 4}, {2, 2});
  static_cast<void>(get(x));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ValueRef y;
  EXPECT_EQ(launches([&] {
              y = bridge::matmul(x, x);
              std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }),
            0u);
  EXPECT_EQ(launches([&] { static_cast<void>(get(y)); }), 1u);
}

TEST(Fusion, ALongProgramWithoutReadsKeepsTheDeviceBusyAndMemoryBounded) {
  auto& b = fused();
  auto x = put(b, std::vector<float>(1000, 1), {1000});
  EXPECT_GT(launches([&] {
              for (int i = 0; i < 5000; ++i) x = bridge::add(x, 1);
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }),
            50u);
  EXPECT_EQ(get(x)[7], 5001);
}

TEST(Fusion, StreamsOfThreadsMeetInOrder) {
  auto& b = fused();
  for (int round = 0; round < 100; ++round) {
    const auto x = put(b, {1, 2}, {2});
    ValueRef from_thread;
    std::thread([&] { from_thread = bridge::add(bridge::mul(x, 3), 1); }).join();
    const auto y = bridge::add(x, from_thread);  // consumes what is pending in another thread's stream
    ASSERT_EQ(get(y), (std::vector<float>{5, 9}));
  }
}

TEST(Fusion, ValuesMoveBetweenDevicesThatReachEachOther) {
  auto& here = fused();
  auto& there = test::make(*new runtime::cpu::CpuClient({.threads = 1}), true);
  const auto x = put(here, {1, 2, 3, 4, 5, 6}, {2, 3});
  const auto moved = there.from_peer(bridge::add(x, 1));  // still to be computed
  ASSERT_TRUE(moved);
  EXPECT_EQ(&moved->backend, &there);
  EXPECT_EQ(get(bridge::mul(moved, 2)), (std::vector<float>{4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(get(there.from_peer(bridge::transpose(x))), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(get(there.from_peer(bridge::slice(x, {1, 1}, {2, 3}, {1, 1}))), (std::vector<float>{5, 6}));
  // There and back, from two threads at once.
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto back = here.from_peer(bridge::add(there.from_peer(bridge::add(x, i)), 1));
        EXPECT_EQ(get(back)[5], static_cast<float>(7 + i));
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_FALSE(there.from_peer(put(flex::instance(), {1}, {1}))) << "flex lends nothing";
  EXPECT_FALSE(there.from_peer(put(here, {}, {0})));
}

TEST(Fusion, AValueThatFailedDoesNotMove) {
  auto& client = *new runtime::cpu::CpuClient({.threads = 1});
  auto& here = test::make(client, true);
  auto& there = test::make(*new runtime::cpu::CpuClient({.threads = 1}), true);
  const auto x = put(here, {1, 2}, {2});
  client.faults().fail_next_compile("expm1_f32");
  const auto failed = bridge::unary(UnaryKind::expm1, x);
  EXPECT_THROW(there.from_peer(failed), CompileError);
  EXPECT_EQ(get(there.from_peer(x)), (std::vector<float>{1, 2}));
}

TEST(Fusion, AMistakeQueuesNothing) {
  auto& b = fused();
  const auto x = put(b, {1, 2}, {2}), y = put(b, {1, 2, 3}, {3});
  static_cast<void>(get(x));
  EXPECT_EQ(launches([&] {
              EXPECT_THROW(bridge::add(x, y), ShapeError);
              b.sync();
            }),
            0u);
}

TEST(Fusion, AKernelThatDoesNotCompileFailsItsReadersOnly) {  // case 47
  auto& b = fused();
  const auto x = put(b, {1, 2, 3}, {3});
  const auto before = bridge::mul(x, 2);
  EXPECT_EQ(get(before), (std::vector<float>{2, 4, 6}));
  const auto broken = bridge::unary(UnaryKind::expm1, x);
  runtime::cpu::client().faults().fail_next_compile("expm1_f32");
  const auto after = bridge::reduce_all(ReduceKind::sum, broken);
  for (const auto& tainted : {after, broken}) {
    try {
      get(tainted);
      FAIL() << "no error";
    } catch (const CompileError& e) {
      EXPECT_NE(std::string(e.what()).find("expm1_f32"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(get(bridge::add(before, 1)), (std::vector<float>{3, 5, 7}));
}

/// Random programs, fused against one operation at a time. The same bits are promised.
TEST(Fusion, RandomProgramsGiveTheSameBitsFusedAndNot) {
  std::mt19937 generator(20);
  const auto pick = [&](int n) { return static_cast<int>(generator() % static_cast<unsigned>(n)); };
  for (int program = 0; program < 60; ++program) {
    const auto seed = generator();
    const auto run = [&](backend::Backend& b) {
      generator.seed(seed);
      std::vector<ValueRef> values;
      for (int i = 0; i < 3; ++i) {
        values.push_back(
            bridge::random(b, {{3, 5}, DType::f32, op::Distribution::uniform, 0.25, 2, seed + i}));
      }
      values.push_back(bridge::random(b, {{5}, DType::f32, op::Distribution::uniform, 0.25, 2, seed + 7}));
      for (int i = 0; i < 25; ++i) {
        const auto& a = values[static_cast<std::size_t>(pick(static_cast<int>(values.size())))];
        const auto& c = values[static_cast<std::size_t>(pick(static_cast<int>(values.size())))];
        constexpr UnaryKind unary[] = {UnaryKind::neg, UnaryKind::tanh, UnaryKind::sigmoid, UnaryKind::abs,
                                       UnaryKind::floor};
        constexpr BinaryKind binary[] = {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::max};
        switch (pick(7)) {
          case 0:
            values.push_back(bridge::unary(unary[pick(5)], a));
            break;
          case 1:
          case 2:
            values.push_back(bridge::binary(binary[pick(4)], a, c));
            break;
          case 3:
            values.push_back(bridge::where(bridge::compare(CompareKind::less, a, c), a, c));
            break;
          case 4:
            values.push_back(bridge::cast(bridge::cast(a, DType::f16), DType::f32));
            break;
          case 5:
            values.push_back(bridge::mul(bridge::add(a, 0.5), 0.25));
            break;
          case 6:
            if (a->shape.rank() == 2) values.push_back(bridge::flip(a, {0}));
            break;
        }
        if (pick(4) == 0) values.erase(values.begin() + pick(static_cast<int>(values.size()) - 2));
      }
      std::vector<std::vector<float>> out;
      for (const auto& v : values) out.push_back(get(v));
      return out;
    };
    const auto a = run(fused()), c = run(unfused());
    ASSERT_EQ(a.size(), c.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), c[i].size());
      ASSERT_EQ(std::memcmp(a[i].data(), c[i].data(), a[i].size() * sizeof(float)), 0)
          << "program " << program;
    }
  }
}

}  // namespace
}  // namespace strata::fusion
