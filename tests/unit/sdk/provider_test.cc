// The authoring layer, driven through the table it makes.
#include "berth/provider.hpp"

#include <gtest/gtest.h>

#include "berth/testing/fake_host.hpp"
#include "tests/unit/sdk/sample_provider.h"

namespace berth::tests {
namespace {

using testing::CreateRequest;
using testing::FakeHost;
using testing::RunRequest;

class ProviderTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_TRUE(host_.violations().empty()) << host_.violations().front();
  }
  FakeHost host_{&provider_entry<Sample>};
};

TEST_F(ProviderTest, NothingIsBuiltBeforeOpen) {
  const int before = built;
  EXPECT_EQ(host_.table().get_extension(host_.self(), {"berth.files/1", 13}), nullptr);
  const auto refused = host_.create("berth-1");
  EXPECT_EQ(built, before);
  EXPECT_EQ(refused.outcome_class, OutcomeClass::kRejected);
  EXPECT_NE(refused.message.find("OPEN-001"), std::string::npos) << refused.message;
  EXPECT_TRUE(host_.open().done());
  EXPECT_EQ(built, before + 1);
}

TEST_F(ProviderTest, AFailedOpenDestroysTheObjectAndMayBeTriedAgain) {
  const int before = alive;
  const auto refused = host_.open(R"({"refuse":true})");
  EXPECT_EQ(refused.outcome_class, OutcomeClass::kRejected);
  EXPECT_EQ(refused.code, Code::kUnauthenticated);
  EXPECT_EQ(alive, before);
  EXPECT_TRUE(host_.open().done());
  EXPECT_EQ(alive, before + 1);
}

TEST_F(ProviderTest, EveryResultArrivesWhole) {
  ASSERT_TRUE(host_.open().done());
  const auto probe = host_.probe().get<ProbeReport>();
  EXPECT_TRUE(probe.usable);
  EXPECT_EQ(probe.backend, "sample 1");
  ASSERT_EQ(probe.capabilities.size(), 1u);
  EXPECT_EQ(probe.capabilities[0].reason, "no pty here");
  ASSERT_EQ(probe.items.size(), 1u);
  EXPECT_EQ(probe.items[0].detail, "std::map");
  const Scope scope{{"account", "a1"}, {"endpoint", "here"}};
  EXPECT_EQ(host_.scope().get<Scope>(), scope);
  const auto created = host_.create("berth-1").get<Created>();
  EXPECT_EQ(created.name, "berth-1");
  EXPECT_EQ(created.ref, "ref-berth-1");
  EXPECT_EQ(created.scope, scope);
  EXPECT_EQ(host_.lookup("berth-1").get<Found>().presence, Presence::kPresent);
  EXPECT_EQ(host_.lookup("berth-2").get<Found>().presence, Presence::kAbsentNow);
  const auto ran = host_.run("ref-berth-1", {.argv = {"echo", "x"}});
  EXPECT_EQ(ran.get<RunResult>().exit_code, 3);
  EXPECT_EQ(ran.get<RunResult>().stdout_bytes, 5u);
  EXPECT_EQ(ran.get<RunResult>().usage->cpu_ns, 42u);
  EXPECT_EQ(ran.get<RunResult>().usage->wall_ns, BERTH_USAGE_UNKNOWN);
  EXPECT_EQ(ran.out, "echox");
  EXPECT_EQ(ran.err, "note\n");
  EXPECT_FALSE(host_.destroy("berth-1").get<Destroyed>().usage.has_value());
}

TEST_F(ProviderTest, AListIsPagedByItsCursor) {
  ASSERT_TRUE(host_.open().done());
  for (const char* name : {"berth-1", "berth-2", "berth-3"}) ASSERT_TRUE(host_.create(name).done());
  const auto first = host_.list_owned("owner").get<ListPage>();
  ASSERT_EQ(first.items.size(), 2u);
  EXPECT_EQ(first.next_cursor, "berth-2");
  const auto second = host_.list_owned("owner", first.next_cursor).get<ListPage>();
  ASSERT_EQ(second.items.size(), 1u);
  EXPECT_EQ(second.items[0].name, "berth-3");
  EXPECT_TRUE(second.next_cursor.empty());
}

TEST_F(ProviderTest, AFailureKeepsItsClassCodeAndDelay) {
  ASSERT_TRUE(host_.open().done());
  const auto dirty = host_.create("berth-1", {.image = "dirty"});
  EXPECT_EQ(dirty.outcome_class, OutcomeClass::kFailedDirty);
  EXPECT_EQ(dirty.message, "half of it is there");
  const auto busy = host_.create("berth-1", {.image = "busy"});
  EXPECT_EQ(busy.code, Code::kRateLimited);
  EXPECT_EQ(busy.retry_after, std::chrono::seconds(2));
}

