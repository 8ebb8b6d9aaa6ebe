#include "core/store/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <utility>

#include "core/store/lane.h"
#include "core/store/sqlite/connection.h"
#include "core/store/sqlite/new_intents.h"
#include "core/store/sqlite/row_cache.h"
#include "core/store/sqlite/schema.h"
#include "core/store/sqlite/transaction.h"

namespace berth {
namespace {

using sqlite::Connection;
using sqlite::SqliteTransaction;
using store::Lane;

void answer_all(Lane::Batch batch, const Error& error) {
  for (const auto& unit : batch) unit->status = fail(error);
}

// Numbers that any thread may read.
struct Tally {
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> units{0};
  std::atomic<std::uint64_t> failed_commits{0};
  std::atomic<std::uint64_t> reopened{0};
};

// What the writer's thread owns.
class Writer {
 public:
  Writer(SqliteStoreOptions options, std::unique_ptr<Connection> connection, Tally& tally,
         std::atomic<bool>& doubtful)
      : options_(std::move(options)),
        connection_(std::move(connection)),
        tally_(tally),
        doubtful_(doubtful) {}

  // One transaction for the whole batch. It is tried without savepoints, whose copies of every page
  // cost more than the work; only when a unit fails after it has written is all rolled back and run
  // again with a savepoint for each.
  void run(Lane::Batch batch) {
    if (connection_ == nullptr) {
      if (auto again = reopen(); !again) return answer_all(batch, again.error());
    }
    if (run_units(batch, kPlain)) commit(batch);
  }

  // After the answers, so that no one waits for it.
  void tend_log() {
    if (connection_ == nullptr) return;
    connection_->fill_log_ahead(kFramesAhead, options_.log_frames_max);
    if (connection_->wal_frames() < options_.log_frames_max) return;
    // Readers keep the log from starting over; only when it has grown far are they waited for.
    connection_->checkpoint(connection_->wal_frames() >= 4 * options_.log_frames_max);
  }

  // On the writer's thread, outside a transaction.
  Status release_pages(std::size_t pages_max) {
    if (connection_ == nullptr) return {};
    return connection_->script(fmt::format("PRAGMA incremental_vacuum({})", pages_max));
  }

 private:
  // False: every unit has its answer and nothing is open. Otherwise the transaction is, to be
  // committed.
  bool run_units(Lane::Batch batch, SqliteTransaction::Kind kind) {
    if (auto begun = begin(); !begun) {
      answer_all(batch, begun.error());
      return false;
    }
    for (const auto& unit : batch) {
      SqliteTransaction transaction(*connection_, cache_, unlisted_, kind);
      unit->status = transaction.run(unit->work);
      // A transaction that SQLite ended is lost for everyone.
      if (connection_->idle() || (transaction.must_roll_back() && kind != kPlain))
        return lose(batch, unit->status);
      if (!transaction.must_roll_back()) continue;
      if (auto undone = connection_->run("ROLLBACK"); !undone) return lose(batch, undone);
      // Alone, it has failed and that is all; its answer is set.
      return batch.size() > 1 && run_units(batch, SqliteTransaction::Kind::kSavepoint);
    }
    return true;
  }

  Status begin() {
    BERTH_CHECK_OK(connection_->run("BEGIN IMMEDIATE"));
    if (connection_->moved()) {
      (void)connection_->run("ROLLBACK");
      return fail(ErrorKind::kUnavailable,
                  fmt::format("the store {} was removed or replaced while it was in use; nothing "
                              "more is recorded in it",
                              options_.path.string()));
    }
    auto version = connection_->data_version();
    if (!version) {
      (void)connection_->run("ROLLBACK");
      return fail(version.error());
    }
    if (*version != data_version_) {
      cache_.clear();
      unlisted_.look_again();
    }
    data_version_ = *version;
    return {};
  }

  void commit(Lane::Batch batch) {
    if (auto listed = unlisted_.list_many(*connection_); !listed) {
      lose(batch, listed);
      return;
    }
    if (auto committed = connection_->run("COMMIT"); !committed) {
      // Also a refusal may rest on rows of this batch, so nobody's answer stands.
      answer_all(batch, Error(ErrorKind::kUnknownOutcome,
                              fmt::format("whether the last commit is stored is not known: {}",
                                          committed.error().message())));
      tally_.failed_commits.fetch_add(1, std::memory_order_relaxed);
      doubtful_.store(true);
      connection_.reset();
      forget();
      // At once, so that a reader who was just told "not known" is answered truly as soon as it can
      // be; when it fails, the next batch tries again.
      (void)reopen();
      return;
    }
    tally_.commits.fetch_add(1, std::memory_order_relaxed);
    tally_.units.fetch_add(batch.size(), std::memory_order_relaxed);
    if (options_.on_commit) options_.on_commit(batch.size());
  }

  void forget() {
    cache_.clear();
    unlisted_.clear();
  }

  // Nothing of the batch was committed, and that is certain: COMMIT was never asked for.
  bool lose(Lane::Batch batch, const Status& why) {
    const Error error =
        why ? Error(ErrorKind::kIo, "the database rolled the transaction back") : why.error();
    answer_all(batch, error);
    forget();
    if (!connection_->idle() && !connection_->run("ROLLBACK")) {
      doubtful_.store(true);
      connection_.reset();
    }
    return false;
  }

