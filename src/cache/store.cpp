#include "cache/store.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cache/database.hpp"
#include "cache/fork_guard.hpp"
#include "cache/location.hpp"
#include "cache/overlay.hpp"
#include "strata/error.hpp"
#include "trace/log.hpp"

namespace strata::cache {
namespace {

using trace::log::Topic;

constexpr std::int64_t overlay_bytes = std::int64_t{64} << 20;
constexpr int most_rebuilds = 3;

std::int64_t now_microseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Room for some entries more, so that not every later put has to prune.
std::int64_t pruned_size(std::int64_t limit) { return limit / 10 * 9; }

Options options_of_environment() {
  Options options;
  const char* text = std::getenv("STRATA_CACHE_LIMIT");
  if (text == nullptr || text[0] == '\0') return options;
  std::int64_t limit = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, limit);
  if (error == std::errc{} && stop == end && limit >= 0) {
    options.limit_bytes = limit;
  } else {
    trace::log::warn_once(Topic::cache, "STRATA_CACHE_LIMIT",
                          "STRATA_CACHE_LIMIT={} is not a number of bytes; the limit is {}", text,
                          options.limit_bytes);
  }
  return options;
}

Store* make_global() {
  const auto location = default_location();
  const auto file = location.directory.empty() ? std::string() : location.directory + "/strata.db";
  return new Store(file, options_of_environment(), location.problem);
}

/// 0 or errno.
int create_empty(const std::string& file) {
  const int handle = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (handle < 0) return errno == EEXIST ? 0 : errno;
  ::close(handle);
  return 0;
}

/// A failure of a file that the caller named is the caller's to hear about.
template <class Work>
void as_io_error(const char* what, const std::string& file, Work work) {
  try {
    work();
  } catch (const DatabaseError& error) {
    throw IoError(fmt::format("[cache] {}: {}: {}", what, file, error.message));
  }
}

}  // namespace

// Never destroyed, because device threads may outlive static objects; closed at exit, so that the next
// process finds one whole file instead of a WAL to recover.
Store& Store::global() {
  static Store* const store = [] {
    auto* made = make_global();
    std::atexit([] { global().close(); });
    return made;
  }();
  return *store;
}

Store::Store(std::string file, Options options, std::string no_file)
    : path_(std::move(file)),
      options_(options),
      overlay_(std::make_unique<Overlay>(std::min(overlay_bytes, options.limit_bytes))) {
  if (path_.empty())
    status_ = {Mode::memory_only, no_file.empty() ? "no file was given" : std::move(no_file)};
  ForkGuard::add(this);
}

Store::~Store() {
  ForkGuard::remove(this);
  close();
}

void Store::close() {
  const std::lock_guard lock(mutex_);
  if (!uses_.empty() && status_.mode == Mode::persistent) {
    on_file(true, [&](Database& database) {
      Database::Transaction transaction(database);
      write_uses(database);
      transaction.commit();
    });
    uses_.clear();
  }
  database_.reset();
  if (status_.mode != Mode::memory_only) status_ = {Mode::memory_only, path_ + ": closed"};
}

template <class Work>
bool Store::on_file(bool writes, Work work) {
  for (bool again = true; again;) {
    if (status_.mode == Mode::memory_only || (writes && status_.mode == Mode::read_only)) return false;
    try {
      if (!database_) open_file();
      work(*database_);
      return true;
    } catch (const DatabaseError& error) {
      again = recover(error, writes);
    }
  }
  return false;
}

void Store::open_file() {
  inode_ = inode_of(path_);
  if (inode_ == 0) {
    int error = make_directories(folder_of(path_));
    // An empty file is an empty database: private to the user, and with a true errno where it cannot be made.
    if (error == 0) error = create_empty(path_);
    if (error != 0) throw DatabaseError{0, error, std::strerror(error)};
  }
  database_ = std::make_unique<Database>(path_, Database::Access::read_write);
  inode_ = database_->inode();
}

/// After a failure: true when the work is worth another try.
bool Store::recover(const DatabaseError& error, bool writes) {
  if (error.busy()) {
    trace::log::info(Topic::cache, "{}: another process held it for too long", path_);
    return false;
  }
  if (error.damaged()) {
    if (rebuilds_++ < most_rebuilds) return rebuild(error.message);
  } else if (database_ && writes) {
    degrade(Mode::read_only, error.message);
    return false;
  } else if (!database_ && open_immutable()) {
    degrade(Mode::read_only, error.message);
    return true;
  }
  database_.reset();
  degrade(Mode::memory_only, error.message);
  return false;
}

