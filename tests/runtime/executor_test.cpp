#include "runtime/executor.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "strata/error.hpp"
#include "strata/future.hpp"
#include "trace/log.hpp"

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
      for (int i = 0; i < each; ++i)
        e.post([&seen, p, i] { seen[static_cast<std::size_t>(p)].push_back(i); });
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

TEST(Executor, AWaitingCallerRunsWhatIsQueuedItself) {
  auto& e = make("helped");
  drain(e);
  std::this_thread::sleep_for(20ms);  // parked by now
  std::thread::id ran_on;
  bool second = false;
  e.post_quiet([&] { ran_on = std::this_thread::get_id(); });
  e.post_quiet([&] { second = true; });
  e.help([&] { return ran_on != std::thread::id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_FALSE(second);  // it helps no longer than it has to
  EXPECT_FALSE(e.on_this_thread());
  drain(e);
  EXPECT_TRUE(second);
}

TEST(Executor, HelpersAndTheThreadNeverRunTwoTasksAtOnce) {
  auto& e = make("shared");
  std::atomic<int> inside{0}, ran{0};
  std::atomic<bool> overlapped{false};
  const auto work = [&] {
    for (int i = 0; i < 3000; ++i) {
      e.post([&] {
        if (inside.fetch_add(1) != 0) overlapped = true;
        inside.fetch_sub(1);
        ran.fetch_add(1);
      });
      const int until = i;
      e.help([&] { return ran.load() > until; });
    }
  };
  std::thread a(work), b(work), c(work);
  a.join();
  b.join();
  c.join();
  drain(e);
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(ran, 9000);
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

TEST(Executor, ATaskMayPostMoreThanTheRingHolds) {
  auto& e = make("self");
  std::vector<int> seen;
  e.post([&] {
    for (int i = 0; i < 3 * static_cast<int>(Executor::capacity); ++i)
      e.post([&seen, i] { seen.push_back(i); });
  });
  drain(e);
  while (e.pending() > 0) drain(e);
  drain(e);  // the last task no longer counts while it still runs
  ASSERT_EQ(seen.size(), 3 * Executor::capacity);
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<int>(i));
}

// Upstream waits for room downstream, so downstream must not wait for room upstream.
TEST(Executor, ADownstreamThreadNeverWaitsForAFullUpstreamRing) {
  auto& up = *new Executor("up", Stage::upstream);
  auto& down = *new Executor("down", Stage::downstream);
  std::atomic<bool> filled{false};
  std::atomic<std::size_t> ran{0};
  up.post([&] { filled.wait(false); });
  down.post([&] {
    for (std::size_t i = 0; i < 2 * Executor::capacity; ++i) up.post([&] { ++ran; });
    filled = true;
    filled.notify_all();
  });
  drain(down);
  while (ran < 2 * Executor::capacity) std::this_thread::sleep_for(1ms);
}

TEST(Executor, AnEscapedExceptionIsKeptAndTheThreadGoesOn) {
  trace::log::configure("off");
  auto& e = make("throwing");
  const auto token = std::make_shared<int>(1);
  e.post([token] { throw std::runtime_error("the first"); });
  e.post([token] { throw 7; });
  bool ran = false;
  e.post([&ran] { ran = true; });
  drain(e);
  EXPECT_TRUE(ran);
  EXPECT_EQ(token.use_count(), 1);
  const auto error = e.take_error();
  ASSERT_TRUE(error);
  try {
    std::rethrow_exception(error);
  } catch (const InternalError& x) {
    EXPECT_NE(std::string(x.what()).find("[throwing]"), std::string::npos);
    EXPECT_NE(std::string(x.what()).find("the first"), std::string::npos);
  }
  EXPECT_FALSE(e.take_error());
  trace::log::configure("warn");
}

TEST(Executor, EndsAfterRunningWhatWasPosted) {
  int ran = 0;
  {
    Executor e("ending");
    for (int i = 0; i < 500; ++i) e.post_quiet([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 500);
  { const Executor never_used("unused"); }
}

TEST(Executor, DeviceThreadsDoNotTakeTheProgramsSignals) {
  auto& e = make("signals");
  bool blocked = false;
  e.post([&blocked] {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked = sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) && !sigismember(&mask, SIGSEGV);
  });
  drain(e);
  EXPECT_TRUE(blocked);
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
