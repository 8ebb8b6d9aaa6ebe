#include "core/store/sqlite/schema.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "core/base/time.h"

namespace berth::sqlite {
namespace {

// "BRTH": how `file` and this program know a store.
constexpr std::int64_t kApplicationId = 0x42525448;

Result<std::int64_t> single_integer(Connection& connection, Sql sql) {
  BERTH_TRY(Statement statement, connection.use(sql));
  BERTH_TRY(const bool row, statement.step());
  return row ? statement.next_integer() : 0;
}

// True: an empty file. Reads only.
Result<bool> is_empty(Connection& connection) {
  BERTH_TRY(const std::int64_t application, single_integer(connection, "PRAGMA application_id"));
  BERTH_TRY(const std::int64_t tables,
            single_integer(connection, "SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && tables == 0) return true;
  if (application == kApplicationId) return false;
  return fail(ErrorKind::kRefused,
              fmt::format("{} is a database of another program; choose another folder with "
                          "BERTH_STATE_DIR",
                          connection.path().string()));
}

// The version inside the open transaction; 0 for an empty file.
Result<std::int64_t> stored_version(Connection& connection, int known) {
  BERTH_TRY(const bool empty, is_empty(connection));
  if (empty) return 0;
  BERTH_TRY(const std::int64_t version,
            single_integer(connection, "SELECT max(version) FROM schema_versions"));
  if (version > known)
    return fail(
        ErrorKind::kRefused,
        fmt::format("the store {} has schema version {}, written by a newer berth; this one "
                    "knows versions up to {}: use the newer berth, or another folder with "
                    "BERTH_STATE_DIR",
                    connection.path().string(), version, known));
  return version;
}

Status apply(Connection& connection, std::span<const Migration> steps) {
  const int known = steps.empty() ? 0 : steps.back().version;
  BERTH_TRY(const std::int64_t version, stored_version(connection, known));
  if (version == 0) {
    BERTH_CHECK_OK(connection.script(fmt::format(
        "PRAGMA application_id={};CREATE TABLE schema_versions (version INTEGER PRIMARY "
        "KEY, applied_at INTEGER NOT NULL) STRICT",
        kApplicationId)));
  }
  for (const Migration& step : steps) {
    if (step.version <= version) continue;
    if (auto done = connection.script(step.sql); !done)
      return fail(
          done.error().with(fmt::format("migrating the store to schema version {}", step.version)));
    BERTH_TRY(Statement record, connection.use("INSERT INTO schema_versions VALUES (?, ?)"));
    const auto now =
        std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    BERTH_TRY([[maybe_unused]] const std::int64_t changed,
              record.integer(std::int64_t{step.version}).integer(unix_ms(now)).run());
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Connection>> open_migrated(ConnectionOptions options,
                                                  std::span<const Migration> steps) {
  BERTH_TRY(auto connection, Connection::open(std::move(options)));
  // Of one moment: another process may be making the store meanwhile.
  BERTH_CHECK_OK(connection->run("BEGIN"));
  const Result<bool> is_new = is_empty(*connection);
  const Status ended = connection->idle() ? Status() : connection->run("ROLLBACK");
  if (!is_new) return fail(is_new.error());
  BERTH_CHECK_OK(ended);
  BERTH_CHECK_OK(connection->use_wal(*is_new));
  BERTH_CHECK_OK(migrate(*connection, steps));
  // Last: while a table is made anew, what refers to it refers to nothing.
  BERTH_CHECK_OK(connection->run("PRAGMA foreign_keys=ON"));
  return connection;
}

Result<std::unique_ptr<Connection>> open_to_read(ConnectionOptions options,
                                                 std::span<const Migration> steps) {
  BERTH_TRY(auto connection, Connection::open_for_reading(std::move(options)));
  const int known = steps.back().version;
  BERTH_TRY(const std::int64_t version, stored_version(*connection, known));
  if (version == known) return connection;
  return fail(ErrorKind::kRefused,
              fmt::format("the store {} has schema version {} and would have to be brought to {}, "
                          "but cannot be written; copy its folder to where it can be, and look there",
                          connection->path().string(), version, known));
}

Status migrate(Connection& connection, std::span<const Migration> steps) {
  BERTH_CHECK_OK(connection.run("BEGIN IMMEDIATE"));
  Status done = apply(connection, steps);
  if (done) done = connection.run("COMMIT");
  if (!done && !connection.idle()) (void)connection.run("ROLLBACK");
  return done;
}

}  // namespace berth::sqlite