/// Moves a broken file out of the way. Another process may have done so already: then the inode is another
/// one.
bool Store::rebuild(const std::string& why) {
  database_.reset();
  if (status_.mode == Mode::read_only) {
    degrade(Mode::memory_only, why);
    return false;
  }
  const FileLock lock(path_ + ".lock");
  if (inode_ != 0 && inode_of(path_) == inode_) {
    if (std::rename(path_.c_str(), (path_ + ".damaged").c_str()) != 0) {
      degrade(Mode::memory_only,
              fmt::format("{}, and it cannot be moved away: {}", why, std::strerror(errno)));
      return false;
    }
    // They belong to the broken file.
    unlink((path_ + "-wal").c_str());
    unlink((path_ + "-shm").c_str());
  }
  trace::log::warn_once(Topic::cache, "damaged " + path_,
                        "the cache {} was damaged ({}) and starts afresh; the old file is {}.damaged", path_,
                        why, path_);
  return true;
}

/// A cache on a read-only place can still be read, unless entries wait in a WAL beside it.
bool Store::open_immutable() {
  struct stat info {};
  const bool wal_waits = stat((path_ + "-wal").c_str(), &info) == 0 && info.st_size > 0;
  if (inode_ == 0 || wal_waits) return false;
  try {
    database_ = std::make_unique<Database>(path_, Database::Access::immutable);
  } catch (const DatabaseError&) {
    return false;  // the caller reports the failure that led here
  }
  return true;
}

void Store::degrade(Mode mode, std::string why) {
  status_ = {mode, path_ + ": " + std::move(why)};
  warn_degraded();
}

void Store::warn_degraded() const {
  trace::log::warn_once(Topic::cache, "degraded " + (path_.empty() ? status_.reason : path_),
                        "compiled kernels and tuning results stay in memory and will not be kept: {}",
                        status_.reason);
}

void Store::note_use(EntryInfo& info) {
  const auto now = now_microseconds();
  const auto fresh = [&](std::int64_t used) { return now - used < options_.touch_after.count(); };
  if (status_.mode == Mode::memory_only || fresh(info.used)) {
    if (!fresh(info.used)) info.used = now;
    return;
  }
  auto& used = uses_[{info.kind, info.scope, info.key}];
  if (!fresh(used)) used = now;
  info.used = used;
}

void Store::write_uses(Database& database) {
  for (const auto& [place, used] : uses_) {
    database.touch(std::get<0>(place), std::get<1>(place), std::get<2>(place), used);
  }
}

std::optional<std::string> Store::get(Kind kind, std::string_view scope, std::string_view key) {
  const std::lock_guard lock(mutex_);
  if (auto* mine = overlay_->find(kind, scope, key)) {
    note_use(mine->info);
    return mine->value;
  }
  Entry entry;
  auto found = Database::Found::no;
  if (!on_file(false, [&](Database& database) { found = database.find(kind, scope, key, entry); })) return {};
  if (found == Database::Found::yes) {
    note_use(entry.info);
    return std::move(entry.value);
  }
  if (found == Database::Found::corrupt) {
    trace::log::warn_once(Topic::cache, "entry " + path_, "{}: dropped a damaged entry: {}", path_, key);
    on_file(true, [&](Database& database) { database.erase(kind, scope, key); });
  }
  return {};
}

void Store::put(Kind kind, std::string_view scope, std::string_view key, std::string_view value,
                bool replace) {
  const std::lock_guard lock(mutex_);
  const auto* mine = overlay_->find(kind, scope, key);
  if (mine != nullptr && mine->info.origin == Origin::local && !replace) return;

  const auto now = now_microseconds();
  const EntryInfo info{
      kind, std::string(scope), std::string(key), static_cast<std::int64_t>(value.size()), now,
      now,  Origin::local};
  bool won = true;
  if (info.size <= options_.limit_bytes / 2) {
    const bool written = on_file(true, [&](Database& database) {
      Database::Transaction transaction(database);
      write_uses(database);
      won = database.insert(info, value, replace);
      if (database.bytes_in_use() > options_.limit_bytes) database.shrink(pruned_size(options_.limit_bytes));
      transaction.commit();
    });
    if (written) {
      uses_.clear();
    } else {
      won = true;
    }
  }
  if (won) overlay_->put({info, std::string(value)});
  if (path_.empty()) warn_degraded();  // known from the start, said once there is something to keep
}

