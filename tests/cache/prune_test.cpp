#include <gtest/gtest.h>

#include "cache/store.hpp"
#include "support.hpp"

namespace strata::cache::test {
namespace {

constexpr Options note_every_use{std::int64_t{512} << 20, std::chrono::microseconds(0)};

std::vector<std::string> keys_of(Store& store) {
  std::vector<std::string> keys;
  for (const auto& info : store.list()) keys.push_back(info.key);
  return keys;
}

TEST(Prune, ErasesTheLeastRecentlyUsedFirst) {
  const TempDir dir;
  {
    Store store(dir / "strata.db", note_every_use);
    for (const char* key : {"a", "b", "c", "d"}) store.put(Kind::kernel, "s", key, std::string(200'000, 'x'));
  }
  Store store(dir / "strata.db", note_every_use);
  EXPECT_TRUE(store.get(Kind::kernel, "s", "a").has_value());
  EXPECT_EQ(store.prune(500'000), 2);
  EXPECT_EQ(keys_of(store), (std::vector<std::string>{"a", "d"}));
  EXPECT_LT(std::filesystem::file_size(dir / "strata.db"), 600'000u) << "the file did not shrink";
}

TEST(Prune, CountsUsesOfEntriesPutByThisProcess) {
  const TempDir dir;
  Store store(dir / "strata.db", note_every_use);
  for (const char* key : {"a", "b", "c"}) store.put(Kind::kernel, "s", key, std::string(200'000, 'x'));
  EXPECT_TRUE(store.get(Kind::kernel, "s", "a").has_value());
  EXPECT_EQ(store.prune(300'000), 2);
  EXPECT_EQ(keys_of(store), (std::vector<std::string>{"a"}));
  EXPECT_EQ(store.get(Kind::kernel, "s", "b"), std::nullopt);
}

TEST(Prune, ToZeroEmptiesTheStore) {
  const TempDir dir;
  Store store(dir / "strata.db");
  store.put(Kind::kernel, "s", "a", "1");
  store.put(Kind::tuning, "s", "b", "");
  EXPECT_EQ(store.prune(0), 2);
  EXPECT_TRUE(store.list().empty());
  EXPECT_EQ(store.get(Kind::tuning, "s", "b"), std::nullopt);
}

TEST(Prune, PutsStayWithinTheLimit) {
  const TempDir dir;
  constexpr std::int64_t limit = 1 << 20;
  Store store(dir / "strata.db", {limit, std::chrono::hours(1)});
  for (int i = 0; i < 40; ++i) store.put(Kind::kernel, "s", std::to_string(i), std::string(100'000, 'x'));
  store.close();
  EXPECT_LE(std::filesystem::file_size(dir / "strata.db"), static_cast<std::uintmax_t>(limit + 200'000));

  Store next(dir / "strata.db");
  EXPECT_TRUE(next.get(Kind::kernel, "s", "39").has_value());
  EXPECT_EQ(next.get(Kind::kernel, "s", "0"), std::nullopt);
  EXPECT_GE(next.list().size(), 7u);
}

TEST(Prune, AValueTooLargeForTheFileStaysInMemory) {
  const TempDir dir;
  Store store(dir / "strata.db", {1 << 20, std::chrono::hours(1)});
  store.put(Kind::kernel, "s", "small", "v");
  store.put(Kind::kernel, "s", "huge", std::string(2 << 20, 'x'));
  EXPECT_TRUE(store.get(Kind::kernel, "s", "huge").has_value());
  Store next(dir / "strata.db");
  EXPECT_EQ(next.get(Kind::kernel, "s", "small"), "v");
  EXPECT_EQ(next.get(Kind::kernel, "s", "huge"), std::nullopt);
}

TEST(Prune, UsesReachTheFileWhenTheStoreCloses) {
  const TempDir dir;
  { Store(dir / "strata.db").put(Kind::kernel, "s", "k", "v"); }
  const auto before = Store(dir / "strata.db").list().at(0).used;
  { EXPECT_TRUE(Store(dir / "strata.db", note_every_use).get(Kind::kernel, "s", "k").has_value()); }
  EXPECT_GT(Store(dir / "strata.db").list().at(0).used, before);
}

}  // namespace
}  // namespace strata::cache::test
