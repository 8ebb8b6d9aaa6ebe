// What create, lookup and list make of what the service does and of what it loses.
#include "tests/remote/daytona_fixture.h"

namespace berth::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DaytonaCreate : public DaytonaTest {
 protected:
  // Whatever a test left, by whoever may end it.
  static void expect_nothing_left(DaytonaHost& host) {
    const auto page = host->list_owned("owner");
    ASSERT_TRUE(page.done()) << page.message;
    for (const Listed& each : page.get<ListPage>().items) {
      const auto ended = host->destroy(each.name, each.ref);
      EXPECT_TRUE(ended.done()) << ended.message;
      ADD_FAILURE() << each.name << " was left";
    }
    EXPECT_EQ(standin().machines(), 0);
  }
};

TEST_F(DaytonaCreate, TheSameNameIsTheSameSandboxAndAUsedUpNameNone) {
  DaytonaHost host(standin());
  const std::string wanted = name();
  const auto first = seen(host->create(wanted)), second = seen(host->create(wanted));
  ASSERT_TRUE(first.done() && second.done()) << second.message;
  EXPECT_EQ(first.get<Created>().ref, second.get<Created>().ref);
  EXPECT_EQ(first.get<Created>().name, wanted);
  EXPECT_EQ(first.get<Created>().scope, host->scope().get<Scope>());
  EXPECT_TRUE(host->destroy(wanted).done());
  const auto again = seen(host->create(wanted));
  EXPECT_EQ(again.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(again.code, Code::kConflict);
  // Another process of the same host knows it, too.
  DaytonaHost fresh(standin());
  EXPECT_EQ(fresh->create(wanted).outcome_class, OutcomeClass::kRejected);
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, AFreshProcessFindsAndEndsItByItsName) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  DaytonaHost fresh(standin());
  const auto found = seen(fresh->lookup(wanted));
  ASSERT_TRUE(found.done()) << found.message;
  EXPECT_EQ(found.get<Found>().presence, Presence::kPresent);
  EXPECT_EQ(found.get<Found>().state, SandboxState::kReady);
  EXPECT_EQ(found.get<Found>().ref, ref);
  EXPECT_NE(found.get<Found>().created_unix_ms, 0u);
  EXPECT_TRUE(fresh->destroy(wanted).done());
  EXPECT_EQ(host->lookup(wanted).get<Found>().presence, Presence::kAbsentNow);
  EXPECT_TRUE(host->destroy(wanted, ref).done()) << "once more is no error";
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, ALostAnswerIsLookedForAndNeverAskedForAgain) {
  DaytonaHost host(standin());
  for (const char* fault :
       {R"({"endpoint":"POST /sandbox","do":"drop","when":"after"})",
        R"({"endpoint":"POST /sandbox","do":"answer","when":"after","status":502,
            "type":"text/html","body":"<html>Bad gateway</html>"})",
        R"({"endpoint":"POST /sandbox","do":"answer","when":"after","status":200,
            "type":"text/html","body":"<html>welcome</html>"})",
        R"({"endpoint":"POST /sandbox","do":"cut","bytes":20})"}) {
    standin().clear();
    standin().fault(fault);
    const std::string wanted = name();
    const auto made = seen(host->create(wanted));
    ASSERT_TRUE(made.done()) << fault << made.message;
    EXPECT_EQ(made.get<Created>().name, wanted);
    EXPECT_EQ(standin().requests("POST /sandbox"), 1) << fault;
    EXPECT_EQ(standin().machines(), 1);
    EXPECT_TRUE(host->destroy(wanted, made.get<Created>().ref).done());
  }
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, ALostRequestWhoseSandboxIsNotSeenIsUncertain) {
  DaytonaHost host(standin());
  host->set_deadline(std::chrono::seconds(5));
  for (const char* fault : {R"({"endpoint":"POST /sandbox","do":"drop","when":"before"})",
                            R"({"endpoint":"POST /sandbox","do":"answer","when":"before",
                                "status":503,"headers":{"Retry-After":"7"},"body":"{}"})"}) {
    standin().clear();
    standin().fault(fault);
    const auto made = seen(host->create(name()));
    EXPECT_EQ(made.outcome_class, OutcomeClass::kUncertain) << fault << made.message;
    EXPECT_EQ(standin().requests("POST /sandbox"), 1);
  }
  host->set_deadline(std::chrono::seconds(0));
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, WhatTheServiceRefusesIsRejected) {
  struct Row {
    int status;
    const char* body;
    Code code;
  };
  const Row rows[] = {{400, "Total disk limit exceeded. Maximum allowed: 30GiB", Code::kQuota},
                      {400, "Disk request 90GB exceeds maximum allowed per sandbox", Code::kQuota},
                      {400, "name must be shorter", Code::kInvalidArgument},
                      {401, "Unauthorized", Code::kUnauthenticated},
                      {403, "Forbidden", Code::kPermission},
                      {404, "Snapshot x not found", Code::kNotFound},
                      {410, "Gone", Code::kNotFound},
                      {422, "Not for this class", Code::kUnsupported},
                      {429, "ThrottlerException: Too Many Requests", Code::kRateLimited}};
  DaytonaHost host(standin());
  for (const Row& row : rows) {
    standin().clear();
    standin().fault(
        "{\"endpoint\":\"POST /sandbox\",\"do\":\"answer\",\"when\":\"before\",\"status\":" +
        std::to_string(row.status) +
        ",\"headers\":{\"Retry-After-sandbox-create\":\"7\"},\"body\":{\"statusCode\":" +
        std::to_string(row.status) + ",\"message\":\"" + row.body + "\",\"error\":\"x\"}}");
    const auto made = seen(host->create(name()));
    EXPECT_EQ(made.outcome_class, OutcomeClass::kRejected) << row.body << ": " << made.message;
    EXPECT_EQ(made.code, row.code) << row.body;
    EXPECT_THAT(made.message, HasSubstr(row.body));
    EXPECT_EQ(made.retry_after, std::chrono::seconds(7));
  }
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, OneThatFailedToStartIsDeletedAndItsNameNotKept) {
  DaytonaHost host(standin());
  for (const char* state : {"error", "build_failed"}) {
    standin().clear();
    standin().fault("{\"endpoint\":\"POST /sandbox\",\"do\":\"state\",\"state\":\"" +
                    std::string(state) + "\"}");
    const auto made = seen(host->create(name()));
    EXPECT_EQ(made.outcome_class, OutcomeClass::kFailedClean) << made.message;
    EXPECT_THAT(made.message, HasSubstr("failed to start"));
    EXPECT_EQ(standin().requests("DELETE /sandbox/{id}"), 1);
  }
  // When it cannot be deleted, that is said.
  standin().clear();
  standin().fault(R"({"endpoint":"POST /sandbox","do":"state","state":"error"})");
  standin().fault(R"({"endpoint":"DELETE /sandbox/{id}","do":"answer","when":"before","times":0,
    "status":500,"body":{"message":"Internal server error"}})");
  host->set_deadline(std::chrono::seconds(4));
  const std::string wanted = name();
  const auto dirty = seen(host->create(wanted));
  EXPECT_EQ(dirty.outcome_class, OutcomeClass::kFailedDirty) << dirty.message;
  host->set_deadline(std::chrono::seconds(0));
  standin().clear();
  EXPECT_TRUE(host->destroy(wanted).done());
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, StatesNeverSeenBeforeAreWaitedThrough) {
  DaytonaHost host(standin());
  for (const char* state : {"creating", "pulling_snapshot", "rebalancing_shards"}) {
    standin().fault("{\"endpoint\":\"POST /sandbox\",\"do\":\"state\",\"looks\":3,\"state\":\"" +
                    std::string(state) + "\"}");
    const std::string wanted = name(), ref = create(host, wanted);
    EXPECT_TRUE(host->destroy(wanted, ref).done());
  }
  standin().fault(R"({"endpoint":"POST /sandbox","do":"state","looks":100000,"state":"creating"})");
  host->set_deadline(std::chrono::seconds(4));
  const std::string wanted = name();
  const auto stuck = seen(host->create(wanted));
  EXPECT_EQ(stuck.outcome_class, OutcomeClass::kFailedDirty) << stuck.message;
  EXPECT_EQ(stuck.code, Code::kTimeout);
  host->set_deadline(std::chrono::seconds(0));
  EXPECT_TRUE(host->destroy(wanted).done());
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, LooksThatFailMeanwhileAreRepeated) {
  DaytonaHost host(standin());
  standin().fault(R"({"endpoint":"POST /sandbox","do":"state","looks":4,"state":"starting"})");
  standin().fault(R"({"endpoint":"GET /sandbox/{id}","do":"drop","when":"before","times":2})");
  standin().fault(R"({"endpoint":"GET /sandbox/{id}","nth":3,"do":"answer","status":502,
    "type":"text/html","body":"<html>"})");
  const std::string wanted = name(), ref = create(host, wanted);
  EXPECT_TRUE(host->destroy(wanted, ref).done());
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, ASandboxOfAnotherOrganizationIsNeverTouched) {
  DaytonaHost host(standin()), other(standin(), "org-2");
  const std::string wanted = name(), ref = create(host, wanted);
  standin().clear();
  const auto ended = seen(other->destroy(wanted, ref));
  EXPECT_EQ(ended.outcome_class, OutcomeClass::kUncertain);
  EXPECT_THAT(ended.message, HasSubstr("identity does not match"));
  EXPECT_EQ(standin().requests("DELETE /sandbox/{id}"), 0);
  const auto adopted = seen(other->create(wanted + "-2"));
  EXPECT_EQ(adopted.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(standin().requests("DELETE /sandbox/{id}"), 0);
  const auto found = seen(other->lookup(wanted));
  EXPECT_EQ(found.get<Found>().scope[0].second, "org-1") << "as recorded, not as configured";
  EXPECT_TRUE(host->destroy(wanted, ref).done());
  EXPECT_TRUE(host->destroy(wanted + "-2").done());
  EXPECT_NE(host->scope().get<Scope>(), other->scope().get<Scope>());
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, NotFindingOutIsNeverAbsent) {
  DaytonaHost host(standin());
  const std::string wanted = name(), ref = create(host, wanted);
  for (const char* fault :
       {R"({"endpoint":"GET /sandbox/{id}","do":"drop","when":"before","times":0})",
        R"({"endpoint":"GET /sandbox/{id}","do":"answer","status":404,"times":0,
            "type":"text/html","body":"<html>not found</html>"})",
        R"({"endpoint":"GET /sandbox/{id}","do":"answer","status":200,"times":0,"body":{}})",
        R"({"endpoint":"GET /sandbox/{id}","do":"answer","status":429,"times":0,"body":{}})",
        R"({"endpoint":"GET /sandbox/{id}","do":"answer","status":500,"times":0,"body":{}})"}) {
    standin().clear();
    standin().fault(fault);
    const auto found = seen(host->lookup(wanted));
    EXPECT_FALSE(found.done() && found.get<Found>().presence == Presence::kAbsentNow) << fault;
    host->set_deadline(std::chrono::seconds(2));
    const auto ended = seen(host->destroy(wanted));
    EXPECT_FALSE(ended.done()) << fault;
    host->set_deadline(std::chrono::seconds(0));
  }
  standin().clear();
  EXPECT_TRUE(host->destroy(wanted, ref).done());
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, TheListHasWhatCarriesTheTagUnderTheNamesOfTheHost) {
  DaytonaHost host(standin());
  const std::string first = name(), second = name(), other = name();
  create(host, first);
  create(host, second);
  ASSERT_TRUE(host->create(other, {.owner_tag = "somebody else"}).done());
  const auto page = host->list_owned("owner").get<ListPage>();
  std::set<std::string> names;
  for (const Listed& each : page.items) names.insert(each.name);
  EXPECT_EQ(names, (std::set<std::string>{first, second}));
  EXPECT_EQ(page.next_cursor, "");
  for (const std::string& each : {first, second, other}) EXPECT_TRUE(host->destroy(each).done());
  standin().fault(R"({"endpoint":"GET /sandbox","do":"answer","status":200,
    "body":{"items":[],"nextCursor":"7"}})");
  EXPECT_EQ(host->list_owned("owner").get<ListPage>().next_cursor, "7");
  standin().fault(R"({"endpoint":"GET /sandbox","do":"answer","status":200,
    "body":{"items":[],"nextCursor":"7"}})");
  EXPECT_FALSE(host->list_owned("owner", "7").done()) << "a page that leads to itself";
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, CredentialsThatAreBlankOrExpireAreSaid) {
  testing::FakeHost blank(entry_of(BERTH_DAYTONA_PROVIDER));
  blank.set_secret("DAYTONA_API_KEY", " \n");
  blank.set_secret("DAYTONA_ORGANIZATION_ID", "org-1");
  const auto opened = blank.open("{}");
  EXPECT_EQ(opened.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(opened.message, "DAYTONA_API_KEY and DAYTONA_ORGANIZATION_ID are required.");
  DaytonaHost host(standin());
  EXPECT_TRUE(host->probe().get<ProbeReport>().usable);
  standin().fault(R"({"endpoint":"GET /sandbox","do":"expire"})");
  host->probe();
  const auto report = seen(host->probe()).get<ProbeReport>();
  EXPECT_FALSE(report.usable);
  EXPECT_THAT(report.items[0].remedy, HasSubstr("DAYTONA_API_KEY"));
  const auto made = seen(host->create(name()));
  EXPECT_EQ(made.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(made.code, Code::kUnauthenticated);
  standin().clear();
  expect_nothing_left(host);
}

TEST_F(DaytonaCreate, WhatCannotBeKeptIsRefusedBeforeAnythingIsSent) {
  DaytonaHost host(standin());
  testing::CreateRequest odd;
  odd.image = "python:3.12\nRUN evil";
  EXPECT_EQ(seen(host->create(name(), odd)).code, Code::kInvalidArgument);
  EXPECT_EQ(standin().requests("POST /sandbox"), 0);
}

}  // namespace
}  // namespace berth::tests
