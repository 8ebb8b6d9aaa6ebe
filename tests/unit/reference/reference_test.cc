// The reference provider as the file it is built to, driven by the SDK's fake host.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "berth/testing/fake_host.hpp"

namespace berth::tests {
namespace {

berth_provider_entry_fn entry() {
  static const berth_provider_entry_fn found = [] {
    void* library = ::dlopen(BERTH_REFERENCE_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    return reinterpret_cast<berth_provider_entry_fn>(::dlsym(library, BERTH_ENTRY_SYMBOL));
  }();
  return found;
}

// Asks for the shutdown that no test asked for: a provider is deleted by its own.
class FakeHost : public testing::FakeHost {
 public:
  using testing::FakeHost::FakeHost;
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;
  ~FakeHost() {
    if (!ended_) testing::FakeHost::shutdown();
  }
  berth_op start_shutdown() {
    ended_ = true;
    return testing::FakeHost::start_shutdown();
  }
  testing::Answer shutdown() { return wait(start_shutdown()); }

 private:
  bool ended_ = false;
};

class Reference : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "berth-reference-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    for (const std::string& violation : host_.violations()) ADD_FAILURE() << violation;
  }
  void open(const std::string& slots, const std::string& more = "") {
    const auto opened = host_.open("{" + more + "\"slots\":{" + slots + "}}", folder_);
    ASSERT_TRUE(opened.done()) << opened.message;
  }
  Presence look(std::string_view name) { return host_.lookup(name).get<Found>().presence; }

