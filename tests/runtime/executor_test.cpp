#include "runtime/executor.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "strata/error.hpp"
#include "strata/future.hpp"

namespace strata::runtime {
namespace {

using namespace std::chrono_literals;

/// Device executors live as long as the process, so the tests' do too.
Executor& make(const char* name) { return *new Executor(name); }

void drain(Executor& e) {
  Promise<void> done;
  auto future = done.future();
  e.post([p = std::move(done)]() mutable { p.set_value(); });
  future.get();
}

TEST(Executor, KeepsEachProducersOrder) {
  auto& e = make("order");
  constexpr int producers = 4, each = 5000;  // many times the ring
  std::vector<std::vector<int>> seen(producers);
  std::vector<std::thread> threads;
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&, p] {
      for (int i = 0; i < each; ++i) e.post([&seen, p, i] { seen[static_cast<std::size_t>(p)].push_back(i); });
    });
  }
  for (auto& t : threads) t.join();
  drain(e);
  for (const auto& list : seen) {
    ASSERT_EQ(list.size(), static_cast<std::size_t>(each));
    for (int i = 0; i < each; ++i) ASSERT_EQ(list[static_cast<std::size_t>(i)], i);
  }
}

TEST(Executor, AFullRingMakesTheProducerWaitAndLosesNothing) {
  auto& e = make("full");
  std::atomic<bool> go{false};
  std::atomic<int> ran{0};
  e.post([&] { go.wait(false); });
  std::thread producer([&] {
    for (std::size_t i = 0; i < 3 * Executor::capacity; ++i) e.post_quiet([&] { ++ran; });
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(e.pending(), Executor::capacity);
  EXPECT_EQ(ran, 0);
  go = true;
  go.notify_all();
  producer.join();
  drain(e);
  EXPECT_EQ(ran, static_cast<int>(3 * Executor::capacity));
}

TEST(Executor, QuietTasksWaitForAWake) {
  auto& e = make("quiet");
  drain(e);
  std::this_thread::sleep_for(20ms);  // parked by now
  std::atomic<bool> ran{false};
  e.post_quiet([&] { ran = true; });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(ran);
  EXPECT_EQ(e.pending(), 1u);
  e.wake();
  drain(e);
  EXPECT_TRUE(ran);
}

TEST(Executor, ALoneTaskStartsWithoutAnyOther) {
  auto& e = make("lone");
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(2ms);
    Promise<void> done;
    auto future = done.future();
    e.post([p = std::move(done)]() mutable { p.set_value(); });
    ASSERT_TRUE(future.wait_for(5s));
  }
}

TEST(Executor, AnIdleThreadUsesNoProcessor) {
  auto& e = make("idle");
  drain(e);
  std::this_thread::sleep_for(50ms);
  const double before = e.processor_seconds();
  EXPECT_GT(before, 0);
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(e.processor_seconds() - before, 0.005);
}

TEST(Executor, TasksReleaseWhatTheyCaptured) {
  auto& e = make("captures");
  const auto token = std::make_shared<int>(1);
  for (int i = 0; i < 100; ++i) e.post([token] {});
  drain(e);
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Executor, AForkedChildGetsAnErrorInsteadOfWaitingForEver) {
  auto& e = make("fork");
  drain(e);
  const pid_t child = fork();
  if (child == 0) {
    try {
      e.post([] {});
    } catch (const RuntimeError&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  drain(e);  // and the parent goes on
}

}  // namespace
}  // namespace strata::runtime
