// What happens to the file must not happen to the caller: right answers from memory, and one warning.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "cache/location.hpp"
#include "cache/store.hpp"
#include "support.hpp"

namespace strata::cache::test {
namespace {

/// Uses a store as the library does; true when every answer is right.
bool works(Store& store) {
  bool right = true;
  for (int i = 0; i < 20; ++i) store.put(Kind::kernel, "s", std::to_string(i), value_of(i));
  for (int i = 0; i < 20; ++i)
    right = right && store.get(Kind::kernel, "s", std::to_string(i)) == value_of(i);
  return right && store.get(Kind::kernel, "s", "absent") == std::nullopt && store.list().size() >= 20;
}

/// A finished cache file with 20 entries.
void fill(const std::string& file) {
  Store store(file);
  ASSERT_TRUE(works(store));
}

TEST(Faults, AFolderThatCannotBeMadeMeansMemoryAndOneWarning) {
  const TempDir dir;
  write_bytes(dir / "file", "not a folder");
  Store store(dir / "file/strata/strata.db");
  const auto text = stderr_of([&] { EXPECT_TRUE(works(store)); });
  EXPECT_EQ(warnings_in(text), 1) << text;
  EXPECT_NE(text.find(store.path()), std::string::npos) << text;
  EXPECT_NE(text.find("Not a directory"), std::string::npos) << text;
  EXPECT_EQ(store.status().mode, Mode::memory_only);
  EXPECT_NE(store.status().reason.find("Not a directory"), std::string::npos);
}

TEST(Faults, AFolderOfTheSystemMeansMemoryAndOneWarning) {
  const TempDir unique;  // a warning is given once per path
  Store store("/proc" + unique.path() + "/strata.db");
  const auto text = stderr_of([&] { EXPECT_TRUE(works(store)); });
  EXPECT_EQ(warnings_in(text), 1) << text;
  EXPECT_NE(text.find("No such file or directory"), std::string::npos) << text;
  EXPECT_EQ(store.status().mode, Mode::memory_only);
}

TEST(Faults, AFolderInPlaceOfTheFileMeansMemoryAndOneWarning) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "strata.db");
  Store store(dir / "strata.db");
  const auto text = stderr_of([&] { EXPECT_TRUE(works(store)); });
  EXPECT_EQ(warnings_in(text), 1) << text;
  EXPECT_EQ(store.status().mode, Mode::memory_only);
}

TEST(Faults, NoPlaceAtAllMeansMemoryAndOneWarning) {
  const Environment a("STRATA_CACHE_DIR", std::nullopt), b("XDG_CACHE_HOME", std::nullopt),
      c("HOME", std::nullopt);
  const TempDir dir;
  // The process-wide store is made once: in a child, so that other tests keep theirs.
  EXPECT_EQ(in_child([&] {
              if (chdir(dir.path().c_str()) != 0) return false;
              bool right = false;
              const auto text = stderr_of([&] { right = works(Store::global()); });
              return right && warnings_in(text) == 1 && text.find("HOME") != std::string::npos &&
                     Store::global().status().mode == Mode::memory_only && Store::global().path().empty();
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path())) << "the working directory became a cache";
}

/// Runs `work` as a user whom permissions bind, which the superuser is not.
template <class Work>
int as_plain_user(Work work) {
  return in_child([&] { return (geteuid() != 0 || setuid(65534) == 0) && work(); });
}

TEST(Faults, AReadOnlyFolderWithoutAFileMeansMemoryAndOneWarning) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "sub");
  std::filesystem::permissions(dir.path(), static_cast<std::filesystem::perms>(0755));
  std::filesystem::permissions(dir / "sub", static_cast<std::filesystem::perms>(0555));
  EXPECT_EQ(as_plain_user([&] {
              Store store(dir / "sub/strata.db");
              bool right = false;
              const auto text = stderr_of([&] { right = works(store); });
              return right && warnings_in(text) == 1 && text.find("Permission denied") != std::string::npos &&
                     store.status().mode == Mode::memory_only;
            }),
            0);
  std::filesystem::permissions(dir / "sub", std::filesystem::perms::owner_all);
}

