#include "core/store/sqlite/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/os/fd.h"
#include "core/store/sqlite/gathered_log.h"

namespace berth::sqlite {
namespace {

// A frame of the log is a page and a header of 24 bytes (sqlite.org/fileformat2.html, section 4.1).
constexpr std::int64_t kFrameBytes = 4096 + 24;
// What a log keeps of its size when it starts over.
constexpr std::int64_t kLogBytesKept = 17 << 20;

// A result document is at most 16 MiB; a row has a little more around it.
constexpr int kRowBytesMax = 20 << 20;
constexpr Duration kCheckpointWait = std::chrono::milliseconds(100);
// Combinations of filters are few; beyond this something is building texts by value.
constexpr std::size_t kStatementsMax = 512;

std::string_view as_view(const unsigned char* text, int bytes) {
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text),
                                            static_cast<std::size_t>(bytes));
}

// SQLite would create the file with the process's umask; what is in it is nobody else's. An
// existing file is only looked at by name: closing any descriptor of it would drop the POSIX locks
// of every other connection of this process.
Status create_private(const std::filesystem::path& path) {
  auto made = os::open_file(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (made) return {};
  if (made.error().kind() != ErrorKind::kConflict)
    return fail(made.error().with(
        "cannot make the store; make its folder writable or set BERTH_STATE_DIR to one that is"));
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0)
    return fail(os_error(errno, fmt::format("cannot examine {}", path.string())));
  if (!S_ISREG(status.st_mode))
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("the store {} is not a regular file; move it away", path.string()));
  if ((status.st_mode & 0077) != 0 && ::chmod(path.c_str(), 0600) != 0)
    return fail(os_error(errno, fmt::format("others can read the store {} and its mode cannot be "
                                            "changed; make it 0600",
                                            path.string())));
  return {};
}

// A path as it stands in one of SQLite's addresses (sqlite.org/uri.html).
std::string as_address(const std::filesystem::path& path) {
  constexpr std::string_view kPlain = "/._-~";
  std::string text;
  for (const char c : path.string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || kPlain.find(c) != std::string_view::npos))
      text += c;
    else
      text += fmt::format("%{:02X}", byte);
  }
  return text;
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_),
      raw_(std::exchange(other.raw_, nullptr)),
      parameter_(other.parameter_),
      column_(other.column_),
      failed_(other.failed_) {}

Statement::~Statement() {
  if (raw_ != nullptr) sqlite3_reset(raw_);
}

void Statement::bound(int code) {
  if (code != SQLITE_OK && failed_ == SQLITE_OK) failed_ = code;
}

