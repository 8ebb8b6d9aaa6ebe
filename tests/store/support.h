// What the tests of the store share: a folder of their own, and a loop to wait on.
#ifndef BERTH_TESTS_STORE_SUPPORT_H_
#define BERTH_TESTS_STORE_SUPPORT_H_

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/store/sqlite/sqlite_store.h"

namespace berth::test {

// A folder that goes away with it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Runs one task to its end.
template <class T>
T wait(Task<T> task) {
  boost::asio::io_context loop(1);
  std::optional<T> value;
  auto run = [](Task<T> inner, std::optional<T>& out) -> Task<void> {
    out = co_await std::move(inner);
  };
  boost::asio::co_spawn(loop, run(std::move(task), value), boost::asio::detached);
  loop.run();
  return std::move(*value);
}

// Commits or reads on a loop of its own.
inline Status commit(Store& store, UnitOfWork work) { return wait(store.commit(std::move(work))); }
inline Status read(Store& store, UnitOfWork work) { return wait(store.read(std::move(work))); }

// Opens a store, or fails the test with its error.
std::unique_ptr<SqliteStore> open_store(SqliteStoreOptions options);

// The value of `get` on a snapshot.
template <class T>
T value_of(Store& store, std::function<Result<T>(Transaction&)> get) {
  auto found = std::make_shared<std::optional<T>>();
  const Status done = read(store, [found, get](Transaction& rows) -> Status {
    BERTH_TRY(*found, get(rows));
    return {};
  });
  if (!done) throw std::runtime_error(done.error().message());
  return std::move(**found);
}

}  // namespace berth::test

#endif  // BERTH_TESTS_STORE_SUPPORT_H_
