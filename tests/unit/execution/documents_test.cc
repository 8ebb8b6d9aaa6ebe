#include "core/execution/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/reconcile.h"
#include "tests/support/harness.h"
#include "tests/support/store_kinds.h"

namespace berth {
namespace {

using testing::Harness;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::OpFault;
using testing::Slot;
using testing::StoreKind;

constexpr const char* kUuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";

// Counts what is asked of a store.
class WatchedStore : public Store {
 public:
  explicit WatchedStore(Store& inner) : inner_(inner) {}
  Task<Status> commit(UnitOfWork work) override {
    asked += 1;
    if (on_commit) on_commit();
    return inner_.commit(std::move(work));
  }
  Task<Status> read(UnitOfWork work) override {
    asked += 1;
    return inner_.read(std::move(work));
  }
  int asked = 0;
  std::function<void()> on_commit;

 private:
  Store& inner_;
};

class Documents : public ::testing::TestWithParam<StoreKind> {
 protected:
  Documents()
      : opened(GetParam().open()), story(opened.get()), watched(story.host().services.store) {}

  Result<PutResult> put(std::string code, std::optional<std::string> title = "chart.py",
                        std::string document = "", std::string owner = "ann",
                        std::string session = "notes") {
    PutDocument wanted{std::move(owner), std::move(session), std::move(document), std::move(title),
                       std::move(code)};
    return story.run(put_document(watched, std::move(wanted), story.host().clock.wall_now()));
  }
  DocumentRevision saved(std::string code, std::string title = "chart.py",
                         std::string document = "") {
    auto made = put(std::move(code), std::move(title), std::move(document));
    if (!made) throw std::runtime_error(made.error().message());
    return made->revision;
  }
  static RunDocument ids(const DocumentRevision& revision, std::string call = "call",
                         std::string owner = "ann", std::string session = "notes") {
    RunDocument run;
    run.place = {std::move(owner), std::move(session), revision.document_id};
    run.revision_id = revision.id;
    run.settings.key.call = std::move(call);
    return run;
  }
  Result<DocumentExecution> run(RunDocument wanted) {
    return story.run(run_document(watched, policy, std::move(wanted), executor, cancellation,
                                  story.host().clock.wall_now()));
  }
  // Remembers what it was given and answers `answer`.
  DocumentExecutor recording() {
    return [this](ExecutionRequest request) -> Task<Result<ExecutionResult>> {
      given.push_back(std::move(request));
      co_return answer;
    };
  }
  // The real way, through the lifecycle.
  DocumentExecutor real() {
    return [this](ExecutionRequest request) -> Task<Result<ExecutionResult>> {
      given.push_back(request);
      co_return co_await execute(story.host().services, std::move(request), nullptr, cancellation);
    };
  }
  Result<std::optional<RecordedRun>> latest(const DocumentRevision& revision) {
    return story.run(latest_run(watched, {"ann", "notes", revision.document_id}, revision.id));
  }

  std::unique_ptr<Store> opened;
  Harness story;
  WatchedStore watched;
  DocumentPolicy policy;
  Cancellation cancellation;
  std::vector<ExecutionRequest> given;
  ExecutionResult answer;
  DocumentExecutor executor = recording();
};

TEST_P(Documents, IdsAreUuidsThatTheHostMakes) {
  const DocumentRevision revision = saved("print(1)");
  EXPECT_THAT(revision.id, MatchesRegex(kUuid));
  EXPECT_THAT(revision.document_id, MatchesRegex(kUuid));
  EXPECT_NE(revision.id, revision.document_id);
  EXPECT_EQ(revision.number, 1u);
}

TEST_P(Documents, ANewRevisionKeepsTheOldOneByteForByte) {
  const std::string first = "# -*- coding: latin-1 -*-\r\nprint('\xe9')";
  const DocumentRevision one = saved(first);
  const DocumentRevision two = saved("print(2)", "chart.py", one.document_id);
  EXPECT_EQ(two.number, 2u);
  EXPECT_EQ(two.document_id, one.document_id);
  const DocumentPlace place{"ann", "notes", one.document_id};
  EXPECT_EQ(story.run(read_revision(watched, place, one.id))->code, first);
  EXPECT_EQ(story.run(read_revision(watched, place, two.id))->code, "print(2)");
  EXPECT_EQ(story.run(read_revision(watched, place, ""))->id, two.id) << "the latest";
  const auto all = story.run(list_revisions(watched, place, 0, 10));
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].id, one.id);
  EXPECT_EQ((*all)[0].bytes, first.size());
  EXPECT_EQ(story.run(list_revisions(watched, place, 1, 10))->front().id, two.id);
}