  // A failed COMMIT can leave a whole transaction in the log that readers do not see, but a
  // recovery after a crash would. A commit of our own settles it: it is appended where that ended
  // or where that began, and from then on what is read is what is stored.
  Status reopen() {
    auto made = sqlite::open_migrated({options_.path, options_.busy_wait, options_.vfs},
                                      sqlite::migrations());
    if (made) {
      auto settled = [&]() -> Status {
        BERTH_CHECK_OK((*made)->run("BEGIN IMMEDIATE"));
        BERTH_CHECK_OK((*made)->run("UPDATE marks SET value = value + 1 WHERE name = 'reopened'"));
        return (*made)->run("COMMIT");
      }();
      if (settled) {
        connection_ = std::move(*made);
        doubtful_.store(false);
        tally_.reopened.fetch_add(1, std::memory_order_relaxed);
        return {};
      }
      made = fail(settled.error());
    }
    return fail(
        ErrorKind::kUnavailable,
        fmt::format("the store is closed since a commit failed, and cannot be opened again: {}",
                    made.error().message()));
  }

  // More than most batches write.
  static constexpr int kFramesAhead = 64;
  static constexpr auto kPlain = SqliteTransaction::Kind::kPlain;

  SqliteStoreOptions options_;
  std::unique_ptr<Connection> connection_;
  sqlite::RowCache cache_;
  sqlite::NewIntents unlisted_;
  std::int64_t data_version_ = 0;
  Tally& tally_;
  std::atomic<bool>& doubtful_;
};

class Reader {
 public:
  Reader(std::unique_ptr<Connection> connection, std::atomic<bool>& doubtful)
      : connection_(std::move(connection)), doubtful_(doubtful) {}

  void run(Lane::Batch batch) {
    for (const auto& unit : batch) unit->status = run_one(unit->work);
  }

 private:
  Status run_one(const UnitOfWork& work) {
    BERTH_CHECK_OK(connection_->run("BEGIN"));
    // Another snapshot than the last one: no row is carried over.
    sqlite::RowCache cache;
    unlisted_.look_again();
    SqliteTransaction transaction(*connection_, cache, unlisted_, SqliteTransaction::Kind::kRead);
    Status done = transaction.run(work);
    if (!connection_->idle()) {
      if (auto ended = connection_->run("ROLLBACK"); done && !ended) done = ended;
    }
    // Asked last: a commit may have failed while this was reading.
    if (doubtful_.load())
      return fail(ErrorKind::kUnavailable,
                  "a commit to the store failed and what is stored is not settled yet; try again");
    return done;
  }

  std::unique_ptr<Connection> connection_;
  sqlite::NewIntents unlisted_;
  std::atomic<bool>& doubtful_;
};

}  // namespace

struct SqliteStore::Inside {
  Inside(SqliteStoreOptions options, std::unique_ptr<Connection> for_writing,
         std::unique_ptr<Connection> for_reading)
      : writer(options, std::move(for_writing), tally, doubtful),
        reader(std::move(for_reading), doubtful),
        writing(
            "the store's writer", options.queue_max, options.batch_max,
            [this](Lane::Batch batch) { writer.run(batch); }, [this] { after_batch(); }),
        reading(
            "the store's reader", options.queue_max, 1,
            [this](Lane::Batch batch) { reader.run(batch); }, [] {}) {}

  void after_batch() {
    writer.tend_log();
    const std::size_t pages = pages_to_release.exchange(0);
    // What cannot be given back now stays free inside the file, which harms nothing.
    if (pages > 0) (void)writer.release_pages(pages);
  }

  Tally tally;
  std::atomic<bool> doubtful{false};
  std::atomic<std::size_t> pages_to_release{0};
  Writer writer;
  Reader reader;
  // Last: their threads use everything above.
  Lane writing;
  Lane reading;
};

SqliteStore::SqliteStore(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
SqliteStore::~SqliteStore() = default;

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(SqliteStoreOptions options) {
  const sqlite::ConnectionOptions connection{options.path, options.busy_wait, options.vfs};
  BERTH_TRY(auto for_writing, sqlite::open_migrated(connection, sqlite::migrations()));
  BERTH_TRY(auto for_reading, sqlite::open_migrated(connection, sqlite::migrations()));
  BERTH_CHECK_OK(for_reading->script("PRAGMA query_only=ON"));
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::make_unique<Inside>(
      std::move(options), std::move(for_writing), std::move(for_reading))));
}

Task<Status> SqliteStore::commit(UnitOfWork work) {
  return inside_->writing.submit(std::move(work));
}

Task<Status> SqliteStore::read(UnitOfWork work) {
  Inside& inside = *inside_;
  if (inside.doubtful.load()) {
    // Only the writer can settle what is stored, and nobody else may come to make it try.
    UnitOfWork nothing = [](Transaction&) -> Status { return {}; };
    BERTH_CO_CHECK_OK(co_await inside.writing.submit(std::move(nothing)));
  }
  co_return co_await inside.reading.submit(std::move(work));
}

Task<Result<std::size_t>> SqliteStore::expire_results(WallTime before, std::size_t count_max,
                                                      std::size_t pages_max) {
  auto dropped = std::make_shared<std::size_t>(0);
  Inside& inside = *inside_;
  UnitOfWork work = [dropped, before, count_max, pages_max, &inside](Transaction& rows) -> Status {
    // The writer makes no other kind of transaction.
    auto& own = static_cast<SqliteTransaction&>(rows);
    BERTH_TRY(const std::int64_t count, own.expire_results(before, count_max));
    *dropped = static_cast<std::size_t>(count);
    inside.pages_to_release.store(count > 0 ? pages_max : 0);
    return {};
  };
  const Status done = co_await inside.writing.submit(std::move(work));
  if (!done) co_return fail(done.error());
  co_return *dropped;
}

SqliteStore::Counters SqliteStore::counters() const {
  const Tally& tally = inside_->tally;
  return {tally.commits.load(std::memory_order_relaxed),
          tally.units.load(std::memory_order_relaxed),
          tally.failed_commits.load(std::memory_order_relaxed),
          tally.reopened.load(std::memory_order_relaxed)};
}

}  // namespace berth
