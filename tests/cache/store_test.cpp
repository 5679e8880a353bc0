#include "cache/store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support.hpp"

namespace strata::cache::test {
namespace {

TEST(Store, KeepsEntriesForTheNextProcess) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  { Store(file).put(Kind::tuning, "cpu", "matmul 1024", "tile=8x32"); }
  EXPECT_EQ(in_child([&] { return Store(file).get(Kind::tuning, "cpu", "matmul 1024") == "tile=8x32"; }), 0);
}

TEST(Store, CreatesItsFolder) {
  const TempDir dir;
  Store store(dir / "a/b/c/strata.db");
  EXPECT_EQ(store.status().mode, Mode::persistent);
  EXPECT_EQ(store.status().reason, "");
  EXPECT_TRUE(std::filesystem::exists(store.path()));
  EXPECT_EQ(std::filesystem::status(dir / "a/b/c").permissions(), std::filesystem::perms::owner_all);
}

TEST(Store, DoesNotTouchTheDiskBeforeItIsUsed) {
  const TempDir dir;
  const Store store(dir / "strata.db");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Store, TellsKindsScopesAndKeysApart) {
  const TempDir dir;
  Store store(dir / "strata.db");
  store.put(Kind::kernel, "ab", "c", "1");
  store.put(Kind::kernel, "a", "bc", "2");
  store.put(Kind::probe, "a", "bc", "3");
  EXPECT_EQ(store.get(Kind::kernel, "ab", "c"), "1");
  EXPECT_EQ(store.get(Kind::kernel, "a", "bc"), "2");
  EXPECT_EQ(store.get(Kind::probe, "a", "bc"), "3");
  EXPECT_EQ(store.get(Kind::tuning, "a", "bc"), std::nullopt);
  Store other(dir / "strata.db");
  EXPECT_EQ(other.get(Kind::kernel, "ab", "c"), "1");
  EXPECT_EQ(other.get(Kind::kernel, "a", "bc"), "2");
}

TEST(Store, KeepsAnyBytes) {
  const TempDir dir;
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::string key("k\0\"'\xff", 5);
  {
    Store store(dir / "strata.db");
    store.put(Kind::kernel, "s", key, all);
    store.put(Kind::kernel, "s", "empty", "");
    store.put(Kind::kernel, "s", "large", std::string(3'000'000, 'x'));
  }
  Store store(dir / "strata.db");
  EXPECT_EQ(store.get(Kind::kernel, "s", key), all);
  EXPECT_EQ(store.get(Kind::kernel, "s", "empty"), "");
  EXPECT_EQ(store.get(Kind::kernel, "s", "large"), std::string(3'000'000, 'x'));
}

TEST(Store, FirstWriterWinsUnlessReplaced) {
  const TempDir dir;
  Store first(dir / "strata.db"), second(dir / "strata.db");
  first.put(Kind::kernel, "s", "k", "first");
  second.put(Kind::kernel, "s", "k", "second");
  first.put(Kind::kernel, "s", "k", "third");
  EXPECT_EQ(first.get(Kind::kernel, "s", "k"), "first");
  EXPECT_EQ(second.get(Kind::kernel, "s", "k"), "first");
  second.put(Kind::kernel, "s", "k", "replaced", true);
  EXPECT_EQ(second.get(Kind::kernel, "s", "k"), "replaced");
  EXPECT_EQ(Store(dir / "strata.db").get(Kind::kernel, "s", "k"), "replaced");
}

TEST(Store, ErasesFromFileAndMemory) {
  const TempDir dir;
  Store store(dir / "strata.db");
  store.put(Kind::kernel, "s", "k", "v");
  EXPECT_TRUE(store.erase(Kind::kernel, "s", "k"));
  EXPECT_FALSE(store.erase(Kind::kernel, "s", "k"));
  EXPECT_EQ(store.get(Kind::kernel, "s", "k"), std::nullopt);
  EXPECT_EQ(Store(dir / "strata.db").get(Kind::kernel, "s", "k"), std::nullopt);
}

TEST(Store, ListsWhatItHolds) {
  const TempDir dir;
  Store(dir / "strata.db").put(Kind::tuning, "gpu", "t", "123");
  Store store(dir / "strata.db");
  store.put(Kind::kernel, "cpu", "k", "12345");
  const auto all = store.list();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, Kind::kernel);
  EXPECT_EQ(all[0].scope, "cpu");
  EXPECT_EQ(all[0].key, "k");
  EXPECT_EQ(all[0].size, 5);
  EXPECT_EQ(all[0].origin, Origin::local);
  EXPECT_GT(all[0].created, 1'700'000'000'000'000);
  EXPECT_EQ(all[0].created, all[0].used);
  EXPECT_EQ(all[1].key, "t");
  ASSERT_EQ(store.list({Kind::tuning, {}}).size(), 1u);
  ASSERT_EQ(store.list({{}, "cpu"}).size(), 1u);
  EXPECT_EQ(store.list({Kind::tuning, "cpu"}).size(), 0u);
}

TEST(Store, ServesManyThreads) {
  const TempDir dir;
  Store store(dir / "strata.db");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto key = std::to_string(i);
        if (!store.get(Kind::kernel, "s", key)) store.put(Kind::kernel, "s", key, value_of(i));
        if (store.get(Kind::kernel, "s", key) != value_of(i)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store.list().size(), 50u);
}

TEST(Store, ReadsWithoutWriting) {
  const TempDir dir;
  { Store(dir / "strata.db").put(Kind::kernel, "s", "k", "v"); }
  const auto before = bytes_of(dir / "strata.db");
  {
    Store store(dir / "strata.db");
    for (int i = 0; i < 10; ++i) EXPECT_EQ(store.get(Kind::kernel, "s", "k"), "v");
  }
  EXPECT_EQ(bytes_of(dir / "strata.db"), before);
}

}  // namespace
}  // namespace strata::cache::test