TEST(Faults, AReadOnlyCacheIsStillRead) {
  const TempDir dir;
  const auto file = dir / "sub/strata.db";
  { Store(file).put(Kind::kernel, "s", "old", "v"); }
  std::filesystem::permissions(dir.path(), static_cast<std::filesystem::perms>(0755));
  std::filesystem::permissions(file, static_cast<std::filesystem::perms>(0444));
  std::filesystem::permissions(dir / "sub", static_cast<std::filesystem::perms>(0555));
  EXPECT_EQ(as_plain_user([&] {
              Store store(file);
              bool right = false;
              const auto text = stderr_of([&] { right = works(store); });
              return right && warnings_in(text) == 1 && text.find("Permission denied") != std::string::npos &&
                     store.get(Kind::kernel, "s", "old") == "v" && store.status().mode == Mode::read_only;
            }),
            0);
  std::filesystem::permissions(dir / "sub", std::filesystem::perms::owner_all);
}

TEST(Faults, AFullDiskKeepsNewEntriesInMemory) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  { Store(file).put(Kind::kernel, "s", "old", "v"); }
  EXPECT_EQ(in_child([&] {
              Store store(file);
              if (store.get(Kind::kernel, "s", "old") != "v") return false;
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{60'000, 60'000};  // no file may grow beyond
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
              bool right = false;
              const auto text = stderr_of([&] { right = works(store); });
              return right && warnings_in(text) == 1 && text.find("File too large") != std::string::npos &&
                     store.get(Kind::kernel, "s", "old") == "v" && store.status().mode == Mode::read_only;
            }),
            0);
  Store after(file);
  EXPECT_EQ(after.get(Kind::kernel, "s", "old"), "v");
  EXPECT_TRUE(works(after));
  EXPECT_EQ(after.status().mode, Mode::persistent);
}

TEST(Faults, ADiskFullFromTheStartMeansMemoryAndOneWarning) {
  const TempDir dir;
  EXPECT_EQ(in_child([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{100, 100};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
              Store store(dir / "strata.db");
              bool right = false;
              // The capture file of the test framework is bound by the limit too: the short text fits.
              const auto text = stderr_of([&] { right = works(store); });
              return right && warnings_in(text) == 1 && store.status().mode == Mode::memory_only;
            }),
            0);
  Store after(dir / "strata.db");
  EXPECT_TRUE(works(after));
  EXPECT_EQ(after.status().mode, Mode::persistent) << after.status().reason;
}

TEST(Faults, NoiseInPlaceOfTheFileIsMovedAside) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  const std::string noise(100'000, '\x5a');
  write_bytes(file, noise);
  Store store(file);
  const auto text = stderr_of([&] { EXPECT_TRUE(works(store)); });
  EXPECT_EQ(warnings_in(text), 1) << text;
  EXPECT_NE(text.find(file), std::string::npos) << text;
  EXPECT_EQ(store.status().mode, Mode::persistent);
  EXPECT_EQ(bytes_of(file + ".damaged"), noise);
  EXPECT_EQ(Store(file).list().size(), 20u);
}

TEST(Faults, ATruncatedFileNeverServesAWrongEntry) {
  const TempDir dir;
  fill(dir / "whole.db");
  const auto whole = bytes_of(dir / "whole.db");
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 23) {
    const auto file = dir / ("cut" + std::to_string(size) + ".db");
    write_bytes(file, whole.substr(0, size));
    Store store(file);
    const auto text = stderr_of([&] { EXPECT_TRUE(works(store)) << size << " of " << whole.size(); });
    EXPECT_LE(warnings_in(text), 1) << text;
    EXPECT_EQ(store.status().mode, Mode::persistent) << size << ' ' << store.status().reason;
  }
}

