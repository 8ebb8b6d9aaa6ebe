#include "tests/store/support.h"

#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace berth::test {

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "berth-store-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(path_, ignored);
}

std::unique_ptr<SqliteStore> open_store(SqliteStoreOptions options) {
  auto store = SqliteStore::open(std::move(options));
  if (!store) throw std::runtime_error(store.error().message());
  return std::move(*store);
}

}  // namespace berth::test
