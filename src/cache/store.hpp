/// The persistent store of tuning results, device probes and compiled kernels: one SQLite file per user,
/// shared by any number of processes. It never gets in the way: whatever happens to the file, calls succeed
/// from memory, entries of this process stay, and one warning says why they will not outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cache/entry.hpp"

namespace strata::cache {

class Database;
struct DatabaseError;
class Overlay;

/// `persistent`: reads and writes the file. `read_only`: reads it; new entries stay in memory. `memory_only`:
/// no file.
enum class Mode : std::uint8_t { persistent, read_only, memory_only };

struct Status {
  Mode mode = Mode::persistent;
  std::string reason;  ///< why not persistent, naming the path; else empty
};

/// Limits a list; an empty filter takes everything.
struct Filter {
  std::optional<Kind> kind;
  std::optional<std::string> scope;
};

struct Options {
  std::int64_t limit_bytes = std::int64_t{512}
                             << 20;  ///< of the file; the least recently used entries go first
  /// A use is noted when the last one noted is older than this, and written with the next put or at the end.
  std::chrono::microseconds touch_after = std::chrono::hours(1);
};

struct ImportResult {
  std::int64_t imported = 0;
  std::int64_t kept = 0;     ///< there was a local entry already, which stays
  std::int64_t damaged = 0;  ///< left out: the checksum did not fit
};

/// Thread-safe. A child made by fork() opens the file anew at its first use. Opening happens at the first use
/// of the file, takes well under 2 ms for a file that exists, and never throws; nor does any function without
/// a @throws.
class Store {
 public:
  /// The store of this process, in `default_location()`, file strata.db; STRATA_CACHE_LIMIT (bytes) bounds
  /// its size.
  static Store& global();

  /// A store on one file, whose folder is created when need be. Without a file (empty path) it lives in
  /// memory, and `no_file` says why.
  explicit Store(std::string file, Options options = {}, std::string no_file = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The value, checksum verified; nothing when it is absent or was damaged (it is then dropped).
  std::optional<std::string> get(Kind kind, std::string_view scope, std::string_view key);
  /// Stores a value. The first writer wins, unless `replace`, or unless what is there was imported.
  void put(Kind kind, std::string_view scope, std::string_view key, std::string_view value,
           bool replace = false);
  /// True when the entry was there.
  bool erase(Kind kind, std::string_view scope, std::string_view key);

  /// Everything there is, ordered by kind, scope and key.
  std::vector<EntryInfo> list(const Filter& filter = {});
  /// Erases the least recently used entries until the file holds at most `max_bytes`; returns how many went.
  /// 0 empties the store.
  std::int64_t prune(std::int64_t max_bytes);

  /// Writes all entries to a new file, replacing what is there. @throws IoError
  void export_to(const std::string& file);
  /// Adds the entries of an exported file as imported ones; local ones win over them. @throws IoError when
  /// the file cannot be read or is not an export
  ImportResult import_from(const std::string& file);

  /// The file; empty when there is no place for one.
  const std::string& path() const { return path_; }
  /// Opens the file if that has not happened yet.
  Status status();
  /// Writes what is pending and closes the file; what follows stays in memory. For the end of the process.
  void close();

 private:
  friend struct ForkGuard;
  using Place = std::tuple<Kind, std::string, std::string>;

  /// Runs `work(database)`. Damage rebuilds the file and runs it again; other failures degrade the mode.
  /// False when it did not come to pass.
  template <class Work>
  bool on_file(bool writes, Work work);
  void open_file();
  bool recover(const DatabaseError& error, bool writes);
  bool rebuild(const std::string& why);
  bool open_immutable();
  void degrade(Mode mode, std::string why);
  void warn_degraded() const;
  void note_use(EntryInfo& info);
  /// Inside a transaction: the uses noted so far.
  void write_uses(Database& database);
  void drop_from_overlay_what_the_file_lost();

  const std::string path_;
  const Options options_;
  std::mutex mutex_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Overlay> overlay_;
  std::map<Place, std::int64_t> uses_;  // not yet in the file
  std::uint64_t inode_ = 0;             // of the file opened last
  int rebuilds_ = 0;
  Status status_;
};

}  // namespace strata::cache
