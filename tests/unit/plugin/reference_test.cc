// The reference provider through both hostings: the whole table, as the lifecycle will use it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/json.h"
#include "tests/unit/plugin/harness.h"

namespace berth::plugin {
namespace {

using registry::Hosting;
using testing::HasSubstr;
using namespace std::chrono_literals;

class Reference : public testing::TestWithParam<Hosting> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("berth-reference-{}", ::getpid());
  }
  void TearDown() override {
    if (loaded_) harness_.close(*loaded_);
    std::filesystem::remove_all(folder_);
  }
  void load(const char* config) {
    LoadRequest request = harness_.request(Harness::reference(), GetParam());
    request.state_dir = folder_;
    request.limits.cancel_grace = 200ms;
    request.configuration.providers["reference"].config = parse_json(config)->as_object();
    auto loaded = harness_.load(std::move(request));
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
    loaded_ = std::move(*loaded);
  }
  Provider& provider() { return loaded_->provider(); }
  Answer<Created> create(const std::string& name) {
    CreateSpec spec;
    spec.owner_tag = "tests";
    spec.languages = {"python"};
    return harness_.await(provider().create(within(30s), name, spec));
  }
  Presence presence(const std::string& name) {
    return harness_.await(provider().lookup(within(30s), name)).value.presence;
  }

  std::filesystem::path folder_;
  Harness harness_;
  std::unique_ptr<LoadedProvider> loaded_;
};

INSTANTIATE_TEST_SUITE_P(Hosted, Reference, testing::Values(Hosting::kWorker, Hosting::kInProcess),
                         [](const auto& hosted) {
                           return hosted.param == Hosting::kWorker ? "InAWorker" : "InProcess";
                         });

TEST_P(Reference, ASandboxLivesFromCreateToConfirmedDestroy) {
  load(R"({"account":"acme"})");
  const auto created = create("berth-one");
  ASSERT_TRUE(created.outcome.done()) << created.outcome.message;
  EXPECT_EQ(created.value.name, "berth-one");
  EXPECT_EQ(created.value.scope, loaded_->scope());
  EXPECT_EQ(presence("berth-one"), Presence::kPresent);
  const auto listed = harness_.await(provider().list_owned(within(30s), "tests"));
  ASSERT_EQ(listed.value.size(), 1u);
  EXPECT_EQ(listed.value[0].name, "berth-one");

  std::string text(700000, 'z');
  TestSource source(text);
  const auto put = harness_.await(provider().put_file(
      within(30s), created.value.ref, PutFile{"/work/data.bin", 0640, text.size()}, source));
  ASSERT_TRUE(put.outcome.done()) << put.outcome.message;
  TestSink sink;
  const auto got = harness_.await(
      provider().get_file(within(30s), created.value.ref, GetFile{"/work/data.bin", 1u << 20}, sink));
  ASSERT_TRUE(got.outcome.done()) << got.outcome.message;
  EXPECT_TRUE(sink.text == text);
  EXPECT_EQ(got.value.size_bytes, text.size());
  TestSink small;
  const auto large = harness_.await(
      provider().get_file(within(30s), created.value.ref, GetFile{"/work/data.bin", 10}, small));
  EXPECT_EQ(large.outcome.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(large.outcome.code, OutcomeCode::kQuota);
  EXPECT_EQ(small.text, "");

  EXPECT_TRUE(harness_.await(provider().destroy(within(30s), "berth-one", created.value.ref)).outcome.done());
  EXPECT_NE(presence("berth-one"), Presence::kPresent);
  EXPECT_TRUE(harness_.await(provider().destroy(within(30s), "berth-one", "")).outcome.done());
  EXPECT_TRUE(loaded_->violations().empty());
}

TEST_P(Reference, ALostAnswerIsUncertainAndItsSandboxIsFoundByName) {
  load(R"({"slots":{"create":[{"reply":"never"}]}})");
  CreateSpec spec;
  spec.owner_tag = "tests";
  const auto created = harness_.await(provider().create(within(150ms), "berth-lost", spec));
  EXPECT_EQ(created.outcome.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(created.outcome.code, OutcomeCode::kHostDeadline);
  EXPECT_EQ(presence("berth-lost"), Presence::kPresent);
}

TEST_P(Reference, ALateAnswerOfACreateCarriesItsReference) {
  load(R"({"slots":{"create":[{"replyDelayMs":3000,"ignoreCancel":true}]}})");
  std::vector<LateAnswer> late;
  provider().on_late_answer([&](LateAnswer answer) { late.push_back(std::move(answer)); });
  CreateSpec spec;
  spec.owner_tag = "tests";
  const auto created = harness_.await(provider().create(within(100ms), "berth-late", spec));
  EXPECT_EQ(created.outcome.outcome_class, OutcomeClass::kUncertain);
  ASSERT_TRUE(harness_.pump([&] { return !late.empty(); }));
  EXPECT_EQ(late[0].slot, "create");
  EXPECT_EQ(late[0].name, "berth-late");
  EXPECT_FALSE(late[0].ref.empty());
}

TEST_P(Reference, AFenceAndARefusalArriveAsTheyAre) {
  load(R"({"slots":{"create":[{"onCalls":[1],"outcome":"rejected","code":"quota","message":"no room","retryAfterMs":1500,"effect":"none"}]}})");
  const auto refused = create("berth-two");
  EXPECT_EQ(refused.outcome.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(refused.outcome.code, OutcomeCode::kQuota);
  EXPECT_EQ(refused.outcome.retry_after, 1500ms);
  EXPECT_THAT(refused.outcome.message, HasSubstr("no room"));
  EXPECT_EQ(harness_.await(provider().fence(within(30s), "berth-two")).value.presence,
            Presence::kAbsentFenced);
}

TEST_P(Reference, AnAnswerOnlyTheOtherSlotMayGiveIsUncertain) {
  load(R"({"slots":{"lookup":[{"presence":"absent_fenced"}],"fence":[{"presence":"absent_now"}]}})");
  EXPECT_EQ(harness_.await(provider().lookup(within(30s), "berth-x")).outcome.code,
            OutcomeCode::kHostBadReply);
  EXPECT_EQ(harness_.await(provider().fence(within(30s), "berth-x")).outcome.code,
            OutcomeCode::kHostBadReply);
  EXPECT_EQ(loaded_->violations().size(), 2u);
}

class ReferenceWorker : public Reference {};
INSTANTIATE_TEST_SUITE_P(Hosted, ReferenceWorker, testing::Values(Hosting::kWorker),
                         [](const auto&) { return "InAWorker"; });

TEST_P(ReferenceWorker, ACrashAfterTheEffectIsUncertainAndTheSandboxIsFoundByTheNextWorker) {
  load(R"({"state":"files","slots":{"create":[{"onCalls":[1],"crash":"after"}]}})");
  const auto created = create("berth-three");
  EXPECT_EQ(created.outcome.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(created.outcome.code, OutcomeCode::kHostWorkerDied);
  EXPECT_EQ(presence("berth-three"), Presence::kPresent);
  EXPECT_TRUE(harness_.await(provider().destroy(within(30s), "berth-three", "")).outcome.done());
}

}  // namespace
}  // namespace berth::plugin