TEST_P(Documents, PuttingTheLatestAgainIsThatRevisionAndAnOlderOneIsANewRevision) {
  const DocumentRevision one = saved("print(1)");
  const auto again = put("print(1)", std::nullopt, one.document_id);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->unchanged);
  EXPECT_EQ(again->revision.id, one.id);
  const DocumentRevision two = saved("print(2)", "chart.py", one.document_id);
  const auto back = put("print(1)", std::nullopt, one.document_id);
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->unchanged);
  EXPECT_EQ(back->revision.number, 3u);
  EXPECT_NE(back->revision.id, one.id);
  EXPECT_EQ(two.number, 2u);
  const auto renamed = put("print(1)", "chart.js", one.document_id);
  ASSERT_TRUE(renamed);
  EXPECT_FALSE(renamed->unchanged) << "the title is part of a revision: it tells the language";
}

TEST_P(Documents, ListsThoseOfOneOwnerAndSessionPageByPage) {
  const DocumentRevision one = saved("print(1)", "a.py");
  const DocumentRevision two = saved("print(2)", "b.js");
  ASSERT_TRUE(put("x", "c.py", "", "bob"));
  ASSERT_TRUE(put("x", "d.py", "", "ann", "other"));
  saved("print(3)", "b.js", two.document_id);
  const auto first = story.run(list_documents(watched, {"ann", "notes", "", 1}));
  ASSERT_TRUE(first);
  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ(first->front().latest.id, one.id);
  const auto rest = story.run(list_documents(watched, {"ann", "notes", one.document_id, 10}));
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ(rest->front().latest.number, 2u);
  EXPECT_EQ(rest->front().latest.title, "b.js");
}

TEST_P(Documents, WhatCannotBeSavedIsRefusedWithItsReason) {
  EXPECT_THAT(put(std::string("a\0b", 3)).error().message(), HasSubstr("NUL at byte 1"));
  EXPECT_THAT(put("x", " ").error().message(), HasSubstr("title is blank"));
  EXPECT_THAT(put("x", "a\nb.py").error().message(), HasSubstr("control characters"));
  EXPECT_THAT(put("x", std::string(256, 'a')).error().message(), HasSubstr("255"));
  EXPECT_THAT(put("x", std::nullopt).error().message(), HasSubstr("needs a title"));
  EXPECT_THAT(put("x", "a.py", "", " ").error().message(), HasSubstr("must not be blank"));
  EXPECT_EQ(put(std::string(kDocumentCodeBytesMax + 1, 'x')).error().kind(), ErrorKind::kLimit);
  EXPECT_TRUE(put(std::string(kDocumentCodeBytesMax, 'x')));
  EXPECT_THAT(put("x", "a.py", "no-uuid").error().message(), HasSubstr("which is a UUID"));
}

TEST_P(Documents, AnotherOwnersOrSessionsDocumentTakesNoRevisionAndIsNotFound) {
  const DocumentRevision mine = saved("print(1)");
  for (const auto& [owner, session] : {std::pair("bob", "notes"), std::pair("ann", "other")}) {
    const auto made = put("print(2)", "chart.py", mine.document_id, owner, session);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind(), ErrorKind::kNotFound);
    const DocumentPlace place{owner, session, mine.document_id};
    EXPECT_EQ(story.run(read_revision(watched, place, "")).error().kind(), ErrorKind::kNotFound);
    EXPECT_EQ(story.run(list_revisions(watched, place, 0, 10)).error().kind(),
              ErrorKind::kNotFound);
    EXPECT_EQ(story.run(latest_run(watched, place, mine.id)).error().kind(), ErrorKind::kNotFound);
  }
}

