#include "cache/database.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cache/location.hpp"

namespace strata::cache {
namespace {

constexpr std::int64_t schema_version = 1;
constexpr int busy_milliseconds = 5000;

// The value comes last: lists then never read its pages.
constexpr const char* schema_sql =
    "DROP TABLE IF EXISTS entries;"
    "CREATE TABLE entries(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, scope TEXT NOT NULL, key TEXT NOT "
    "NULL,"
    " origin INTEGER NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL, size INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL, value BLOB NOT NULL, UNIQUE(kind, scope, key));"
    "CREATE INDEX entries_by_use ON entries(used, id);";

constexpr const char* statement_sql[] = {
    "SELECT size, created, used, origin, checksum, value FROM entries WHERE kind=?1 AND scope=?2 AND key=?3",
    "INSERT INTO entries(kind, scope, key, origin, created, used, size, checksum, value)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(kind, scope, key) DO UPDATE SET"
    " origin=excluded.origin, created=excluded.created, used=excluded.used, size=excluded.size,"
    " checksum=excluded.checksum, value=excluded.value WHERE ?10 OR origin=1",
    "DELETE FROM entries WHERE kind=?1 AND scope=?2 AND key=?3",
    "UPDATE entries SET used=max(used, ?4) WHERE kind=?1 AND scope=?2 AND key=?3",
    "SELECT size, created, used, origin, checksum, value, kind, scope, key FROM entries ORDER BY id",
    "SELECT size, created, used, origin, kind, scope, key FROM entries ORDER BY kind, scope, key",
    "SELECT id, size FROM entries ORDER BY used, id LIMIT 1",
    "DELETE FROM entries WHERE id=?1",
};

int primary(int code) { return code & 0xff; }

std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

bool DatabaseError::busy() const { return primary(code) == SQLITE_BUSY || primary(code) == SQLITE_LOCKED; }

// The statements are fixed, so SQLITE_ERROR means that a table is not what it should be.
bool DatabaseError::damaged() const {
  const int kind = primary(code);
  return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_ERROR || kind == SQLITE_SCHEMA ||
         kind == SQLITE_MISMATCH || code == SQLITE_IOERR_SHORT_READ;
}

/// One use of a prepared statement; gives it back when it goes.
class Database::Query {
 public:
  Query(Database& database, Statement which) : database_(database) {
    auto*& cached = database.statements_[which];
    if (cached == nullptr) {
      const int code = sqlite3_prepare_v3(database.handle_, statement_sql[which], -1,
                                          SQLITE_PREPARE_PERSISTENT, &cached, nullptr);
      if (code != SQLITE_OK) database.fail(code);
    }
    statement_ = cached;
  }
  ~Query() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& place(Kind kind, std::string_view scope, std::string_view key) {
    return bind(1, static_cast<std::int64_t>(kind)).bind(2, scope).bind(3, key);
  }
  Query& bind(int index, std::int64_t value) { return check(sqlite3_bind_int64(statement_, index, value)); }
  Query& bind(int index, std::string_view text) {
    return check(
        sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  Query& bind_bytes(int index, std::string_view bytes) {
    // A null pointer would bind NULL.
    const char* data = bytes.empty() ? "" : bytes.data();
    return check(sqlite3_bind_blob64(statement_, index, data, bytes.size(), SQLITE_STATIC));
  }
  bool step() {
    errno = 0;
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail(code);
    return code == SQLITE_ROW;
  }
  std::int64_t number(int column) { return sqlite3_column_int64(statement_, column); }
  std::string bytes(int column) {
    const void* data = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
  }

 private:
  Query& check(int code) {
    if (code != SQLITE_OK) database_.fail(code);
    return *this;
  }
  Database& database_;
  sqlite3_stmt* statement_;
};

Database::Database(const std::string& path, Access access) : path_(path) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::immutable ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
                                       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const auto name = access == Access::immutable ? uri_of(path) : path;
  try {
    const int code = sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr);
    if (code != SQLITE_OK) fail(code);
    sqlite3_busy_timeout(handle_, busy_milliseconds);
    // Files may come from elsewhere: nothing in their schema may run, nothing may break SQLite's own tables.
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    if (access == Access::single_file) {
      create_schema();
    } else if (number("PRAGMA user_version") != schema_version) {
      if (access == Access::immutable)
        throw DatabaseError{SQLITE_NOTADB, 0, "not a cache of this version of strata"};
      set_up();
    }
    if (access == Access::read_write) execute("PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304");
    inode_ = inode_of(path);
  } catch (...) {
    close();
    throw;
  }
}

Database::~Database() { close(); }

void Database::close() noexcept {
  for (auto*& statement : statements_) {
    sqlite3_finalize(statement);
    statement = nullptr;
  }
  sqlite3_close(handle_);
  handle_ = nullptr;
}

// One process at a time: switching a new file to WAL mode fails at once, without waiting, while another looks
// at it.
void Database::set_up() {
  const FileLock lock(path_ + ".lock");
  if (number("PRAGMA user_version") == schema_version) return;
  // Unsynced: a first process need not wait some 50 ms for the disk to make a file that would simply be made
  // again.
  execute("PRAGMA synchronous=OFF; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL");
  create_schema();
}

void Database::create_schema() {
  Transaction transaction(*this);
  if (number("PRAGMA user_version") == schema_version) return;  // where locks do not work, another was first
  execute(schema_sql);
  execute(fmt::format("PRAGMA user_version={}", schema_version).c_str());
  transaction.commit();
}

/// The errno behind a failure: SQLite keeps it for some, and leaves it in place for others.
int Database::system_error_of(int code) const {
  const int left = errno;
  switch (primary(code)) {
    case SQLITE_READONLY:
    case SQLITE_PERM:
      if (access(path_.c_str(), W_OK) != 0) return errno;
      return access(folder_of(path_).c_str(), W_OK) != 0 ? errno : 0;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_FULL: {
      const int kept = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
      return kept != 0 ? kept : left;
    }
    default:
      return 0;
  }
}

void Database::fail(int code) const {
  const int system_error = system_error_of(code);
  if (system_error != 0) throw DatabaseError{code, system_error, std::strerror(system_error)};
  throw DatabaseError{code, 0, handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code)};
}

void Database::execute(const char* sql) {
  errno = 0;
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Database::number(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  errno = 0;
  int code = sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  const std::int64_t result = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  if (code != SQLITE_ROW) fail(code);
  return result;
}

Database::Found Database::find(Kind kind, std::string_view scope, std::string_view key, Entry& out) {
  Query query(*this, select_one);
  query.place(kind, scope, key);
  if (!query.step()) return Found::no;
  out.info = {kind,
              std::string(scope),
              std::string(key),
              query.number(0),
              query.number(1),
              query.number(2),
              static_cast<Origin>(query.number(3))};
  out.value = query.bytes(5);
  const auto expected = static_cast<std::uint64_t>(query.number(4));
  return checksum(kind, scope, key, out.value) == expected ? Found::yes : Found::corrupt;
}

bool Database::insert(const EntryInfo& info, std::string_view value, bool replace) {
  Query query(*this, upsert);
  query.place(info.kind, info.scope, info.key)
      .bind(4, static_cast<std::int64_t>(info.origin))
      .bind(5, info.created)
      .bind(6, info.used)
      .bind(7, static_cast<std::int64_t>(value.size()))
      .bind(8, static_cast<std::int64_t>(checksum(info.kind, info.scope, info.key, value)))
      .bind_bytes(9, value)
      .bind(10, static_cast<std::int64_t>(replace));
  query.step();
  return sqlite3_changes(handle_) > 0;
}

bool Database::erase(Kind kind, std::string_view scope, std::string_view key) {
  Query query(*this, delete_one);
  query.place(kind, scope, key).step();
  return sqlite3_changes(handle_) > 0;
}

void Database::touch(Kind kind, std::string_view scope, std::string_view key, std::int64_t used) {
  Query query(*this, update_used);
  query.place(kind, scope, key).bind(4, used).step();
}

void Database::each_entry(const std::function<void(const Entry&, bool damaged)>& visit) {
  Query query(*this, select_all);
  while (query.step()) {
    const Entry entry{{static_cast<Kind>(query.number(6)), query.bytes(7), query.bytes(8), query.number(0),
                       query.number(1), query.number(2), static_cast<Origin>(query.number(3))},
                      query.bytes(5)};
    const auto& info = entry.info;
    visit(entry, checksum(info.kind, info.scope, info.key, entry.value) !=
                     static_cast<std::uint64_t>(query.number(4)));
  }
}

void Database::each_info(const std::function<void(const EntryInfo&)>& visit) {
  Query query(*this, select_infos);
  while (query.step()) {
    visit({static_cast<Kind>(query.number(4)), query.bytes(5), query.bytes(6), query.number(0),
           query.number(1), query.number(2), static_cast<Origin>(query.number(3))});
  }
}

std::int64_t Database::bytes_in_use() {
  return (number("PRAGMA page_count") - number("PRAGMA freelist_count")) * number("PRAGMA page_size");
}

std::int64_t Database::shrink(std::int64_t max_bytes) {
  std::int64_t erased = 0;
  while (bytes_in_use() > max_bytes) {
    std::int64_t id = 0;
    {
      Query query(*this, oldest);
      if (!query.step()) break;
      id = query.number(0);
    }
    Query(*this, delete_id).bind(1, id).step();
    ++erased;
  }
  return erased;
}

void Database::release_free_pages() { execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE)"); }

Database::Transaction::Transaction(Database& database) : database_(database) {
  database.execute("BEGIN IMMEDIATE");
}

Database::Transaction::~Transaction() {
  // Fails when SQLite has rolled back by itself, after a full disk, say: then there is nothing left to do.
  if (open_) sqlite3_exec(database_.handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Database::Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

FileLock::FileLock(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  // Where a file system cannot lock, SQLite's own locks still keep the file whole.
  if (file_ >= 0) {
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

std::uint64_t inode_of(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

}  // namespace strata::cache