  std::string folder_;
  FakeHost host_{entry()};
};

TEST_F(Reference, WorksWithoutAScriptAndCompletesInsideItsSlots) {
  ASSERT_TRUE(host_.completed(host_.start_open("{}", folder_)));
  const berth_op create = host_.start_create("berth-1");
  ASSERT_TRUE(host_.completed(create));
  EXPECT_EQ(host_.wait(create).get<Created>().name, "berth-1");
  EXPECT_EQ(host_.wait(create).get<Created>().scope, host_.scope().get<Scope>());
  EXPECT_TRUE(host_.probe().get<ProbeReport>().usable);
  const berth_op run = host_.start_run("ref-berth-1", {.argv = {"python3"}});
  ASSERT_TRUE(host_.completed(run));
  EXPECT_EQ(host_.wait(run).get<RunResult>().exit_code, 0);
  EXPECT_EQ(look("berth-1"), Presence::kPresent);
  EXPECT_TRUE(host_.destroy("berth-1").done());
  EXPECT_TRUE(host_.destroy("berth-1").done());
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
  ASSERT_TRUE(host_.completed(host_.start_shutdown()));
}

TEST_F(Reference, TheSameNameMakesOneSandboxAndAUsedNameNone) {
  open("");
  const auto first = host_.create("berth-1").get<Created>();
  EXPECT_EQ(host_.create("berth-1").get<Created>().ref, first.ref);
  EXPECT_EQ(host_.list_owned("owner").get<ListPage>().items.size(), 1u);
  EXPECT_TRUE(host_.destroy("berth-1").done());
  EXPECT_EQ(host_.create("berth-1").outcome_class, OutcomeClass::kRejected);
}

TEST_F(Reference, AFreshProcessFindsAndDestroysByNameAlone) {
  open("");
  ASSERT_TRUE(host_.create("berth-1").done());
  FakeHost fresh(entry());
  ASSERT_TRUE(fresh.open("{}", folder_).done());
  EXPECT_EQ(fresh.lookup("berth-1").get<Found>().ref, "ref-berth-1");
  EXPECT_TRUE(fresh.destroy("berth-1").done());
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
}

TEST_F(Reference, SandboxesInMemoryEndWithTheProvider) {
  open("", "\"state\":\"memory\",");
  ASSERT_TRUE(host_.create("berth-1").done());
  FakeHost fresh(entry());
  ASSERT_TRUE(fresh.open(R"({"state":"memory"})", folder_).done());
  EXPECT_EQ(fresh.lookup("berth-1").get<Found>().presence, Presence::kAbsentNow);
}

TEST_F(Reference, AFenceStopsACreateThatComesLater) {
  open("");
  EXPECT_EQ(host_.fence("berth-1").get<Found>().presence, Presence::kAbsentFenced);
  EXPECT_EQ(host_.create("berth-1").outcome_class, OutcomeClass::kRejected);
  ASSERT_TRUE(host_.create("berth-2").done());
  EXPECT_EQ(host_.fence("berth-2").get<Found>().presence, Presence::kPresent);
}

TEST_F(Reference, ALostAnswerStillMadeASandbox) {
  open(R"("create":[{"reply":"never"}])");
  const berth_op op = host_.start_create("berth-1");
  EXPECT_FALSE(host_.completed(op));
  EXPECT_EQ(look("berth-1"), Presence::kPresent);
}

TEST_F(Reference, ALateSandboxAppearsAfterLookupsThatDidNotSeeIt) {
  open(R"("create":[{"outcome":"uncertain","effect":"late","appearAfterLookups":2}])");
  EXPECT_EQ(host_.create("berth-1").outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
  FakeHost fresh(entry());
  ASSERT_TRUE(fresh.open("{}", folder_).done());
  EXPECT_EQ(fresh.lookup("berth-1").get<Found>().presence, Presence::kAbsentNow);
  EXPECT_EQ(fresh.lookup("berth-1").get<Found>().presence, Presence::kPresent);
}

TEST_F(Reference, AFenceAlsoStopsALateSandbox) {
  open(R"("create":[{"outcome":"uncertain","effect":"late"}])");
  EXPECT_EQ(host_.create("berth-1").outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(host_.fence("berth-1").get<Found>().presence, Presence::kAbsentFenced);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
}

TEST_F(Reference, ALateSandboxCanAppearByTime) {
  open(R"("create":[{"effect":"late","appearAfterMs":1,"outcome":"uncertain"}])");
  EXPECT_EQ(host_.create("berth-1").outcome_class, OutcomeClass::kUncertain);
  while (look("berth-1") != Presence::kPresent) std::this_thread::yield();
  EXPECT_TRUE(host_.shutdown().done());
}

TEST_F(Reference, EveryOutcomeCanBeScriptedPerCall) {
  open(R"("create":[
    {"onCalls":[1],"outcome":"rejected","code":"rate_limited","retryAfterMs":1500,"effect":"none","message":"slow down"},
    {"onCalls":[2],"outcome":"failed_dirty"},{"onCalls":[3],"outcome":"unset"}])");
  const auto rejected = host_.create("berth-1");
  EXPECT_EQ(rejected.code, Code::kRateLimited);
  EXPECT_EQ(rejected.retry_after, std::chrono::milliseconds(1500));
  EXPECT_EQ(rejected.message, "slow down");
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
  EXPECT_EQ(host_.create("berth-2").outcome_class, OutcomeClass::kFailedDirty);
  EXPECT_EQ(look("berth-2"), Presence::kPresent);
  EXPECT_EQ(host_.create("berth-3").outcome_class, OutcomeClass::kUnset);
  EXPECT_TRUE(host_.create("berth-4").done());
}

TEST_F(Reference, ItCanReportAScopeAndANameThatAreNotItsOwn) {
  open(R"("create":[{"account":"someone-else","name":"berth-other"}])");
  const auto created = host_.create("berth-1").get<Created>();
  EXPECT_EQ(created.name, "berth-other");
  EXPECT_NE(created.scope, host_.scope().get<Scope>());
}

TEST_F(Reference, ItCanLieAboutDestroying) {
  open(R"("destroy":[{"effect":"none"}])");
  ASSERT_TRUE(host_.create("berth-1").done());
  EXPECT_TRUE(host_.destroy("berth-1").done());
  EXPECT_EQ(look("berth-1"), Presence::kPresent);
}

TEST_F(Reference, ADelayEndsEarlyWhenTheOperationIsCancelled) {
  open(R"("create":[{"delayMs":600000}])");
  const berth_op op = host_.start_create("berth-1");
  host_.cancel(op);
  EXPECT_EQ(host_.wait(op).code, Code::kCancelled);
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
  EXPECT_TRUE(host_.shutdown().done());
}

TEST_F(Reference, ADelayThatIgnoresCancelDoesNot) {
  open(R"("create":[{"delayMs":30,"ignoreCancel":true}])");
  const berth_op op = host_.start_create("berth-1");
  host_.cancel(op);
  EXPECT_TRUE(host_.wait(op).done());
  EXPECT_TRUE(host_.shutdown().done());
}

TEST_F(Reference, AProgramWritesWhatTheScriptSays) {
  open(R"("run":[{"whenArgvContains":"main.py","stdout":[{"text":"ab","repeat":5},{"text":"!"}],
    "stderr":[{"text":"note"}],"chunkBytes":3,"exitCode":7,"files":[{"path":"/out/result.json","text":"{}"}]},
    {"signal":9}])");
  ASSERT_TRUE(host_.create("berth-1").done());
  const auto ran = host_.run("ref-berth-1", {.argv = {"python3", "/box/main.py"}});
  EXPECT_EQ(ran.out, "ababababab!");
  EXPECT_EQ(ran.err, "note");
  EXPECT_EQ(ran.get<RunResult>().exit_code, 7);
  EXPECT_EQ(ran.get<RunResult>().stdout_bytes, 11u);
  EXPECT_EQ(host_.get_file("ref-berth-1", "/out/result.json").file, "{}");
  const auto killed = host_.run("ref-berth-1", {.argv = {"other"}}).get<RunResult>();
  EXPECT_EQ(killed.cause, Cause::kSignalled);
  EXPECT_EQ(killed.signal, 9u);
  EXPECT_EQ(killed.exit_code, -1);
}

