#include <thread>

#include "support.hpp"

namespace strata::runtime {
namespace {

using test::affine, test::bits, test::Device, test::increment;
using Floats = std::vector<float>;
using namespace std::chrono_literals;

TEST(Client, RunsAKernelOverAllCubes) {
  Device d;
  Floats in(5000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  const auto out = d.download(d.run(d.client.program(affine("affine_1")), d.upload(in), 2));
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 2 * static_cast<float>(i) + 1);
  EXPECT_EQ(d.client.counters().launches, 1u);
}

TEST(Client, EqualKernelsShareOneProgram) {
  Device d;
  EXPECT_EQ(d.client.program(affine("affine_same", 1)), d.client.program(affine("affine_same", 1)));
  EXPECT_NE(d.client.program(affine("affine_same", 1)), d.client.program(affine("affine_same", 2)));
}

TEST(Client, AnEmptyGridLaunchesNothing) {
  Device d;
  const auto in = d.upload({1}), out = d.client.allocate(4);
  const auto program = d.client.program(affine("affine_0"));
  for (int axis = 0; axis < 3; ++axis) {
    std::array<std::uint32_t, 3> cubes{1, 1, 1};
    cubes[static_cast<std::size_t>(axis)] = 0;
    d.client.launch({program, cubes, {in, out}, {bits(1)}});
  }
  d.client.sync();
  EXPECT_EQ(d.client.counters().launches, 0u);
  EXPECT_EQ(d.client.counters().compiles + d.client.counters().cache_hits, 0u);
}

TEST(Client, AnEmptyBufferCanBeReadAndWritten) {
  Device d;
  const auto empty = d.upload({});
  EXPECT_TRUE(d.download(empty).empty());
}

TEST(Client, WhatWasReadStaysWhenTheBufferIsWrittenAgain) {
  Device d;
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{200000}}) {  // copied, and shared with the reader
    const auto x = d.upload(Floats(size, 1.f));
    const auto program = d.client.program(increment("increment"));
    std::vector<std::shared_ptr<const std::byte>> reads;
    for (int i = 0; i < 4; ++i) {
      reads.push_back(d.client.read(x).get());
      reads.push_back(d.client.read(x).get());
      d.client.launch({program, {static_cast<std::uint32_t>(size), 1, 1}, {x}, {}});
    }
    d.client.write(x, test::bytes_of(Floats(size, 9.f)), size * 2);  // the first half
    const auto last = d.download(x);
    EXPECT_EQ(last.front(), 9.f);
    EXPECT_EQ(last.back(), 5.f);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const auto* p = reinterpret_cast<const float*>(reads[i].get());
      for (std::size_t k = 0; k < size; ++k) ASSERT_EQ(p[k], 1.f + static_cast<float>(i / 2)) << i;
    }
  }
}

TEST(Client, AReadKeepsTheMemoryOfADroppedBuffer) {
  Device d;
  auto x = d.upload(Floats(100000, 3.f));
  const auto data = d.client.read(x).get();
  x = nullptr;
  for (int i = 0; i < 5; ++i) d.download(d.upload(Floats(100000, 4.f)));
  const auto* p = reinterpret_cast<const float*>(data.get());
  for (int k = 0; k < 100000; ++k) ASSERT_EQ(p[k], 3.f);
}

TEST(Client, MemoryFreedByAnyThreadIsUsedAgain) {
  Device d;
  const Floats data(1 << 20, 1.f);
  for (int i = 0; i < 20; ++i) {
    auto b = d.upload(data);
    d.client.sync();
    std::thread([b = std::move(b)]() mutable { b = nullptr; }).join();
  }
  d.client.sync();
  EXPECT_EQ(d.client.counters().bytes_in_use, 0u);
  EXPECT_LE(d.client.counters().bytes_peak, 2u * 5 * (std::size_t{1} << 20));
  EXPECT_GT(d.client.counters().bytes_reserved, 0u);
  d.client.trim();
  d.client.sync();
  EXPECT_EQ(d.client.counters().bytes_reserved, 0u);
}

TEST(Client, TwoThreadsLaunchAtOnce) {
  Device d;
  const auto program = d.client.program(affine("affine_two"));
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      auto b = d.upload({0, 1});
      for (int k = 0; k < 5; ++k) b = d.run(program, b);
      ASSERT_EQ(d.download(b), (Floats{5, 6}));
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}

TEST(Client, ALoneLaunchStartsWithoutAReadOrAnotherLaunch) {
  Device d;
  const auto program = d.client.program(affine("affine_lone"));
  const auto in = d.upload({1});
  d.download(d.run(program, in));
  std::this_thread::sleep_for(20ms);  // the device thread sleeps
  const auto out = d.run(program, in);
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (d.client.counters().launches < 2 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(d.client.counters().launches, 2u);
}

TEST(Client, IdleThreadsUseNoProcessor) {
  Device d;
  d.download(d.run(d.client.program(affine("affine_idle")), d.upload(Floats(5000, 1.f))));
  std::this_thread::sleep_for(50ms);
  const double before = d.client.processor_seconds();
  EXPECT_GT(before, 0);
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(d.client.processor_seconds() - before, 0.005);
}

TEST(Client, MeasuresAsProbes) {
  Device d;
  const auto in = d.upload({1, 2}), out = d.client.allocate(8);
  const auto seconds =
      d.client.time({d.client.program(affine("affine_time")), {2, 1, 1}, {in, out}, {bits(1)}}, 3);
  EXPECT_EQ(seconds.size(), 3u);
  for (double s : seconds) EXPECT_GT(s, 0);
  EXPECT_EQ(d.download(out), (Floats{2, 3}));
  EXPECT_EQ(d.client.counters().probe_launches, 3u);
  EXPECT_EQ(d.client.counters().launches, 0u);
}

TEST(Client, CompilesSeveralProgramsAtOnce) {
  Device d;
  std::vector<ProgramRef> programs;
  for (int i = 0; i < 6; ++i)
    programs.push_back(d.client.program(affine("many_" + std::to_string(i), i + 0.5)));
  d.client.precompile(programs);
  const auto before = d.client.counters();
  EXPECT_EQ(before.compiles + before.cache_hits, 6u);
  for (int i = 0; i < 6; ++i) {
    const auto out = d.download(d.run(programs[static_cast<std::size_t>(i)], d.upload({1})));
    EXPECT_EQ(out[0], 1.5f + static_cast<float>(i));
  }
  EXPECT_EQ(d.client.counters().compiles, before.compiles);
}

TEST(Client, SyncWaitsForEarlierLaunches) {
  Device d;
  const auto program = d.client.program(affine("affine_sync"));
  const auto in = d.upload({1});
  std::vector<BufferRef> outs;
  for (int i = 0; i < 100; ++i) outs.push_back(d.run(program, in));
  d.client.sync();
  EXPECT_EQ(d.client.counters().launches, 100u);
}

/// A leak checker sees when it does not.
TEST(Client, TakesTheBuffersThatCameBackWithIt) {
  auto client = std::make_unique<cpu::CpuClient>(cpu::Options{.threads = 1});
  auto buffer = client->allocate(4);
  client->write(buffer, test::bytes_of({7}), 4);
  client->sync();
  EXPECT_GT(client->counters().bytes_in_use, 0u);
  buffer = {};
  client.reset();
}

}  // namespace
}  // namespace strata::runtime
