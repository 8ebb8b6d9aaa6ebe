// Connection: one SQLite connection with its cached statements. The one place that calls sqlite3_*
// outside the schema and the commit loop.
//
// A connection belongs to one thread at a time. Statements borrowed from it end before it does.
#ifndef BERTH_CORE_STORE_SQLITE_CONNECTION_H_
#define BERTH_CORE_STORE_SQLITE_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "core/base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth::sqlite {

struct ConnectionOptions {
  std::filesystem::path path;
  // How long a lock that another process holds is waited for.
  Duration busy_wait = std::chrono::seconds(10);
  // Name of a registered SQLite VFS; empty: the system's own.
  std::string vfs = {};
};

class Connection;

// The text of a statement that stands in the program. It is known by where it stands, which nothing
// else can take: to hash and compare some hundred characters at each use costs as much as a short
// statement.
class Sql {
 public:
  template <std::size_t size>
  consteval Sql(const char (&literal)[size]) : text_(literal, size - 1) {}  // NOLINT: as a text
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// One use of a cached statement: bind, step, read. Resets it when destroyed.
class Statement {
 public:
  Statement(Connection& connection, sqlite3_stmt* raw) : connection_(&connection), raw_(raw) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  Statement(const Statement&) = delete;
  ~Statement();

  // Parameters are bound in order of the calls. Text and bytes must live until the last step.
  Statement& text(std::string_view value);
  Statement& bytes(std::string_view value);
  Statement& integer(std::int64_t value);
  Statement& integer(std::optional<std::int64_t> value);
  Statement& optional_bytes(const std::optional<std::string>& value);

  // True: a row is there. Errors name the store and what to do.
  Result<bool> step();
  // Steps a statement that gives no rows to its end; how many rows it changed.
  Result<std::int64_t> run();

  // Columns are read in order of the calls, from the first of the current row.
  std::string next_text();
  std::int64_t next_integer();
  std::optional<std::int64_t> next_optional();

  sqlite3_stmt* raw() const { return raw_; }

 private:
  void bound(int code);

  Connection* connection_;
  sqlite3_stmt* raw_;
  int parameter_ = 0;
  int column_ = 0;
  int failed_ = 0;  // the first SQLite code of a bind
};

class Connection {
 public:
  // Opens an existing or new file, private to this user, and changes nothing in it. Errors say what
  // to do when the file is damaged, read-only or locked.
  static Result<std::unique_ptr<Connection>> open(ConnectionOptions options);
  // Opens an existing file that cannot be written, or whose folder cannot, and only reads it. What is
  // in a log beside it is read as well, or the file is refused.
  static Result<std::unique_ptr<Connection>> open_for_reading(ConnectionOptions options);
  // WAL mode with synchronous=FULL. This is the first thing that may write to the file; `is_new` says
  // that it has no tables yet.
  Status use_wal(bool is_new);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // A statement of `sql`, compiled at its first use.
  Result<Statement> use(Sql sql);
  // The same of a text that was put together.
  Result<Statement> use_text(std::string_view sql);
  // A statement without parameters and rows.
  Status run(Sql sql);
  // Several statements at once, not cached.
  Status script(const std::string& sql);

  // False while a transaction is open. True inside one means that SQLite rolled it back by itself.
  bool idle() const;
  std::int64_t last_row() const;
  // Whether the file is no longer what its path names: removed, renamed or replaced. What is
  // committed to it then is lost with it.
  bool moved() const;
  // Changes when another connection, of this process or another, has committed.
  Result<std::int64_t> data_version();
  // The error of the last call, for people.
  Error error(int code) const;
  // Frames in the write-ahead log after the last commit.
  int wal_frames() const { return wal_frames_; }
  // Copies the log into the database; `restart` also waits a little for readers, so that the log
  // starts over. Gives up without harm.
  void checkpoint(bool restart);
  // Once the log has `frames`, keeps room for as many more written out beyond the last, as far as
  // `frames_max`: a commit that overwrites is done in about half the time of one that also makes the
  // file longer. Outside a transaction; gives up without harm.
  void fill_log_ahead(int frames, int frames_max);

  sqlite3* raw() const { return raw_; }
  const std::filesystem::path& path() const { return options_.path; }

 private:
  explicit Connection(ConnectionOptions options) : options_(std::move(options)) {}
  // `name`: the path, or an address of it as SQLite has them.
  Status connect(const std::string& name, int flags);
  static int on_busy(void* self, int count);
  static int on_wal(void* self, sqlite3*, const char*, int frames);
  // The size of the log's file; absent when there is none.
  std::optional<std::int64_t> log_bytes();
  void write_zeros(std::int64_t from, std::int64_t until);

  ConnectionOptions options_;
  sqlite3* raw_ = nullptr;
  int wal_frames_ = 0;
  int wal_filled_ = 0;  // frames that the log's file had room for when last asked
  Instant busy_since_;
  Duration busy_wait_now_{0};
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, sqlite3_stmt*, Hash, std::equal_to<>> statements_;
  std::unordered_map<const char*, sqlite3_stmt*> of_program_;  // by Sql; owned by statements_
};

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_CONNECTION_H_
