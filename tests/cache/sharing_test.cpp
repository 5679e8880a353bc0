#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "cache/store.hpp"
#include "support.hpp"

namespace strata::cache::test {
namespace {

/// One process's use of a cold cache: look each kernel up, make it when absent, read it back.
bool use_cold(const std::string& file) {
  Store store(file);
  bool right = true;
  for (int i = 0; i < 20; ++i) {
    const auto key = "kernel" + std::to_string(i);
    const auto value = store.get(Kind::kernel, "cpu", key);
    if (!value) store.put(Kind::kernel, "cpu", key, value_of(i, 30'000));
    right = right && (!value || *value == value_of(i, 30'000));
    right = right && store.get(Kind::kernel, "cpu", key) == value_of(i, 30'000);
  }
  return right && store.status().mode == Mode::persistent;
}

TEST(Sharing, EightColdProcessesOneKilledWhileWriting) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  const pid_t victim = fork();
  if (victim == 0) {
    Store store(file);
    for (int i = 0;; ++i)
      store.put(Kind::kernel, "cpu", "kernel" + std::to_string(i % 40), value_of(i % 40, 30'000), true);
  }
  std::array<pid_t, 8> children{};
  for (auto& child : children) {
    child = fork();
    if (child == 0) {
      bool right = false;
      const auto text = stderr_of([&] { right = use_cold(file); });
      if (!right || warnings_in(text) != 0) fprintf(stderr, "%s", text.c_str());
      _exit(right && warnings_in(text) == 0 ? 0 : 1);
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(victim, SIGKILL);
  for (const auto child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  int status = 0;
  waitpid(victim, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));

  Store after(file);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(after.get(Kind::kernel, "cpu", "kernel" + std::to_string(i)), value_of(i, 30'000));
  }
  for (const auto& info : after.list()) EXPECT_TRUE(after.get(info.kind, info.scope, info.key).has_value());
}

TEST(Sharing, WritersKilledAtAnyMomentLeaveAWholeFile) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  for (int round = 0; round < 15; ++round) {
    const pid_t victim = fork();
    if (victim == 0) {
      Store store(file);
      for (int i = 0;; ++i)
        store.put(Kind::kernel, "cpu", std::to_string(i % 30), value_of(i % 30, 50'000), true);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 * round));
    kill(victim, SIGKILL);
    waitpid(victim, nullptr, 0);
    Store store(file);
    const auto text = stderr_of([&] {
      for (const auto& info : store.list()) {
        EXPECT_EQ(store.get(info.kind, info.scope, info.key), value_of(std::stoi(info.key), 50'000));
      }
    });
    EXPECT_EQ(text, "");
    EXPECT_EQ(store.status().mode, Mode::persistent);
  }
}

TEST(Sharing, EightProcessesOverADamagedFileRebuildItOnce) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  write_bytes(file, std::string(50'000, 'z'));
  std::array<pid_t, 8> children{};
  for (auto& child : children) {
    child = fork();
    if (child == 0) {
      bool right = false;
      stderr_of([&] { right = use_cold(file); });
      _exit(right ? 0 : 1);
    }
  }
  for (const auto child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(bytes_of(file + ".damaged"), std::string(50'000, 'z'));
  EXPECT_EQ(Store(file).list().size(), 20u);
}

TEST(Sharing, NoneOfTheFirstEntriesOfAColdFileIsLost) {
  for (int round = 0; round < 20; ++round) {
    const TempDir dir;
    const auto file = dir / "strata.db";
    std::array<pid_t, 8> children{};
    for (std::size_t i = 0; i < children.size(); ++i) {
      children[i] = fork();
      if (children[i] == 0) {
        { Store(file).put(Kind::kernel, "s", std::to_string(i), "v"); }
        _exit(0);
      }
    }
    for (const auto child : children) waitpid(child, nullptr, 0);
    EXPECT_EQ(Store(file).list().size(), children.size());
  }
}

TEST(Sharing, AFileThatAnotherRebuiltIsTakenOverNotRebuiltAgain) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  {
    Store store(file);
    for (int i = 0; i < 20; ++i) store.put(Kind::kernel, "s", std::to_string(i), value_of(i));
  }
  Store holds_the_old_one(file);
  EXPECT_TRUE(holds_the_old_one.get(Kind::kernel, "s", "0").has_value());
  write_bytes(file, std::string(50'000, 'z'));
  stderr_of([&] {
    Store rebuilds(file);
    rebuilds.put(Kind::kernel, "s", "fresh", "v");
    EXPECT_EQ(holds_the_old_one.get(Kind::kernel, "s", "7"), std::nullopt);
    EXPECT_EQ(holds_the_old_one.get(Kind::kernel, "s", "fresh"), "v");
  });
  EXPECT_EQ(bytes_of(file + ".damaged"), std::string(50'000, 'z'));
}

TEST(Sharing, AForkedChildOpensTheFileAnew) {
  const TempDir dir;
  Store store(dir / "strata.db");
  store.put(Kind::kernel, "s", "parent", "1");
  EXPECT_EQ(in_child([&] {
              const bool read = store.get(Kind::kernel, "s", "parent") == "1";
              store.put(Kind::kernel, "s", "child", "2");
              store.close();
              return read;
            }),
            0);
  EXPECT_EQ(store.get(Kind::kernel, "s", "child"), "2");
  store.put(Kind::kernel, "s", "parent2", "3");
  store.close();
  EXPECT_EQ(Store(dir / "strata.db").list().size(), 3u);
}

TEST(Sharing, AParentThatClosesDoesNotCutItsChildOff) {
  const TempDir dir;
  Store store(dir / "strata.db");
  store.put(Kind::kernel, "s", "parent", "1");
  std::array<int, 2> opened{}, closed{};
  ASSERT_EQ(pipe(opened.data()) + pipe(closed.data()), 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    store.list();
    const bool told = write(opened[1], &byte, 1) == 1 && read(closed[0], &byte, 1) == 1;
    store.put(Kind::kernel, "s", "child", "2");
    store.close();
    _exit(told ? 0 : 1);
  }
  store.list();
  EXPECT_EQ(read(opened[0], &byte, 1), 1);
  store.close();
  // Were the parent taken for the last user, its WAL would be gone now, and child and newcomer would use two.
  Store newcomer(dir / "strata.db");
  newcomer.put(Kind::kernel, "s", "newcomer", "3");
  EXPECT_EQ(write(closed[1], &byte, 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int end : {opened[0], opened[1], closed[0], closed[1]}) ::close(end);
  newcomer.put(Kind::kernel, "s", "newcomer again", "4");
  newcomer.close();
  EXPECT_EQ(Store(dir / "strata.db").list().size(), 4u);
}

TEST(Sharing, ForkingWhileThreadsWriteLeavesBothSidesWorking) {
  const TempDir dir;
  Store store(dir / "strata.db");
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i)
      store.put(Kind::kernel, "s", "w" + std::to_string(i % 50), value_of(i % 50), true);
  });
  for (int round = 0; round < 10; ++round) {
    const auto key = "c" + std::to_string(round);
    EXPECT_EQ(in_child([&] {
                store.put(Kind::kernel, "s", key, "v");
                store.close();
                return Store(dir / "strata.db").get(Kind::kernel, "s", key) == "v";
              }),
              0);
  }
  stop = true;
  writer.join();
  for (int round = 0; round < 10; ++round)
    EXPECT_EQ(store.get(Kind::kernel, "s", "c" + std::to_string(round)), "v");
  EXPECT_EQ(store.status().mode, Mode::persistent);
}

}  // namespace
}  // namespace strata::cache::test
