// A process of its own for each: SQLite takes its memory from one place for good.
#include "core/store/sqlite/memory.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/store/good_run.h"
#include "tests/store/support.h"

namespace berth {
namespace {

class SpareMemory : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void end(bool good) { std::_Exit(good ? 0 : 1); }

// Blocks of every size up to beyond the largest that is kept, changed in size and given back in
// another order, hold what was put into them.
bool blocks_hold_their_bytes() {
  std::vector<char*> blocks;
  for (int round = 0; round < 3; ++round) {
    for (int size = 1; size < 40'000; size += size / 7 + 1) {
      auto* const block = static_cast<char*>(sqlite3_malloc(size));
      if (block == nullptr || sqlite3_msize(block) < static_cast<sqlite3_uint64>(size)) return false;
      std::memset(block, size % 251, static_cast<std::size_t>(size));
      auto* const larger = static_cast<char*>(sqlite3_realloc(block, 2 * size));
      if (larger == nullptr) return false;
      for (int i = 0; i < size; ++i)
        if (static_cast<unsigned char>(larger[i]) != size % 251) return false;
      std::memset(larger, 255, static_cast<std::size_t>(2 * size));
      blocks.push_back(larger);
    }
    for (std::size_t i = 0; i < blocks.size(); i += 2) sqlite3_free(blocks[i]);
    for (std::size_t i = 1; i < blocks.size(); i += 2) sqlite3_free(blocks[i]);
    blocks.clear();
  }
  return true;
}

TEST_F(SpareMemory, BlocksAreAsLargeAsAskedForAndKeepWhatIsInThem) {
  const auto work = [] {
    bool good = sqlite::keep_spare_memory() && blocks_hold_their_bytes();
    // Given back by another thread, which then ends with them.
    void* const elsewhere = sqlite3_malloc(5000);
    std::thread([&] {
      good = good && blocks_hold_their_bytes();
      sqlite3_free(elsewhere);
    }).join();
    end(good);
  };
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "");
}

TEST_F(SpareMemory, AStoreWorksInIt) {
  const test::Folder folder;
  const auto work = [&] {
    if (!sqlite::keep_spare_memory()) end(false);
    {
      const auto store = test::open_store({.path = folder / "berth.db"});
      for (long call = 0; call < 50; ++call)
        if (!test::wait(test::good_run(*store, call))) end(false);
    }
    const auto store = test::open_store({.path = folder / "berth.db"});
    const auto intents = test::value_of<std::vector<Intent>>(
        *store, [](Transaction& rows) { return rows.intents({}); });
    end(intents.size() == 50 && intents.back().state == IntentState::kReleased);
  };
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "");
}

TEST_F(SpareMemory, IsNotTakenOnceSqliteIsInUse) {
  const auto work = [] {
    sqlite3_free(sqlite3_malloc(10));
    end(!sqlite::keep_spare_memory());
  };
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace berth