TEST_F(Reference, OutputWaitsForASlowReaderAndCountsPastACap) {
  open(R"("run":[{"stdout":[{"text":"0123456789","repeat":1000}],"chunkBytes":16}])");
  ASSERT_TRUE(host_.create("berth-1").done());
  host_.behave({.pause_every_bytes = 1000});
  EXPECT_EQ(host_.run("ref-berth-1", {}).out.size(), 10'000u);
  host_.behave({.stdout_limit_bytes = 100});
  const auto capped = host_.run("ref-berth-1", {});
  EXPECT_EQ(capped.out.size(), 100u);
  EXPECT_EQ(capped.get<RunResult>().stdout_bytes, 10'000u);
}

TEST_F(Reference, APausedProgramCanBeCancelled) {
  open(R"("run":[{"stdout":[{"text":"0123456789","repeat":1000}]}])");
  ASSERT_TRUE(host_.create("berth-1").done());
  host_.behave({.pause_every_bytes = 10, .resume_by_itself = false});
  const berth_op op = host_.start_run("ref-berth-1", {.argv = {"x"}});
  EXPECT_FALSE(host_.completed(op));
  host_.cancel(op);
  host_.wait(op);
}

TEST_F(Reference, FilesGoInWholeOrNotAtAll) {
  open("");
  ASSERT_TRUE(host_.create("berth-1").done());
  host_.behave({.input_chunk_bytes = 3, .input_arrives_late = true});
  ASSERT_TRUE(host_.put_file("ref-berth-1", "/work/a.py", "print('hello')", 0600).done());
  host_.behave({});
  const auto got = host_.get_file("ref-berth-1", "/work/a.py");
  EXPECT_EQ(got.file, "print('hello')");
  EXPECT_EQ(got.get<GotFile>().mode, 0600u);
  EXPECT_EQ(host_.get_file("ref-berth-1", "/work/a.py", 3).code, Code::kQuota);
  EXPECT_EQ(host_.get_file("ref-berth-1", "/work/b.py").code, Code::kNotFound);
  EXPECT_EQ(host_.put_file("ref-other", "/a", "x").code, Code::kNotFound);
}

TEST_F(Reference, AnArgumentItCannotUseIsRejectedAndNotThrown) {
  open("");
  ASSERT_TRUE(host_.create("berth-1").done());
  EXPECT_EQ(host_.run("ref-berth-1", {.argv = {}}).outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(host_.put_file("ref-berth-1", "relative", "x").outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(host_.create("../escape").outcome_class, OutcomeClass::kRejected);
}

TEST_F(Reference, AListIsPagedAndKnowsItsTag) {
  open("");
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(host_.create("berth-" + std::to_string(1000 + i)).done());
  ASSERT_TRUE(host_.create("berth-other", {.owner_tag = "another"}).done());
  std::size_t seen = 0;
  std::string cursor;
  do {
    const auto page = host_.list_owned("owner", cursor).get<ListPage>();
    seen += page.items.size();
    cursor = page.next_cursor;
  } while (!cursor.empty());
  EXPECT_EQ(seen, 300u);
}

TEST_F(Reference, ASandboxEndsByItselfAfterItsLifetime) {
  open("");
  ASSERT_TRUE(host_.create("berth-1", {.lifetime = std::chrono::milliseconds(1)}).done());
  while (look("berth-1") == Presence::kPresent) std::this_thread::yield();
  EXPECT_EQ(host_.run("ref-berth-1", {}).code, Code::kNotFound);
}

TEST_F(Reference, ItCanCrashItsProcess) {
  open(R"("run":[{"crash":"before"}])");
  ASSERT_TRUE(host_.create("berth-1").done());
  EXPECT_DEATH(host_.run("ref-berth-1", {}), "");
}

TEST_F(Reference, AConfigurationItDoesNotUnderstandIsRefusedByName) {
  const auto refused = host_.open(R"({"slots":{"create":[{"colour":"green"}]}})", folder_);
  EXPECT_EQ(refused.outcome_class, OutcomeClass::kRejected);
  EXPECT_NE(refused.message.find("slots.create.colour"), std::string::npos) << refused.message;
  EXPECT_EQ(host_.create("berth-1").outcome_class, OutcomeClass::kRejected);
}

TEST(ReferenceTwice, AnAnswerGivenTwiceIsSeenByTheHost) {
  FakeHost host(entry());
  ASSERT_TRUE(host.open(R"({"state":"memory","slots":{"create":[{"reply":"twice"}]}})").done());
  ASSERT_TRUE(host.create("berth-1").done());
  ASSERT_EQ(host.violations().size(), 1u);
  EXPECT_NE(host.violations()[0].find("OP-002"), std::string::npos);
}

}  // namespace
}  // namespace berth::tests
