// ReadingStore: the store's file where it cannot be written, as on a read-only file system: for looking
// into, never for work.
//
// Ownership: owns its thread and connection. Destroy it only when no read is being awaited any more.
// Threading: as SqliteStore; a thread of its own runs all units.
#ifndef BERTH_CORE_STORE_SQLITE_READING_STORE_H_
#define BERTH_CORE_STORE_SQLITE_READING_STORE_H_

#include <filesystem>
#include <memory>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/store.h"

namespace berth {

class ReadingStore final : public Store {
 public:
  // Makes and changes nothing on disk. Refused: a store whose log cannot be read there, and one of an
  // older schema.
  static Result<std::unique_ptr<ReadingStore>> open(const std::filesystem::path& path);
  ~ReadingStore() override;

  // Always kRefused.
  Task<Status> commit(UnitOfWork work) override;
  Task<Status> read(UnitOfWork work) override;

 private:
  struct Inside;
  explicit ReadingStore(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace berth

#endif  // BERTH_CORE_STORE_SQLITE_READING_STORE_H_
