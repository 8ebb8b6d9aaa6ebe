#include "tools/bench/raw_commits.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <string>

namespace berth::bench {
namespace {

struct CloseConnection {
  void operator()(sqlite3* connection) const { sqlite3_close(connection); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Connection = std::unique_ptr<sqlite3, CloseConnection>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

tl::unexpected<Error> refused(sqlite3* connection) {
  return fail(ErrorKind::kIo, fmt::format("sqlite refuses: {}", sqlite3_errmsg(connection)));
}

}  // namespace

Result<Samples> raw_commits(const std::filesystem::path& file, Duration budget) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open(file.c_str(), &raw);
  const Connection connection(raw);
  if (opened != SQLITE_OK) return refused(raw);
  if (sqlite3_exec(raw,
                   "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                   "CREATE TABLE rows (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
                   nullptr, nullptr, nullptr) != SQLITE_OK)
    return refused(raw);
  sqlite3_stmt* raw_statement = nullptr;
  if (sqlite3_prepare_v2(raw, "INSERT INTO rows VALUES (?, ?)", -1, &raw_statement, nullptr) !=
      SQLITE_OK)
    return refused(raw);
  const Statement insert(raw_statement);
  const std::string body(400, 'x');
  Samples samples;
  const Instant end = now() + budget;
  for (Instant begun = now(); begun < end;) {
    const std::string name = fmt::format("berth-{:032}", samples.count());
    sqlite3_bind_text(insert.get(), 1, name.data(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
    sqlite3_bind_text(insert.get(), 2, body.data(), static_cast<int>(body.size()), SQLITE_STATIC);
    if (sqlite3_step(insert.get()) != SQLITE_DONE) return refused(raw);
    sqlite3_reset(insert.get());
    const Instant done = now();
    samples.add(done - begun);
    begun = done;
  }
  return samples;
}

}  // namespace berth::bench