TEST_P(Documents, ARetiredSessionTakesNoDocument) {
  ASSERT_TRUE(story.run(watched.commit([](Transaction& rows) {
    return rows.put_session({"ann", "notes", SessionState::kRetired, {}});
  })));
  const auto made = put("print(1)");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind(), ErrorKind::kRefused);
}

// ---- running

TEST_P(Documents, ExecutesOnlyTheOwnedSavedRevisionAndPreservesItsReceipt) {
  const DocumentRevision one = saved("print(1)");
  saved("print(2)", "chart.py", one.document_id);
  executor = real();
  RunDocument wanted = ids(one);
  wanted.settings.code = "print('supplied beside it')";
  wanted.settings.title = "other.js";
  wanted.settings.language = Language::kJavascript;
  wanted.settings.file_name = "other.js";
  wanted.settings.key.owner = "mallory";
  const auto ran = run(std::move(wanted));
  ASSERT_TRUE(ran) << ran.error().message();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].code, "print(1)");
  EXPECT_EQ(given[0].title, "chart.py");
  EXPECT_EQ(given[0].file_name, "chart.py");
  EXPECT_EQ(given[0].language, Language::kPython);
  EXPECT_EQ(given[0].key, (CallKey{"ann", "notes", "call"}));
  ASSERT_TRUE(ran->result.receipt) << ran->result.message;
  EXPECT_EQ(ran->result.receipt->owner, "ann");
  EXPECT_EQ(ran->result.receipt->cost, story.host().services.price);
  const boost::json::object members = document_members(*ran);
  const auto text = [&members](const char* key) {
    return std::string(members.at(key).as_string());
  };
  EXPECT_EQ(text("document_id"), one.document_id);
  EXPECT_EQ(text("revision_id"), one.id);
  EXPECT_EQ(text("title"), "chart.py");
  EXPECT_EQ(text("language"), "python");
  EXPECT_EQ(text("code"), "print(1)");
}

TEST_P(Documents, RejectsUnavailableOrUnsupportedRevisionsBeforeAnythingIsExecuted) {
  const DocumentRevision one = saved("print(1)");
  const DocumentRevision typescript = saved("let a: number = 1", "chart.ts");
  const DocumentRevision other = saved("print(3)");
  RunDocument missing = ids(one);
  missing.revision_id = make_uuid();
  RunDocument mixed = ids(one);
  mixed.revision_id = other.id;
  RunDocument unknown = ids(one);
  unknown.place.document_id = make_uuid();
  for (RunDocument* wanted : {&missing, &mixed, &unknown}) {
    const auto ran = run(*wanted);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().kind(), ErrorKind::kNotFound);
    EXPECT_THAT(ran.error().message(), HasSubstr("not found"));
  }
  const auto refused = run(ids(typescript));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "Only Python and JavaScript documents can be run.");
  RunDocument no_id = ids(one);
  no_id.revision_id = "1";
  EXPECT_EQ(run(std::move(no_id)).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_TRUE(given.empty());
}

TEST_P(Documents, DoesNotExecuteWhenCancelledDuringTheLookup) {
  const DocumentRevision one = saved("print(1)");
  watched.on_commit = [this] { cancellation.request(Cancellation::Reason::kCaller); };
  const auto ran = run(ids(one));
  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_EQ(ran->result.status, ExecutionStatus::kCancelled);
  ASSERT_TRUE(ran->result.failure);
  EXPECT_EQ(ran->result.failure->kind, ExecutionFailure::Kind::kCancelled);
  EXPECT_TRUE(given.empty());
  EXPECT_FALSE(ran->result.receipt);
}

