// A store whose commits fail: nothing is asked of a provider on the strength of what may be lost.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "core/lifecycle/reconcile.h"
#include "core/lifecycle/system_clock.h"
#include "core/lifecycle/with_sandbox.h"
#include "core/store/host_lock.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/folder_provider.h"
#include "tests/store/support.h"

namespace berth {
namespace {

using test::FaultVfs;
using test::FileCall;
using test::FolderProvider;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class NoDispatch : public ::testing::Test {
 protected:
  ~NoDispatch() override { FaultVfs::disarm(); }

  CallEnd call(std::function<void()> in_body = [] {}) {
    SandboxRequest request;
    request.key = {"owner", "session", "call"};
    request.spec_canonical = "{}";
    Body body = [in_body](Sandbox&) -> Task<BodyResult> {
      BodyResult result;
      result.kind = BodyResult::Kind::kCompleted;
      result.document = "{}";
      in_body();
      co_return result;
    };
    return test::wait(with_sandbox(services, std::move(request), std::move(body)));
  }
  std::vector<std::string> log() { return FolderProvider::log(state / "cloud"); }
  std::vector<std::string> alive() { return FolderProvider::alive(state / "cloud"); }

  test::Folder state;
  std::unique_ptr<HostLock> lock = HostLock::acquire(state.path()).value();
  std::unique_ptr<SqliteStore> store =
      test::open_store({.path = state / "berth.db", .vfs = FaultVfs::name()});
  FolderProvider provider{state / "cloud"};
  SystemClock clock;
  LifecycleServices services{.store = *store,
                             .provider = provider,
                             .clock = clock,
                             .holders = *lock,
                             .self = lock->holder(),
                             .host_tag = lock->host_tag()};
};

TEST_F(NoDispatch, AReservationThatMayBeLostCreatesNothing) {
  FaultVfs::arm(FileCall::kSync, SQLITE_IOERR_FSYNC, -1);
  const CallEnd end = call();
  EXPECT_NE(end.status, CallEnd::Status::kCompleted);
  EXPECT_GT(FaultVfs::failed(), 0);
  EXPECT_THAT(log(), IsEmpty());
  FaultVfs::disarm();
  // Whatever became of the reservation, it is settled without a second create.
  for (int pass = 0; pass < 3; ++pass) {
    const auto report = test::wait(reconcile(services, {}));
    ASSERT_TRUE(report) << report.error().message();
  }
  for (const Intent& intent : test::value_of<std::vector<Intent>>(
           *store, [](Transaction& rows) { return rows.intents({}); }))
    EXPECT_EQ(intent.state, IntentState::kReleased);
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(NoDispatch, AReleaseThatMayBeLostIsNotReportedAsSuccessUntilItIsStored) {
  services.limits.cleanup_budget = std::chrono::seconds(2);
  const CallEnd end = call([] { FaultVfs::arm(FileCall::kSync, SQLITE_IOERR_FSYNC, -1); });
  EXPECT_NE(end.status, CallEnd::Status::kCompleted) << end.message;
  EXPECT_THAT(log(), ElementsAre(StartsWith("create "), StartsWith("destroy ")));
  FaultVfs::disarm();
  const auto report = test::wait(reconcile(services, {}));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(alive(), IsEmpty());
}

TEST_F(NoDispatch, ADiskThatIsBackInTimeCostsNothing) {
  const CallEnd end = call([] { FaultVfs::arm(FileCall::kSync, SQLITE_IOERR_FSYNC, 1); });
  EXPECT_EQ(FaultVfs::failed(), 1);
  EXPECT_EQ(end.status, CallEnd::Status::kCompleted) << end.message;
  EXPECT_THAT(alive(), IsEmpty());
  const std::string name = end.intent_name;
  const auto intent = test::value_of<std::optional<Intent>>(
      *store, [name](Transaction& rows) { return rows.intent(name); });
  EXPECT_EQ(intent->state, IntentState::kReleased);
}

}  // namespace
}  // namespace berth
