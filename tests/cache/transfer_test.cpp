#include <gtest/gtest.h>

#include "cache/store.hpp"
#include "strata/error.hpp"
#include "support.hpp"

namespace strata::cache::test {
namespace {

TEST(Transfer, MovesEntriesToAnotherStoreAsImported) {
  const TempDir dir;
  Store from(dir / "from.db"), to(dir / "to.db");
  from.put(Kind::kernel, "s", "k", std::string("\0code", 5));
  from.put(Kind::tuning, "s", "t", "tile");
  from.export_to(dir / "out");
  const auto result = to.import_from(dir / "out");
  EXPECT_EQ(result.imported, 2);
  EXPECT_EQ(result.kept, 0);
  EXPECT_EQ(to.get(Kind::kernel, "s", "k"), std::string("\0code", 5));
  ASSERT_EQ(to.list().size(), 2u);
  EXPECT_EQ(to.list()[0].origin, Origin::imported);
  EXPECT_FALSE(std::filesystem::exists(dir / "out-wal"));
}

TEST(Transfer, LocalEntriesWinOverImportedOnes) {
  const TempDir dir;
  Store from(dir / "from.db"), to(dir / "to.db");
  from.put(Kind::tuning, "s", "both", "theirs");
  from.put(Kind::tuning, "s", "later", "theirs");
  from.export_to(dir / "out");
  to.put(Kind::tuning, "s", "both", "ours");
  const auto result = to.import_from(dir / "out");
  EXPECT_EQ(result.imported, 1);
  EXPECT_EQ(result.kept, 1);
  EXPECT_EQ(to.get(Kind::tuning, "s", "both"), "ours");
  to.put(Kind::tuning, "s", "later", "ours");
  EXPECT_EQ(Store(dir / "to.db").get(Kind::tuning, "s", "later"), "ours");
}

TEST(Transfer, ANewerImportReplacesAnOlderOne) {
  const TempDir dir;
  Store from(dir / "from.db"), to(dir / "to.db");
  from.put(Kind::tuning, "s", "k", "old");
  from.export_to(dir / "out");
  to.import_from(dir / "out");
  from.put(Kind::tuning, "s", "k", "new", true);
  from.export_to(dir / "out");
  EXPECT_EQ(to.import_from(dir / "out").imported, 1);
  EXPECT_EQ(to.get(Kind::tuning, "s", "k"), "new");
}

TEST(Transfer, LeavesOutDamagedEntries) {
  const TempDir dir;
  Store from(dir / "from.db"), to(dir / "to.db");
  from.put(Kind::tuning, "s", "good", "1");
  from.put(Kind::tuning, "s", "bad", "2");
  from.export_to(dir / "out");
  sql(dir / "out", "UPDATE entries SET value='9' WHERE key='bad'");
  const auto result = to.import_from(dir / "out");
  EXPECT_EQ(result.imported, 1);
  EXPECT_EQ(result.damaged, 1);
  EXPECT_EQ(to.get(Kind::tuning, "s", "bad"), std::nullopt);
}

TEST(Transfer, WorksFromAndToMemory) {
  const TempDir dir;
  Store from("", {}, "a test"), to("", {}, "a test");
  from.put(Kind::tuning, "s", "k", "v");
  from.export_to(dir / "out");
  EXPECT_EQ(to.import_from(dir / "out").imported, 1);
  EXPECT_EQ(to.get(Kind::tuning, "s", "k"), "v");
}

TEST(Transfer, NamesTheFileThatFails) {
  const TempDir dir;
  Store store(dir / "strata.db");
  write_bytes(dir / "noise", std::string(5000, 'n'));
  const auto message_of = [](auto work) -> std::string {
    try {
      work();
    } catch (const IoError& error) {
      return error.what();
    }
    return "no error";
  };
  const auto missing = message_of([&] { store.import_from(dir / "missing"); });
  EXPECT_NE(missing.find(dir / "missing: No such file or directory"), std::string::npos) << missing;
  const auto noise = message_of([&] { store.import_from(dir / "noise"); });
  EXPECT_NE(noise.find(dir / "noise"), std::string::npos) << noise;
  const auto nowhere = message_of([&] { store.export_to("/proc/nowhere/out"); });
  EXPECT_NE(nowhere.find("/proc/nowhere/out"), std::string::npos) << nowhere;
  EXPECT_EQ(store.status().mode, Mode::persistent) << "a foreign file's failure is not the store's";
}

}  // namespace
}  // namespace strata::cache::test