TEST_F(ProviderTest, AnyOtherExceptionAssertsNothingAndNamesTheSlot) {
  ASSERT_TRUE(host_.open().done());
  const auto thrown = host_.create("berth-1", {.image = "throw"});
  EXPECT_EQ(thrown.outcome_class, OutcomeClass::kUnset);
  EXPECT_EQ(thrown.message, "provider: create: the map burst");
  const auto number = host_.create("berth-1", {.image = "throw a number"});
  EXPECT_EQ(number.outcome_class, OutcomeClass::kUnset);
  EXPECT_EQ(number.message, "provider: create: an exception of an unknown type");
}

TEST_F(ProviderTest, FilesGoInAndComeOut) {
  ASSERT_TRUE(host_.open().done());
  const std::string contents(200'000, 'x');
  ASSERT_TRUE(host_.put_file("ref", "/work/a", contents, 0755).done());
  const auto got = host_.get_file("ref", "/work/a");
  EXPECT_EQ(got.file, contents);
  EXPECT_EQ(got.get<GotFile>().mode, 0755u);
  EXPECT_EQ(host_.get_file("ref", "/work/b").code, Code::kNotFound);
}

TEST_F(ProviderTest, InputThatArrivesLateAndInPiecesIsReadWhole) {
  ASSERT_TRUE(host_.open().done());
  host_.behave({.input_chunk_bytes = 7, .input_arrives_late = true});
  ASSERT_TRUE(host_.put_file("ref", "/a", "a file that trickles in").done());
  host_.behave({});
  EXPECT_EQ(host_.get_file("ref", "/a").file, "a file that trickles in");
  EXPECT_EQ(host_.run("ref", {.argv = {"cat"}, .input = "hello"}).out, "cathello");
}

TEST_F(ProviderTest, APausedOutputWaitsForItsReader) {
  ASSERT_TRUE(host_.open().done());
  host_.behave({.pause_every_bytes = 4, .resume_by_itself = false});
  const berth_op op = host_.start_run("ref", {.argv = {"12345678", "abc"}});
  ASSERT_TRUE(host_.wait_until(op, [](const auto& call) { return call.paused; }));
  EXPECT_FALSE(host_.completed(op));
  host_.resume(op);
  ASSERT_TRUE(host_.wait_until(op, [](const auto& call) { return call.paused || call.completed; }));
  host_.resume(op);
  EXPECT_EQ(host_.wait(op).out, "12345678abc");
}

TEST_F(ProviderTest, PastTheCapNothingIsSentAndEverythingIsCounted) {
  ASSERT_TRUE(host_.open().done());
  host_.behave({.stdout_limit_bytes = 4});
  const auto ran = host_.run("ref", {.argv = {"12345678", "abc"}});
  EXPECT_EQ(ran.out, "1234");
  EXPECT_EQ(ran.get<RunResult>().stdout_bytes, 11u);
}

TEST_F(ProviderTest, CancellationReachesAProgramThatWritesForEver) {
  ASSERT_TRUE(host_.open().done());
  const berth_op op = host_.start_run("ref", {.argv = {"loop"}});
  ASSERT_TRUE(host_.wait_until(op, [](const auto& call) { return call.answer.out.size() > 1000; }));
  host_.cancel(op);
  EXPECT_EQ(host_.wait(op).get<RunResult>().cause, Cause::kCancelled);
}

TEST_F(ProviderTest, ADeadlineIsACancellation) {
  ASSERT_TRUE(host_.open().done());
  host_.set_deadline(std::chrono::milliseconds(20));
  EXPECT_EQ(host_.run("ref", {.argv = {"loop"}}).get<RunResult>().cause, Cause::kCancelled);
  host_.set_deadline(std::chrono::nanoseconds(0));
}

TEST_F(ProviderTest, ShutdownWaitsForOpenOperations) {
  ASSERT_TRUE(host_.open().done());
  const int before = alive;
  const berth_op running = host_.start_run("ref", {.argv = {"loop"}});
  ASSERT_TRUE(host_.wait_until(running, [](const auto& call) { return !call.answer.out.empty(); }));
  const berth_op closing = host_.start_shutdown();
  EXPECT_FALSE(host_.completed(closing));
  EXPECT_EQ(host_.create("berth-late").outcome_class, OutcomeClass::kRejected);
  host_.cancel(running);
  EXPECT_TRUE(host_.wait(closing).done());
  EXPECT_TRUE(host_.completed(running));
  EXPECT_EQ(alive, before - 1);
}

TEST_F(ProviderTest, ARequestWithAValueItDoesNotKnowIsRejectedBeforeAnyEffect) {
  ASSERT_TRUE(host_.open().done());
  EXPECT_EQ(host_.create("berth-1", {.network = static_cast<Network>(77)}).outcome_class,
            OutcomeClass::kRejected);
  EXPECT_EQ(host_.lookup("berth-1").get<Found>().presence, Presence::kAbsentNow);
  EXPECT_EQ(host_.put_file("ref", "relative", "x").outcome_class, OutcomeClass::kRejected);
}

struct NeedsMore : NoManifest {
  static constexpr unsigned kMinorRequired = 3;
};

struct WantsClock : NoManifest {
  static constexpr std::array<std::string_view, 1> kHostExtensions{"berth.clock/1"};
};

TEST(Entry, RefusesAHostThatIsTooOldWithASentence) {
  berth_offer offer{};
  offer.struct_size = sizeof offer;
  offer.minor_max = 2;
  berth_reply reply{};
  reply.struct_size = sizeof reply;
  EXPECT_NE((provider_entry<Sample, NeedsMore>(&offer, &reply)), 0u);
  EXPECT_NE(std::string_view(reply.refusal.ptr, reply.refusal.len).find("NEG-002"),
            std::string_view::npos);
  EXPECT_EQ(reply.provider, nullptr);
}

TEST(Entry, RefusesAHostThatDoesNotOfferARequiredExtension) {
  FakeHost other(&provider_entry<Sample>);
  EXPECT_THROW(FakeHost(&provider_entry<Sample, WantsClock>), std::runtime_error);
}

struct WithoutFence : Sample {
  using BerthBase = Provider;
};

class Manual : public Provider {
 public:
  ProbeReport probe(Operation&) override { return {}; }
  Scope scope(Operation&) override { return {}; }
  Created create(Operation&, std::string_view, const CreateSpec&) override { return {}; }
  Found lookup(Operation&, std::string_view) override { return {}; }
  RunResult run(Operation&, std::string_view, const Command&) override { return {}; }
  void put_file(Operation&, std::string_view, const PutFile&) override {}
  GotFile get_file(Operation&, std::string_view, const GetFile&) override { return {}; }
  Destroyed destroy(Operation&, std::string_view, std::string_view) override { return {}; }
  ListPage list_owned(Operation&, std::string_view, std::string_view) override { return {}; }
};

TEST(Entry, TheFenceSlotIsThereExactlyWhenTheClassFences) {
  EXPECT_NE(FakeHost(&provider_entry<Sample>).table().fence, nullptr);
  EXPECT_NE(FakeHost(&provider_entry<WithoutFence>).table().fence, nullptr);
  EXPECT_EQ(FakeHost(&provider_entry<Manual>).table().fence, nullptr);
}

TEST(Entry, TwoHostsGetTwoProviders) {
  FakeHost one(&provider_entry<Sample>);
  FakeHost two(&provider_entry<Sample>);
  ASSERT_TRUE(one.open().done());
  ASSERT_TRUE(two.open().done());
  ASSERT_TRUE(one.create("berth-1").done());
  EXPECT_EQ(two.lookup("berth-1").get<Found>().presence, Presence::kAbsentNow);
  EXPECT_TRUE(one.shutdown().done());
  EXPECT_TRUE(two.shutdown().done());
}

TEST(Receive, AStructOfAnOlderSenderReadsAsZeroBeyondItsSize) {
  berth_limits limits{};
  limits.struct_size = 16;  // up to memory_bytes
  limits.memory_bytes = 5;
  limits.processes = 99;  // lies beyond what the sender knew
  const berth_limits own = detail::receive(&limits);
  EXPECT_EQ(own.memory_bytes, 5u);
  EXPECT_EQ(own.processes, 0u);
  EXPECT_EQ(own.struct_size, sizeof(berth_limits));
}

// A provider that says which texts its configuration has.
class Configured : public Sample {
 public:
  void open(Operation& operation, const OpenSpec&) override {
    for (const char* key : {"one", "many", "none"})
      for (const std::string& text : host().config_texts(key)) operation.stage(text);
  }
};

TEST(Configuration, TextsAreReadWhateverIsInThem) {
  FakeHost host(&provider_entry<Configured>);
  host.set_config("one", R"("a \"quoted\" \\ path")");
  host.set_config("many", R"(["", "\u00e9\ud83d\ude00", "a\tb\/", "[,]"])");
  EXPECT_EQ(host.open().stages,
            (std::vector<std::string>{"a \"quoted\" \\ path", "", "\xc3\xa9\xf0\x9f\x98\x80", "a\tb/", "[,]"}));
}

TEST(Text, IsCutBetweenCharacters) {
  EXPECT_EQ(detail::utf8_prefix("aé", 2), "a");
  EXPECT_EQ(detail::utf8_prefix("aé", 3), "aé");
}

}  // namespace
}  // namespace berth::tests
