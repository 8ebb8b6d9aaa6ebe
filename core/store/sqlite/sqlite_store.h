// SqliteStore: the durable store in one SQLite file, shared by any number of processes.
//
// Ownership: owns its two threads and connections. Destroy it only when no commit or read is being
// awaited any more.
// Threading: commit and read may be called from any coroutine; the thread `writer` runs all units
// that write, the thread `reader` all that read. Neither blocks the caller's thread.
// Durability: a unit's success means that its COMMIT has returned with synchronous=FULL.
#ifndef BERTH_CORE_STORE_SQLITE_SQLITE_STORE_H_
#define BERTH_CORE_STORE_SQLITE_SQLITE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/base/time.h"
#include "core/lifecycle/store.h"

namespace berth {

struct SqliteStoreOptions {
  std::filesystem::path path;
  // How long a unit waits for another process that writes; then it fails and nothing was done.
  Duration busy_wait = std::chrono::seconds(10);
  std::size_t queue_max = 65'536;  // units waiting; more are refused with kLimit
  std::size_t batch_max = 256;     // units in one COMMIT
  int log_frames_max = 4096;       // 4 KiB pages in the write-ahead log before it is copied back
  // Name of a registered SQLite VFS; empty: the system's own.
  std::string vfs = {};
  // Called on the writer's thread after each COMMIT, with the units in it. May be empty.
  std::function<void(std::size_t units)> on_commit = {};
};

class SqliteStore final : public Store {
 public:
  // Opens or makes the file, private to this user, and brings its schema up to date. Blocks for at
  // most about busy_wait.
  static Result<std::unique_ptr<SqliteStore>> open(SqliteStoreOptions options);
  ~SqliteStore() override;

  Task<Status> commit(UnitOfWork work) override;
  Task<Status> read(UnitOfWork work) override;

  // Drops the results of calls released before `before`, oldest first, at most `count_max` of them;
  // their intents then say that the result has expired. Returns how many. Gives at most
  // `pages_max` freed pages of 4 KiB back to the file system.
  Task<Result<std::size_t>> expire_results(WallTime before, std::size_t count_max = 1000,
                                           std::size_t pages_max = 4096);

  // Since this store was opened.
  struct Counters {
    std::uint64_t commits = 0;
    std::uint64_t units = 0;
    std::uint64_t failed_commits = 0;
    std::uint64_t reopened = 0;
  };
  Counters counters() const;

 private:
  struct Inside;
  explicit SqliteStore(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace berth

#endif  // BERTH_CORE_STORE_SQLITE_SQLITE_STORE_H_
