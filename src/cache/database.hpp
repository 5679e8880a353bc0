/// The SQLite file of the store: opening, schema, and the few statements the store needs. Not thread-safe;
/// errors are thrown as DatabaseError, which never leaves this folder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cache/entry.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace strata::cache {

struct DatabaseError {
  int code;             ///< SQLite's extended result code
  int system_error;     ///< errno, or 0
  std::string message;  ///< errno's text where there is one, else SQLite's

  bool busy() const;     ///< another process held the file for longer than the timeout
  bool damaged() const;  ///< the file is not a database of ours, or is broken
};

class Database {
 public:
  enum class Access {
    read_write,  ///< created, or brought to our schema, when need be; WAL mode, shared with other processes
    immutable,   ///< a finished file on a read-only place
    single_file  ///< a new file without a WAL beside it, for exports
  };

  /// Opens the file; throws DatabaseError. With immutable access a file of another schema counts as damaged.
  Database(const std::string& path, Access access);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  /// Closes; the last process to close folds the WAL into the file.
  ~Database();

  /// The inode behind the open file.
  std::uint64_t inode() const { return inode_; }

  enum class Found { no, yes, corrupt };
  /// Looks one entry up, checksum verified.
  Found find(Kind kind, std::string_view scope, std::string_view key, Entry& out);
  /// Inserts; over an existing entry only when `replace`, or when a local entry meets an imported one.
  bool insert(const EntryInfo& info, std::string_view value, bool replace);
  bool erase(Kind kind, std::string_view scope, std::string_view key);
  void touch(Kind kind, std::string_view scope, std::string_view key, std::int64_t used);
  /// Calls `visit` for every entry; `damaged` says that the checksum does not fit.
  void each_entry(const std::function<void(const Entry&, bool damaged)>& visit);
  void each_info(const std::function<void(const EntryInfo&)>& visit);
  /// Erases the least recently used entries until at most `max_bytes` of the file are in use. Returns their
  /// number.
  std::int64_t shrink(std::int64_t max_bytes);
  /// Bytes of the file that hold data.
  std::int64_t bytes_in_use();
  /// Gives free pages back to the file system.
  void release_free_pages();

  /// All or nothing: rolls back unless committed.
  class Transaction {
   public:
    explicit Transaction(Database& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

   private:
    Database& database_;
    bool open_ = true;
  };

 private:
  class Query;
  enum Statement {
    select_one,
    upsert,
    delete_one,
    update_used,
    select_all,
    select_infos,
    oldest,
    delete_id,
    count
  };

  void execute(const char* sql);
  std::int64_t number(const char* sql);
  void set_up();
  void create_schema();
  void close() noexcept;
  int system_error_of(int code) const;
  [[noreturn]] void fail(int code) const;

  std::string path_;
  sqlite3* handle_ = nullptr;
  std::uint64_t inode_ = 0;
  std::array<sqlite3_stmt*, Statement::count> statements_{};  // prepared at first use
};

/// Held while a file is created or replaced, so that of several processes one does it. Released when its
/// holder dies.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

/// The inode at `path`, or 0.
std::uint64_t inode_of(const std::string& path);

}  // namespace strata::cache
