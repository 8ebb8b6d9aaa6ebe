// Making, finding, listing and ending sandboxes, with a service that does what it says.
#include <set>

#include "tests/unit/vercel/provider_fixture.h"

namespace berth::vercel::tests {
namespace {

TEST_F(ProviderTest, MakesASandboxRunsAProgramAndEndsIt) {
  const Answer made = host().create("berth-1");
  ASSERT_TRUE(made.done()) << made.message;
  EXPECT_EQ(made.get<Created>().name, "berth-1");
  EXPECT_EQ(made.get<Created>().scope, host().scope().get<Scope>());
  const Answer ran = run(made.get<Created>().ref, {"python3", "-c", "print(6 * 7)"});
  ASSERT_TRUE(ran.done()) << ran.message;
  EXPECT_EQ(ran.out, "42\n");
  EXPECT_EQ(ran.get<RunResult>().exit_code, 0);
  EXPECT_EQ(look("berth-1"), Presence::kPresent);
  const Answer ended = host().destroy("berth-1", made.get<Created>().ref);
  ASSERT_TRUE(ended.done()) << ended.message;
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
  EXPECT_EQ(service_->machines(), 0u);
}

TEST_F(ProviderTest, TheSameNameMakesOneSandboxAndAnEndedNameNone) {
  const std::string first = made();
  const Answer again = host().create("berth-1");
  ASSERT_TRUE(again.done()) << again.message;
  EXPECT_EQ(again.get<Created>().ref, first);
  EXPECT_EQ(service_->machines(), 1u);
  ASSERT_TRUE(host().destroy("berth-1").done());
  EXPECT_OUTCOME(host().create("berth-1"), OutcomeClass::kRejected, Code::kConflict);
  EXPECT_EQ(service_->machines(), 0u);
}

TEST_F(ProviderTest, AFreshProcessFindsAndEndsByTheNameAlone) {
  const std::string ref = made();
  FakeHost fresh(entry());
  give_credentials(fresh);
  ASSERT_TRUE(fresh.open(config(), (folder_ / "state").string()).done());
  EXPECT_EQ(fresh.lookup("berth-1").get<Found>().ref, ref);
  EXPECT_EQ(fresh.lookup("berth-1").get<Found>().state, SandboxState::kReady);
  EXPECT_TRUE(fresh.destroy("berth-1").done());
  EXPECT_TRUE(fresh.destroy("berth-1").done());
  EXPECT_OUTCOME(fresh.create("berth-1"), OutcomeClass::kRejected, Code::kConflict);
  close(fresh);
  EXPECT_EQ(look("berth-1"), Presence::kAbsentNow);
}

TEST_F(ProviderTest, ListsWhatCarriesTheTagPageByPageAndNothingElse) {
  std::set<std::string> expected;
  CreateRequest other;
  other.owner_tag = "somebody";
  ASSERT_TRUE(host().create("foreign", other).done());
  for (int i = 0; i < 3; ++i) expected.insert("berth-" + std::to_string(i));
  for (const std::string& name : expected) made(name);
  std::set<std::string> found;
  std::string cursor;
  do {
    const Answer page = host().list_owned("owner", cursor);
    ASSERT_TRUE(page.done()) << page.message;
    for (const Listed& item : page.get<ListPage>().items) found.insert(item.name);
    cursor = page.get<ListPage>().next_cursor;
  } while (!cursor.empty());
  EXPECT_EQ(found, expected);
}

TEST_F(ProviderTest, StopsDeletesAndLooksBeforeItSaysGone) {
  const std::string ref = made();
  service_->clear();
  const Answer ended = host().destroy("berth-1", ref);
  ASSERT_TRUE(ended.done()) << ended.message;
  EXPECT_EQ(service_->calls(kStop), 1u);
  EXPECT_EQ(service_->calls(kDelete), 1u);
  EXPECT_EQ(service_->calls(kLook), 2u);
  ASSERT_TRUE(ended.get<Destroyed>().usage.has_value());
  EXPECT_NE(ended.get<Destroyed>().usage->wall_ns, BERTH_USAGE_UNKNOWN);
}

TEST_F(ProviderTest, TakesOverNoSandboxOfAnotherOwnerAndEndsNoneThatIsKept) {
  CreateRequest other;
  other.owner_tag = "somebody";
  ASSERT_TRUE(host().create("foreign", other).done());
  service_->clear();
  EXPECT_OUTCOME(host().create("foreign"), OutcomeClass::kUncertain, Code::kConflict);
  const std::string kept =
      R"({\"sandbox\":{\"name\":\"berth-1\",\"persistent\":true,\"createdAt\":1,\"updatedAt\":1,)"
      R"(\"currentSessionId\":\"sbx_1\",\"status\":\"running\"}})";
  fault(kLook,
        R"("do": "answer", "status": 200, "type": "application/json", "body": ")" + kept + R"(")");
  EXPECT_OUTCOME(host().destroy("berth-1"), OutcomeClass::kUncertain, Code::kConflict);
  EXPECT_EQ(service_->calls(kDelete), 0u);
}

TEST_F(ProviderTest, SaysWhatItCannotDoBeforeItAsksForAnything) {
  host();
  service_->clear();
  CreateRequest request;
  request.image = "no image\n";
  EXPECT_OUTCOME(host().create("berth-1", request), OutcomeClass::kRejected,
                 Code::kInvalidArgument);
  EXPECT_OUTCOME(host().create("berth.1"), OutcomeClass::kRejected, Code::kInvalidArgument);
  EXPECT_EQ(service_->calls(kCreate), 0u);
}

TEST_F(ProviderTest, ProbesTheServiceAndNamesTheRemedyForARefusedToken) {
  const Answer fine = host().probe();
  ASSERT_TRUE(fine.done());
  EXPECT_TRUE(fine.get<ProbeReport>().usable);
  fault("GET /v2/sandboxes", answers(403, "forbidden", "no"));
  const Answer refused = host().probe();
  ASSERT_TRUE(refused.done());
  EXPECT_FALSE(refused.get<ProbeReport>().usable);
  EXPECT_THAT(refused.get<ProbeReport>().items.at(0).remedy, HasSubstr("VERCEL_TOKEN"));
}

TEST_F(ProviderTest, OpensOnlyWithWholeCredentialsAndNeverShowsThem) {
  FakeHost none(entry());
  give_credentials(none, " ");
  EXPECT_OUTCOME(none.open(config()), OutcomeClass::kRejected, Code::kUnauthenticated);
  none.set_secret("VERCEL_TOKEN", kToken);
  ASSERT_TRUE(none.open(config()).done());
  const Scope scope = none.scope().get<Scope>();
  for (const auto& [key, value] : scope) EXPECT_NE(value, kToken) << key;
  close(none);
}

}  // namespace
}  // namespace berth::vercel::tests