Statement& Statement::text(std::string_view value) {
  // A null pointer would bind NULL.
  bound(sqlite3_bind_text64(raw_, ++parameter_, value.data() == nullptr ? "" : value.data(),
                            value.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bytes(std::string_view value) {
  bound(sqlite3_bind_blob64(raw_, ++parameter_, value.data() == nullptr ? "" : value.data(),
                            value.size(), SQLITE_STATIC));
  return *this;
}

Statement& Statement::integer(std::int64_t value) {
  bound(sqlite3_bind_int64(raw_, ++parameter_, value));
  return *this;
}

Statement& Statement::integer(std::optional<std::int64_t> value) {
  if (value) return integer(*value);
  bound(sqlite3_bind_null(raw_, ++parameter_));
  return *this;
}

Statement& Statement::optional_bytes(const std::optional<std::string>& value) {
  if (value) return bytes(*value);
  bound(sqlite3_bind_null(raw_, ++parameter_));
  return *this;
}

Result<bool> Statement::step() {
  if (failed_ != SQLITE_OK) return fail(connection_->error(failed_));
  column_ = 0;
  const int code = sqlite3_step(raw_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail(connection_->error(code));
}

Result<std::int64_t> Statement::run() {
  BERTH_TRY(bool row, step());
  while (row) {
    BERTH_TRY(row, step());
  }
  return sqlite3_changes64(connection_->raw());
}

std::string Statement::next_text() {
  const int column = column_++;
  // sqlite3_column_text first: it decides the encoding that the byte count is of.
  const unsigned char* text = sqlite3_column_text(raw_, column);
  return std::string(as_view(text, sqlite3_column_bytes(raw_, column)));
}

std::int64_t Statement::next_integer() { return sqlite3_column_int64(raw_, column_++); }

std::optional<std::int64_t> Statement::next_optional() {
  const int column = column_++;
  if (sqlite3_column_type(raw_, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_int64(raw_, column);
}

Result<std::unique_ptr<Connection>> Connection::open(ConnectionOptions options) {
  BERTH_CHECK_OK(create_private(options.path));
  std::unique_ptr<Connection> made(new Connection(std::move(options)));
  BERTH_CHECK_OK(made->connect(made->path().string(), SQLITE_OPEN_READWRITE));
  return made;
}

Result<std::unique_ptr<Connection>> Connection::open_for_reading(ConnectionOptions options) {
  std::unique_ptr<Connection> made(new Connection(options));
  BERTH_CHECK_OK(made->connect(made->path().string(), SQLITE_OPEN_READONLY));
  // The first thing that looks into the file, and so the first that needs its log.
  const int code = sqlite3_exec(made->raw_, "PRAGMA schema_version", nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return made;
  const std::filesystem::path log = made->path().string() + "-wal";
  std::error_code error;
  const bool no_log = (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY;
  if (!no_log || !std::filesystem::exists(made->path(), error)) return fail(made->error(code));
  // The index of a log is a file beside it, which cannot be made here.
  if (std::filesystem::exists(log, error) && std::filesystem::file_size(log, error) > 0)
    return fail(ErrorKind::kIo,
                fmt::format("the store {} cannot be read where it is: part of it is in its log {}, "
                            "and its folder is read-only; copy both into a folder of your own and "
                            "look there",
                            made->path().string(), log.string()));
  // Whoever writes has a log, and nobody can make one here either.
  made.reset(new Connection(std::move(options)));
  BERTH_CHECK_OK(made->connect(fmt::format("file:{}?immutable=1", as_address(made->path())),
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  return made;
}

Status Connection::connect(const std::string& name, int flags) {
  BERTH_TRY(const std::string vfs, gathered_log_vfs(options_.vfs));
  const int code = sqlite3_open_v2(name.c_str(), &raw_,
                                   flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs.c_str());
  if (code != SQLITE_OK) return fail(error(code));
  busy_wait_now_ = options_.busy_wait;
  sqlite3_busy_handler(raw_, &Connection::on_busy, this);
  sqlite3_limit(raw_, SQLITE_LIMIT_LENGTH, kRowBytesMax);
  sqlite3_limit(raw_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(raw_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return {};
}

Status Connection::use_wal(bool is_new) {
  // On a store that has pages, setting auto_vacuum again is a commit that changes nothing.
  const char* const set_up =
      is_new ? "PRAGMA auto_vacuum=INCREMENTAL;PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=WAL";
  // Two processes that turn a new file to WAL at once see SQLITE_BUSY without their busy handler
  // being asked, because waiting there could deadlock; trying again cannot.
  const auto until = std::chrono::steady_clock::now() + options_.busy_wait;
  for (;;) {
    const int code = sqlite3_exec(raw_, set_up, nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) break;
    if ((code & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() >= until)
      return fail(error(code));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  // temp_store: what a savepoint keeps for its rollback stays in memory. cache_size, in KiB: what is
  // not in it is in the kernel's, a few microseconds away; a larger one costs more than it saves, for
  // a commit that balanced pages looks through all of it.
  BERTH_CHECK_OK(
      script("PRAGMA synchronous=FULL;PRAGMA temp_store=MEMORY;"
             "PRAGMA cache_size=-4096"));
  BERTH_CHECK_OK(script(fmt::format("PRAGMA journal_size_limit={}", kLogBytesKept)));
  sqlite3_wal_hook(raw_, &Connection::on_wal, this);
  return {};
}

Connection::~Connection() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(raw_);
}

int Connection::on_busy(void* self, int count) {
  auto& connection = *static_cast<Connection*>(self);
  const Instant now = std::chrono::steady_clock::now();
  if (count == 0) connection.busy_since_ = now;
  if (now - connection.busy_since_ >= connection.busy_wait_now_) return 0;
  // A commit takes some hundred microseconds: short waits first, a few milliseconds at most.
  const Duration pause = std::chrono::microseconds(std::min(100 + 60 * count, 2000));
  std::this_thread::sleep_for(pause);
  return 1;
}

int Connection::on_wal(void* self, sqlite3*, const char*, int frames) {
  static_cast<Connection*>(self)->wal_frames_ = frames;
  return SQLITE_OK;
}

void Connection::checkpoint(bool restart) {
  busy_wait_now_ = kCheckpointWait;
  const int code = sqlite3_wal_checkpoint_v2(
      raw_, nullptr, restart ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, nullptr,
      nullptr);
  busy_wait_now_ = options_.busy_wait;
  // Tried again after as many more frames; what is committed is safe in the log meanwhile.
  if (code != SQLITE_OK) return;
  wal_frames_ = 0;
  wal_filled_ = 0;  // a log that starts over may be cut to its limit
}

std::optional<std::int64_t> Connection::log_bytes() {
  sqlite3_file* log = nullptr;
  if (sqlite3_file_control(raw_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
      log == nullptr || log->pMethods == nullptr)
    return std::nullopt;
  sqlite3_int64 bytes = 0;
  if (log->pMethods->xFileSize(log, &bytes) != SQLITE_OK) return std::nullopt;
  return bytes;
}

// Zeros are no frame: a recovery stops at them as it does at frames of an earlier round.
void Connection::write_zeros(std::int64_t from, std::int64_t until) {
  sqlite3_file* log = nullptr;
  sqlite3_file_control(raw_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  const std::vector<char> zeros(std::size_t{64} << 10, '\0');
  while (from < until) {
    const auto size = std::min(until - from, static_cast<std::int64_t>(zeros.size()));
    if (log->pMethods->xWrite(log, zeros.data(), static_cast<int>(size), from) != SQLITE_OK) return;
    from += size;
  }
}

void Connection::fill_log_ahead(int frames, int frames_max) {
  const int wanted = std::min(wal_frames_ + frames, frames_max);
  // A store that is opened for a call or two is closed before this would pay.
  if (wal_frames_ < frames || wanted <= wal_filled_) return;
  // Other processes append to the same file, each while it holds the lock that this takes.
  if (!run("BEGIN IMMEDIATE")) return;
  if (const auto bytes = log_bytes()) {
    // Several times what is missing, so that this is rarely done.
    const int fill = std::min(wal_frames_ + 4 * frames, frames_max);
    write_zeros(*bytes, std::int64_t{fill} * kFrameBytes);
    wal_filled_ = std::max(fill, static_cast<int>(*bytes / kFrameBytes));
  }
  (void)run("ROLLBACK");
}

Result<Statement> Connection::use(Sql sql) {
  const auto found = of_program_.find(sql.text().data());
  if (found != of_program_.end()) return Statement(*this, found->second);
  BERTH_TRY(Statement compiled, use_text(sql.text()));
  of_program_.emplace(sql.text().data(), compiled.raw());
  return compiled;
}

Result<Statement> Connection::use_text(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    if (statements_.size() >= kStatementsMax)
      return fail(ErrorKind::kInternal, "the store compiled too many different statements");
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(raw_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    if (code != SQLITE_OK) return fail(error(code));
    found = statements_.emplace(std::string(sql), raw).first;
  }
  return Statement(*this, found->second);
}

Status Connection::run(Sql sql) {
  BERTH_TRY(Statement statement, use(sql));
  BERTH_TRY([[maybe_unused]] const std::int64_t changed, statement.run());
  return {};
}

Status Connection::script(const std::string& sql) {
  const int code = sqlite3_exec(raw_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(error(code));
  return {};
}

bool Connection::idle() const { return sqlite3_get_autocommit(raw_) != 0; }

bool Connection::moved() const {
  int moved = 0;
  return sqlite3_file_control(raw_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

std::int64_t Connection::last_row() const { return sqlite3_last_insert_rowid(raw_); }

Result<std::int64_t> Connection::data_version() {
  BERTH_TRY(Statement statement, use("PRAGMA data_version"));
  BERTH_TRY([[maybe_unused]] const bool row, statement.step());
  return statement.next_integer();
}

Error Connection::error(int code) const {
  const std::string path = options_.path.string();
  const char* said = raw_ != nullptr && sqlite3_errcode(raw_) != SQLITE_OK ? sqlite3_errmsg(raw_)
                                                                           : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error(ErrorKind::kUnavailable,
                   fmt::format("the store {} is locked by another process for more than {}; let it "
                               "finish, or find it with 'fuser {}'",
                               path, to_human(options_.busy_wait), path));
    case SQLITE_FULL:
      return Error(ErrorKind::kIo,
                   fmt::format("no space is left for the store {}; free some on its "
                               "file system and try again",
                               path));
    case SQLITE_READONLY:
      return Error(ErrorKind::kIo, fmt::format("the store {} is read-only; make the file and its "
                                               "folder writable for this user",
                                               path));
    case SQLITE_CORRUPT:
      return Error(
          ErrorKind::kCorrupt,
          fmt::format("the store {} is damaged ({}); restore a backup, or move it away with "
                      "its -wal file and reconcile what the provider still lists",
                      path, said));
    case SQLITE_NOTADB:
      return Error(
          ErrorKind::kCorrupt,
          fmt::format("{} is not a store: it is no SQLite database; move it away or choose "
                      "another folder with BERTH_STATE_DIR",
                      path));
    case SQLITE_CANTOPEN:
      return Error(
          ErrorKind::kIo,
          fmt::format("cannot open the store {} ({}); its folder must exist and be writable, "
                      "because the log is kept beside it",
                      path, said));
    case SQLITE_IOERR: {
      const int why = raw_ != nullptr ? sqlite3_system_errno(raw_) : 0;
      return Error(ErrorKind::kIo,
                   fmt::format("reading or writing the store {} failed: {}{}", path, said,
                               why == 0 ? "" : ": " + std::generic_category().message(why)));
    }
    case SQLITE_TOOBIG:
      return Error(ErrorKind::kLimit, fmt::format("a row for the store {} has more than {} bytes",
                                                  path, kRowBytesMax));
    case SQLITE_CONSTRAINT:
      return Error(ErrorKind::kInvalidArgument,
                   fmt::format("a row breaks a rule of the store {}: {}", path, said));
    case SQLITE_NOMEM:
      return Error(ErrorKind::kUnavailable, "no memory is left for the store");
    default:
      return Error(ErrorKind::kInternal,
                   fmt::format("the store {}: {} (SQLite code {})", path, said, code));
  }
}

}  // namespace berth::sqlite