TEST_P(Documents, RetainsTheChargeWhenChartOutputIsMalformed) {
  answer.status = ExecutionStatus::kCompleted;
  answer.message = "42";
  answer.receipt.emplace();
  answer.receipt->settlement = Settlement::kCompleted;
  answer.receipt->cost = Money::cents(5);
  Chart chart;
  chart.format = Chart::Format::kInteractive;
  chart.data = boost::json::object{{"type", "pie"}, {"elements", boost::json::array()}};
  answer.charts.push_back(chart);
  const DocumentRevision one = saved("chart = {}");
  const auto ran = run(ids(one));
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->result.message, "Execution finished, but its output has an unsupported format.");
  EXPECT_TRUE(ran->result.charts.empty());
  EXPECT_EQ(ran->result.status, ExecutionStatus::kCompleted);
  EXPECT_EQ(ran->result.receipt->cost, Money::cents(5));
}

TEST_P(Documents, LeavesAValidChartAsItIs) {
  answer.message = "42";
  Chart chart;
  chart.format = Chart::Format::kInteractive;
  chart.data = boost::json::parse(
      R"({"type":"bar","title":"t","elements":[{"group":"g","label":"a","value":1}]})");
  answer.charts.push_back(chart);
  const auto ran = run(ids(saved("chart = {}")));
  ASSERT_TRUE(ran);
  ASSERT_EQ(ran->result.charts.size(), 1u);
  EXPECT_EQ(ran->result.message, "42");
}

TEST_P(Documents, WhereDocumentsAreDisabledNoneIsEverLookedAt) {
  const DocumentRevision one = saved("print(1)");
  policy.enabled = false;
  watched.asked = 0;
  const auto ran = run(ids(one));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message(), "Document execution is disabled.");
  EXPECT_EQ(watched.asked, 0);
  EXPECT_TRUE(given.empty());
}

TEST_P(Documents, ExecutesOwnedSavedSourceOnceHoweverOftenTheCallIsDelivered) {
  const DocumentRevision one = saved("print(1)");
  executor = real();
  const auto first = run(ids(one));
  ASSERT_TRUE(first) << first.error().message();
  const auto second = run(ids(one));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_FALSE(first->result.replayed);
  EXPECT_TRUE(second->result.replayed);
  EXPECT_EQ(second->result.receipt->name, first->result.receipt->name);
  EXPECT_EQ(story.cloud.creates_asked.size(), 1u);
}

TEST_P(Documents, WithoutAnExecutorOrPermissionNothingIsExecuted) {
  const DocumentRevision one = saved("print(1)");
  executor = nullptr;
  EXPECT_EQ(run(ids(one)).error().message(), "Installed code executor is unavailable.");
  executor = recording();
  policy.execution_allowed = false;
  EXPECT_EQ(run(ids(one)).error().message(), "Installed code executor is unavailable.");
  EXPECT_TRUE(given.empty());
  // Whoever may not see it is told so, not that there is no executor.
  EXPECT_EQ(run(ids(one, "call", "bob")).error().kind(), ErrorKind::kNotFound);
}

TEST_P(Documents, NeverExecutesARevisionOutsideItsSession) {
  const DocumentRevision one = saved("print(1)");
  EXPECT_EQ(run(ids(one, "call", "ann", "other")).error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(run(ids(one, "call", "bob")).error().kind(), ErrorKind::kNotFound);
  EXPECT_TRUE(given.empty());
}

TEST_P(Documents, AnErrorReceiptIsForwardedOnce) {
  const DocumentRevision one = saved("print(1)");
  executor = real();
  story.host().provider.fault = [](Slot at, const std::string&) {
    return at == Slot::kCreate ? OpFault::kRejected : OpFault::kNone;
  };
  const auto ran = run(ids(one));
  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_EQ(given.size(), 1u);
  EXPECT_EQ(ran->result.status, ExecutionStatus::kInfrastructureError);
  ASSERT_TRUE(ran->result.receipt);
  EXPECT_EQ(ran->result.receipt->settlement, Settlement::kRefused);
  EXPECT_EQ(ran->result.receipt->cost, Money{});
}

TEST_P(Documents, AnExecutorsOwnErrorIsPassedOnAsItIs) {
  executor = [](ExecutionRequest) -> Task<Result<ExecutionResult>> {
    co_return fail(ErrorKind::kUnavailable, "no such provider");
  };
  const auto ran = run(ids(saved("print(1)")));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message(), "no such provider");
}

