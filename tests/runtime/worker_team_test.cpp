#include "runtime/cpu/worker_team.hpp"

#include <gtest/gtest.h>

#include <set>

#include "trace/thread.hpp"

namespace strata::runtime::cpu {
namespace {

using namespace std::chrono_literals;

TEST(WorkerTeam, DoesEveryItemOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    WorkerTeam team(threads, "items-");
    for (const std::int64_t count : {0, 1, 2, 3, 7, 64, 1000}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<int> done(static_cast<std::size_t>(count));  // plain: each item belongs to one thread
        team.run(count, [&](std::int64_t begin, std::int64_t end) {
          for (auto i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
        });
        for (const int n : done) ASSERT_EQ(n, 1) << threads << " threads, " << count << " items";
      }
    }
  }
}

TEST(WorkerTeam, UsesItsThreads) {
  WorkerTeam team(3, "busy-");
  std::atomic<int> inside{0};
  std::mutex mutex;
  std::set<std::string> names;
  // No part ends before all three threads are in one: would hang if a worker did not come.
  team.run(3, [&](std::int64_t, std::int64_t) {
    {
      const std::lock_guard lock(mutex);
      names.insert(std::string(trace::thread_name()));
    }
    ++inside;
    while (inside < 3) std::this_thread::yield();
  });
  EXPECT_EQ(names.size(), 3u);
  EXPECT_TRUE(names.contains("busy-1") && names.contains("busy-2"));
}

TEST(WorkerTeam, OneItemWakesNobody) {
  WorkerTeam team(4, "lone-");
  team.run(1, [](std::int64_t, std::int64_t) {});
  EXPECT_EQ(team.processor_seconds(), 0);  // not even started
}

TEST(WorkerTeam, ComesBackFromSleep) {
  WorkerTeam team(2, "sleepy-");
  for (int i = 0; i < 5; ++i) {
    std::atomic<int> inside{0};
    team.run(2, [&](std::int64_t, std::int64_t) {
      ++inside;
      while (inside < 2) std::this_thread::yield();
    });
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace
}  // namespace strata::runtime::cpu
