#include "core/store/sqlite/reading_store.h"

#include <fmt/format.h>

#include <utility>

#include "core/store/lane.h"
#include "core/store/sqlite/connection.h"
#include "core/store/sqlite/new_intents.h"
#include "core/store/sqlite/row_cache.h"
#include "core/store/sqlite/schema.h"
#include "core/store/sqlite/transaction.h"

namespace berth {

struct ReadingStore::Inside {
  explicit Inside(std::unique_ptr<sqlite::Connection> made)
      : connection(std::move(made)),
        reading(
            "the store's reader", 65'536, 1, [this](store::Lane::Batch batch) { run(batch); }, [] {}) {}

  void run(store::Lane::Batch batch) {
    for (const auto& unit : batch) unit->status = run_one(unit->work);
  }

  Status run_one(const UnitOfWork& work) {
    BERTH_CHECK_OK(connection->run("BEGIN"));
    sqlite::RowCache cache;
    unlisted.look_again();
    sqlite::SqliteTransaction transaction(*connection, cache, unlisted,
                                          sqlite::SqliteTransaction::Kind::kRead);
    Status done = transaction.run(work);
    if (connection->idle()) return done;
    const Status ended = connection->run("ROLLBACK");
    return done ? ended : done;
  }

  std::unique_ptr<sqlite::Connection> connection;
  sqlite::NewIntents unlisted;
  store::Lane reading;  // last: its thread uses everything above
};

Result<std::unique_ptr<ReadingStore>> ReadingStore::open(const std::filesystem::path& path) {
  sqlite::ConnectionOptions options;
  options.path = path;
  BERTH_TRY(auto connection, sqlite::open_to_read(std::move(options), sqlite::migrations()));
  return std::unique_ptr<ReadingStore>(
      new ReadingStore(std::make_unique<Inside>(std::move(connection))));
}

ReadingStore::ReadingStore(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
ReadingStore::~ReadingStore() = default;

Task<Status> ReadingStore::commit(UnitOfWork) {
  co_return fail(ErrorKind::kRefused,
                 fmt::format("the store {} is open for reading only: it cannot be written where it is",
                             inside_->connection->path().string()));
}

Task<Status> ReadingStore::read(UnitOfWork work) {
  return inside_->reading.submit(std::move(work));
}

}  // namespace berth