TEST_P(Documents, ProjectsTheLatestExecutionWithoutLeakingBetweenRevisions) {
  const DocumentRevision one = saved("print(1)");
  const DocumentRevision two = saved("print(2)", "chart.py", one.document_id);
  executor = real();
  EXPECT_FALSE(*latest(one));
  ASSERT_TRUE(run(ids(one, "first")));
  EXPECT_FALSE(*latest(two)) << "what the other revision gave is not its own";
  ASSERT_TRUE(run(ids(two, "second")));
  ASSERT_TRUE(run(ids(one, "third")));
  EXPECT_EQ((*latest(one))->run.key.call, "third");
  EXPECT_EQ((*latest(two))->run.key.call, "second");
  ASSERT_TRUE((*latest(two))->result);
  EXPECT_EQ((*latest(two))->receipt->call, "second");
}

TEST_P(Documents, ACallThatLeftNoIntentIsNoExecution) {
  const DocumentRevision one = saved("print(1)");
  executor = real();
  ASSERT_TRUE(run(ids(one, "first")));
  executor = recording();  // refused before anything was reserved
  ASSERT_TRUE(run(ids(one, "second")));
  EXPECT_EQ((*latest(one))->run.key.call, "first");
}

TEST_P(Documents, ACallThatRanSomethingElseIsAConflict) {
  const DocumentRevision one = saved("print(1)");
  // The same bytes and title, so that the two requests are equal.
  const DocumentRevision twin = saved("print(1)");
  executor = real();
  ASSERT_TRUE(run(ids(one, "call")));
  const auto other = run(ids(twin, "call"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kConflict);
  ExecutionRequest plain = given[0];
  plain.key.call = "plain";
  (void)story.run(execute(story.host().services, plain, nullptr, cancellation));
  const auto taken = run(ids(one, "plain"));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind(), ErrorKind::kConflict);
  EXPECT_FALSE(*latest(twin));
}

INSTANTIATE_TEST_SUITE_P(EveryStore, Documents, ::testing::ValuesIn(testing::store_kinds()),
                         [](const ::testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

TEST(DocumentLanguage, IsToldByTheTitlesExtensionInAnyCase) {
  for (const char* title : {"a.py", "a.PY", "a", "a.", "a.b/c", "My report"}) {
    EXPECT_EQ(*language_of_document(title), Language::kPython) << title;
  }
  for (const char* title : {"a.js", "a.MJS", "a.b.cjs", "x.Js"}) {
    EXPECT_EQ(*language_of_document(title), Language::kJavascript) << title;
  }
  for (const char* title : {"a.ts", "a.pyc", "a.py.txt", "a.jsx", "notes.md"}) {
    ASSERT_FALSE(language_of_document(title)) << title;
  }
}

TEST(DocumentIds, AreUuidsInAnyCase) {
  EXPECT_EQ(uuid_from("0B7E1F9A-5C1D-4E57-9F0E-0D6A3C5B7E21"),
            "0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e21");
  for (const char* text :
       {"", "0b7e1f9a5c1d4e579f0e0d6a3c5b7e21", "../../../../../../../../../etc/pass",
        "0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e2g", "0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e211"}) {
    EXPECT_FALSE(uuid_from(text)) << text;
  }
  EXPECT_NE(make_uuid(), make_uuid());
}

}  // namespace
}  // namespace berth
