#include "strata/future.hpp"

#include "base/detached.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace strata {
namespace {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<Future<int>> && !std::is_copy_assignable_v<Future<int>>);
static_assert(!std::is_copy_constructible_v<Promise<int>> && !std::is_copy_assignable_v<Promise<int>>);
static_assert(std::is_nothrow_move_constructible_v<Future<int>>);

std::string message_of(Future<int>& future) {
  try {
    future.get();
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Future, HandsAValueFromThreadToThread) {
  Promise<std::string> promise;
  auto future = promise.future();
  EXPECT_FALSE(future.ready());
  std::thread writer([p = std::move(promise)]() mutable { p.set_value("hello"); });
  EXPECT_EQ(future.get(), "hello");
  EXPECT_FALSE(future.valid());
  writer.join();
}

TEST(Future, CarriesMoveOnlyValuesAndVoid) {
  EXPECT_EQ(*make_ready_future<std::unique_ptr<int>>(std::make_unique<int>(7)).get(), 7);
  auto nothing = make_ready_future<void>();
  EXPECT_TRUE(nothing.ready());
  nothing.get();
  EXPECT_FALSE(nothing.valid());
}

TEST(Future, RethrowsTheStoredErrorWithItsType) {
  Promise<int> promise;
  auto future = promise.future();
  std::thread writer([p = std::move(promise)]() mutable {
    p.set_exception(std::make_exception_ptr(OutOfMemoryError("[alloc] 2^50 bytes")));
  });
  future.wait();
  EXPECT_TRUE(future.ready());
  EXPECT_THROW(future.get(), OutOfMemoryError);
  writer.join();
}

TEST(Future, ReportsAPromiseThatWasDropped) {
  Future<int> future;
  {
    Promise<int> promise;
    future = promise.future();
  }
  EXPECT_NE(message_of(future).find("destroyed without a result"), std::string::npos);

  Promise<int> overwritten;
  future = overwritten.future();
  overwritten = Promise<int>();
  EXPECT_NE(message_of(future).find("destroyed without a result"), std::string::npos);
}

TEST(Future, RefusesMisuse) {
  Promise<int> promise;
  auto future = promise.future();
  EXPECT_THROW((void)promise.future(), ArgumentError);
  promise.set_value(1);
  EXPECT_FALSE(promise.pending());
  EXPECT_THROW(promise.set_value(2), ArgumentError);
  EXPECT_EQ(future.get(), 1);
  EXPECT_THROW(future.get(), ArgumentError);
  EXPECT_THROW((void)future.ready(), ArgumentError);
}

TEST(Future, WaitForGivesUpThenSucceeds) {
  Promise<int> promise;
  auto future = promise.future();
  EXPECT_FALSE(future.wait_for(1ms));
  std::thread writer([p = std::move(promise)]() mutable {
    std::this_thread::sleep_for(5ms);
    p.set_value(3);
  });
  EXPECT_TRUE(future.wait_for(60s));
  EXPECT_EQ(future.get(), 3);
  writer.join();
}

TEST(Future, AParkedReaderUsesNoProcessor) {
  Promise<int> promise;
  auto future = promise.future();
  std::thread writer([p = std::move(promise)]() mutable {
    std::this_thread::sleep_for(300ms);
    p.set_value(1);
  });
  timespec before{}, after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  future.wait();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  writer.join();
  const auto used = (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
  EXPECT_LT(used, 30'000'000) << "a reader that waits 300 ms burned a tenth of it";
}

TEST(Future, ResumesACoroutineOnTheFulfillingThread) {
  Promise<int> promise;
  int seen = 0;
  std::thread::id resumed_on;
  [](Future<int> future, int& out, std::thread::id& where) -> base::Detached {
    out = co_await std::move(future);
    where = std::this_thread::get_id();
  }(promise.future(), seen, resumed_on);
  EXPECT_EQ(seen, 0);
  std::thread writer([p = std::move(promise)]() mutable { p.set_value(42); });
  const auto writer_id = writer.get_id();
  writer.join();
  EXPECT_EQ(seen, 42);
  EXPECT_EQ(resumed_on, writer_id);
}

TEST(Future, ThrowsInsideTheAwaitingCoroutine) {
  Promise<int> promise;
  std::string seen;
  [](Future<int> future, std::string& out) -> base::Detached {
    try {
      co_await std::move(future);
    } catch (const LaunchError& error) {
      out = error.what();
    }
  }(promise.future(), seen);
  promise.set_exception(std::make_exception_ptr(LaunchError("launch failed")));
  EXPECT_EQ(seen, "launch failed");
}

TEST(Future, DoesNotSuspendWhenTheResultIsThere) {
  int seen = 0;
  [](int& out) -> base::Detached { out = co_await make_ready_future<int>(5); }(seen);
  EXPECT_EQ(seen, 5);
}

TEST(Future, NoResultIsLostWhenWriterAndReaderRace) {
  constexpr int rounds = 2000;
  std::vector<Promise<int>> promises(rounds);
  std::vector<Future<int>> futures;
  for (auto& promise : promises) futures.push_back(promise.future());
  std::atomic<int> by_coroutine{0};
  std::thread writer([&] {
    for (int i = 0; i < rounds; ++i) promises[static_cast<std::size_t>(i)].set_value(1);
  });
  int read = 0;
  for (int i = 0; i < rounds; ++i) {
    auto& future = futures[static_cast<std::size_t>(i)];
    if (i % 3 == 0) {
      [](Future<int> f, std::atomic<int>& sum) -> base::Detached { sum += co_await std::move(f); }(
                                                   std::move(future), by_coroutine);
    } else if (i % 3 == 1) {
      while (!future.wait_for(1us)) {
      }
      read += future.get();
    } else {
      read += future.get();
    }
  }
  writer.join();
  EXPECT_EQ(read + by_coroutine, rounds);
}

}  // namespace
}  // namespace strata
