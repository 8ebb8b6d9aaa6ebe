// The schema of the SQLite store and the steps that lead to it.
#ifndef BERTH_CORE_STORE_SQLITE_SCHEMA_H_
#define BERTH_CORE_STORE_SQLITE_SCHEMA_H_

#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/store/sqlite/connection.h"

namespace berth::sqlite {

// One step: from version `version - 1` to `version`.
struct Migration {
  int version;
  const char* sql;
};

// All steps of this build, versions rising by one from 1.
std::span<const Migration> migrations();

// A connection to the store at options.path, ready for use: its own kind of file, WAL mode, every
// step applied. A file of another program is refused before anything is written to it.
Result<std::unique_ptr<Connection>> open_migrated(ConnectionOptions options,
                                                  std::span<const Migration> steps);

// A connection that only reads the store at options.path, whose folder cannot be written. A store that
// would have to be brought up to date first is refused.
Result<std::unique_ptr<Connection>> open_to_read(ConnectionOptions options,
                                                 std::span<const Migration> steps);

// Brings the database to the last of `steps`, all in one transaction, alone among processes. A
// database of a newer version, or of another program, is refused and left as it is.
Status migrate(Connection& connection, std::span<const Migration> steps);

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_SCHEMA_H_
