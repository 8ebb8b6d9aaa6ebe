// Looking into a store that cannot be written where it is.
#include "core/store/sqlite/reading_store.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "tests/store/good_run.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kReader = 65534;

class ReadOnlyFolder : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder / "berth.db"; }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      names.insert(entry.path().filename());
    return names;
  }

  // What `look` says in a process that may read the folder and not write it. The superuser may write
  // anywhere, so it is another user's then.
  std::string as_reader(const std::function<std::string()>& look) {
    const bool super = ::geteuid() == 0;
    for (const std::string& name : files()) {
      EXPECT_TRUE(!super || ::chown((folder / name).c_str(), kReader, kReader) == 0);
      EXPECT_EQ(::chmod((folder / name).c_str(), 0400), 0);
    }
    EXPECT_TRUE(!super || ::chown(folder.path().c_str(), kReader, kReader) == 0);
    EXPECT_EQ(::chmod(folder.path().c_str(), 0500), 0);
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (super && (::setresgid(kReader, kReader, kReader) != 0 ||
                    ::setresuid(kReader, kReader, kReader) != 0))
        ::_exit(1);
      const std::string said = look();
      ::_exit(::write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
    }
    ::close(ends[1]);
    std::string said(4096, '\0');
    const ssize_t got = ::read(ends[0], said.data(), said.size());
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    said.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    EXPECT_EQ(::chmod(folder.path().c_str(), 0700), 0);
    return said;
  }

  // What a machine leaves that stops while a store is in use: its last commits are in the log alone.
  void copy_of_one_in_use(const std::vector<std::string>& names) const {
    const test::Folder used;
    const auto store = test::open_store({.path = used / "berth.db"});
    ASSERT_TRUE(test::wait(test::good_run(*store, 1)));
    ASSERT_GT(std::filesystem::file_size(used / "berth.db-wal"), 0u);
    for (const std::string& name : names) std::filesystem::copy_file(used / name, folder / name);
  }

  // How many receipts are there, or what is wrong.
  std::string count_receipts() const {
    const auto store = ReadingStore::open(path());
    if (!store) return store.error().message();
    auto count = std::make_shared<std::size_t>(0);
    const Status done = test::read(**store, [count](Transaction& rows) -> Status {
      BERTH_TRY(const std::vector<Receipt> found, rows.receipts({}));
      *count = found.size();
      return {};
    });
    return done ? std::to_string(*count) + " receipts" : done.error().message();
  }

  test::Folder folder;
};

TEST_F(ReadOnlyFolder, AStoreThatWasClosedIsReadAndNothingIsMadeBesideIt) {
  {
    const auto store = test::open_store({.path = path()});
    ASSERT_TRUE(test::wait(test::good_run(*store, 1)));
  }
  const std::set<std::string> before = files();
  EXPECT_EQ(as_reader([this] { return count_receipts(); }), "1 receipts");
  EXPECT_EQ(files(), before);
}

TEST_F(ReadOnlyFolder, WhatIsOnlyInTheLogIsReadAsWell) {
  copy_of_one_in_use({"berth.db", "berth.db-wal", "berth.db-shm"});
  EXPECT_EQ(as_reader([this] { return count_receipts(); }), "1 receipts");
}

TEST_F(ReadOnlyFolder, ALogThatCannotBeReadThereIsAnErrorAndNeverLeftOut) {
  copy_of_one_in_use({"berth.db", "berth.db-wal"});
  const std::string said = as_reader([this] { return count_receipts(); });
  EXPECT_THAT(said, HasSubstr("part of it is in its log"));
  EXPECT_THAT(said, HasSubstr("copy both into a folder of your own"));
}

TEST_F(ReadOnlyFolder, NothingIsWritten) {
  {
    const auto store = test::open_store({.path = path()});
    ASSERT_TRUE(test::wait(test::good_run(*store, 1)));
  }
  const std::string said = as_reader([this]() -> std::string {
    const auto store = ReadingStore::open(path());
    if (!store) return store.error().message();
    const Status done = test::commit(**store, [](Transaction&) -> Status { return {}; });
    return done ? "it was written" : done.error().message();
  });
  EXPECT_THAT(said, HasSubstr("open for reading only"));
}

TEST_F(ReadOnlyFolder, WhatIsNoStoreOrNotThereIsNamed) {
  EXPECT_THAT(as_reader([this] { return count_receipts(); }), HasSubstr("berth.db"));
}

}  // namespace
}  // namespace berth