bool Store::erase(Kind kind, std::string_view scope, std::string_view key) {
  const std::lock_guard lock(mutex_);
  bool erased = overlay_->erase(kind, scope, key);
  on_file(true, [&](Database& database) { erased = database.erase(kind, scope, key) || erased; });
  uses_.erase({kind, std::string(scope), std::string(key)});
  return erased;
}

std::vector<EntryInfo> Store::list(const Filter& filter) {
  const std::lock_guard lock(mutex_);
  std::map<Place, EntryInfo> found;
  const auto add = [&](const EntryInfo& info) {
    if (filter.kind && info.kind != *filter.kind) return;
    if (filter.scope && info.scope != *filter.scope) return;
    auto& entry = found.try_emplace({info.kind, info.scope, info.key}, info).first->second;
    entry.used = std::max(entry.used, info.used);
    const auto use = uses_.find({info.kind, info.scope, info.key});
    if (use != uses_.end()) entry.used = std::max(entry.used, use->second);
  };
  on_file(false, [&](Database& database) { database.each_info(add); });
  for (const auto& entry : overlay_->entries()) add(entry.info);

  std::vector<EntryInfo> result;
  for (auto& [place, info] : found) result.push_back(std::move(info));
  return result;
}

std::int64_t Store::prune(std::int64_t max_bytes) {
  const std::lock_guard lock(mutex_);
  std::int64_t erased = 0;
  const bool on_disk = on_file(true, [&](Database& database) {
    Database::Transaction transaction(database);
    write_uses(database);
    erased = database.shrink(max_bytes);
    transaction.commit();
    database.release_free_pages();
  });
  if (!on_disk) return overlay_->shrink(max_bytes);
  uses_.clear();
  drop_from_overlay_what_the_file_lost();
  return erased;
}

void Store::drop_from_overlay_what_the_file_lost() {
  std::vector<EntryInfo> lost;
  on_file(false, [&](Database& database) {
    Entry entry;
    for (const auto& mine : overlay_->entries()) {
      const auto& info = mine.info;
      if (database.find(info.kind, info.scope, info.key, entry) != Database::Found::yes) lost.push_back(info);
    }
  });
  for (const auto& info : lost) overlay_->erase(info.kind, info.scope, info.key);
}

void Store::export_to(const std::string& file) {
  const std::lock_guard lock(mutex_);
  const auto unfinished = fmt::format("{}.{}.tmp", file, getpid());
  unlink(unfinished.c_str());
  as_io_error("export", file, [&] {
    Database out(unfinished, Database::Access::single_file);
    Database::Transaction transaction(out);
    on_file(false, [&](Database& database) {
      database.each_entry([&](const Entry& entry, bool damaged) {
        if (!damaged) as_io_error("export", file, [&] { out.insert(entry.info, entry.value, true); });
      });
    });
    for (const auto& entry : overlay_->entries()) out.insert(entry.info, entry.value, false);
    transaction.commit();
  });
  if (std::rename(unfinished.c_str(), file.c_str()) != 0) {
    const int error = errno;
    unlink(unfinished.c_str());
    throw IoError(fmt::format("[cache] export: {}: {}", file, std::strerror(error)));
  }
}

ImportResult Store::import_from(const std::string& file) {
  std::vector<Entry> entries;
  ImportResult result;
  as_io_error("import", file, [&] {
    const auto now = now_microseconds();
    Database(file, Database::Access::immutable).each_entry([&](const Entry& entry, bool damaged) {
      result.damaged += damaged;
      if (damaged) return;
      entries.push_back(entry);
      entries.back().info.origin = Origin::imported;
      entries.back().info.used = now;
    });
  });

  const std::lock_guard lock(mutex_);
  const bool on_disk = on_file(true, [&](Database& database) {
    result.imported = 0;
    Database::Transaction transaction(database);
    for (const auto& entry : entries) result.imported += database.insert(entry.info, entry.value, false);
    if (database.bytes_in_use() > options_.limit_bytes) database.shrink(pruned_size(options_.limit_bytes));
    transaction.commit();
  });
  for (const auto& entry : entries) {
    const auto& info = entry.info;
    const auto* mine = overlay_->find(info.kind, info.scope, info.key);
    if (on_disk || (mine != nullptr && mine->info.origin == Origin::local)) continue;
    overlay_->put(entry);
    ++result.imported;
  }
  result.kept = static_cast<std::int64_t>(entries.size()) - result.imported;
  return result;
}

Status Store::status() {
  const std::lock_guard lock(mutex_);
  on_file(false, [](Database&) {});
  return status_;
}

}  // namespace strata::cache