TEST(Faults, RandomDamageNeverServesAWrongEntry) {
  const TempDir dir;
  fill(dir / "whole.db");
  const auto whole = bytes_of(dir / "whole.db");
  std::uint32_t random = 1;
  const auto next = [&] { return random = random * 1664525u + 1013904223u; };
  for (int round = 0; round < 60; ++round) {
    auto bytes = whole;
    for (int hit = 0; hit < 1 << (round % 10); ++hit)
      bytes[next() % bytes.size()] = static_cast<char>(next() >> 24);
    const auto file = dir / ("hit" + std::to_string(round) + ".db");
    write_bytes(file, bytes);
    Store store(file);
    const auto text = stderr_of([&] {
      for (int i = 0; i < 20; ++i) {
        const auto value = store.get(Kind::kernel, "s", std::to_string(i));
        EXPECT_TRUE(!value || *value == value_of(i)) << "round " << round << " entry " << i;
      }
      store.put(Kind::tuning, "s", "new", "v");
      EXPECT_EQ(store.get(Kind::tuning, "s", "new"), "v") << round;
    });
    EXPECT_LE(warnings_in(text), 2) << text;  // a damaged entry, then perhaps a damaged file
  }
}

TEST(Faults, AnEntryWhoseChecksumDoesNotFitIsDropped) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  fill(file);
  sql(file, "UPDATE entries SET value=replace(value, 'd', 'e') WHERE key='3'");
  sql(file, "UPDATE entries SET key='moved' WHERE key='4'");
  Store store(file);
  const auto text = stderr_of([&] {
    EXPECT_EQ(store.get(Kind::kernel, "s", "3"), std::nullopt);
    EXPECT_EQ(store.get(Kind::kernel, "s", "moved"), std::nullopt);
  });
  EXPECT_EQ(warnings_in(text), 1) << text;
  EXPECT_EQ(store.get(Kind::kernel, "s", "5"), value_of(5));
  EXPECT_EQ(store.list().size(), 18u);
  store.put(Kind::kernel, "s", "3", value_of(3));
  EXPECT_EQ(Store(file).get(Kind::kernel, "s", "3"), value_of(3));
}

TEST(Faults, AnotherSchemaStartsAfresh) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  sql(file, "CREATE TABLE entries(foo); INSERT INTO entries VALUES(1); PRAGMA user_version=7");
  Store store(file);
  const auto text = stderr_of([&] { EXPECT_TRUE(works(store)); });
  EXPECT_EQ(warnings_in(text), 0) << text;
  EXPECT_EQ(store.status().mode, Mode::persistent);
  EXPECT_EQ(Store(file).list().size(), 20u);
}

TEST(Faults, ATableThatVanishedStartsAfresh) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  fill(file);
  sql(file, "DROP TABLE entries");
  Store store(file);
  const auto text = stderr_of([&] { EXPECT_TRUE(works(store)); });
  EXPECT_EQ(warnings_in(text), 1) << text;
  EXPECT_EQ(Store(file).list().size(), 20u);
}

TEST(Faults, EntriesOfThisProcessOutliveTheFile) {
  const TempDir dir;
  const auto file = dir / "strata.db";
  Store store(file);
  EXPECT_TRUE(works(store));
  std::filesystem::remove_all(dir.path());
  EXPECT_TRUE(works(store));
}

TEST(Location, FollowsTheEnvironment) {
  const Environment home("HOME", "/home/ada");
  {
    const Environment a("STRATA_CACHE_DIR", "/x/mine"), b("XDG_CACHE_HOME", "/y");
    EXPECT_EQ(default_location().directory, "/x/mine");
  }
  {
    const Environment a("STRATA_CACHE_DIR", ""), b("XDG_CACHE_HOME", "/y");
    EXPECT_EQ(default_location().directory, "/y/strata");
  }
  {
    const Environment a("STRATA_CACHE_DIR", std::nullopt), b("XDG_CACHE_HOME", "relative/path");
    EXPECT_EQ(default_location().directory, "/home/ada/.cache/strata");
  }
  {
    const Environment a("STRATA_CACHE_DIR", std::nullopt), b("XDG_CACHE_HOME", ""), c("HOME", "here");
    EXPECT_EQ(default_location().directory, "");
    EXPECT_NE(default_location().problem.find("HOME"), std::string::npos);
  }
}

}  // namespace
}  // namespace strata::cache::test
