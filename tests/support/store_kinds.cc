#include "tests/support/store_kinds.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/base/ids.h"
#include "core/store/sqlite/sqlite_store.h"

namespace berth::testing {
namespace {

// A store in a folder of its own, which goes with it.
class TemporarySqlite : public Store {
 public:
  TemporarySqlite()
      : folder_(std::filesystem::temp_directory_path() / ("berth-store-" + random_hex(8))) {
    std::filesystem::create_directories(folder_);
    SqliteStoreOptions options;
    options.path = folder_ / "berth.sqlite";
    Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open(std::move(options));
    if (!opened) {
      ADD_FAILURE() << opened.error().message();
      std::abort();
    }
    store_ = std::move(*opened);
  }
  ~TemporarySqlite() override {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Task<Status> commit(UnitOfWork work) override { return store_->commit(std::move(work)); }
  Task<Status> read(UnitOfWork work) override { return store_->read(std::move(work)); }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace

std::vector<StoreKind> store_kinds() {
  return {{"Memory", [] { return std::unique_ptr<Store>(); }},
          {"Sqlite", [] { return std::make_unique<TemporarySqlite>(); }}};
}

}  // namespace berth::testing
