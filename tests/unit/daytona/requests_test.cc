// What the Daytona provider asks for, and how it reads what the service says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "plugins/daytona/api.h"
#include "plugins/daytona/create_body.h"
#include "plugins/daytona/run.h"

namespace berth::daytona {
namespace {

namespace json = boost::json;

Settings settings() {
  Settings out;
  out.organization = "org-a";
  out.api_key = http::Secret("dtn_key");
  out.api = Url::parse("https://app.daytona.io/api");
  return out;
}

CreateSpec spec() {
  CreateSpec out;
  out.owner_tag = "host-1";
  out.languages = {"python"};
  out.lifetime = std::chrono::minutes(10);
  return out;
}

json::object body(const CreateSpec& of, const Settings& with = settings()) {
  return json::parse(create_body(with, "berth-1", of)).as_object();
}

Failure refusal(const CreateSpec& of) {
  try {
    create_body(settings(), "berth-1", of);
  } catch (const Failure& failure) {
    return failure;
  }
  return Failure::uncertain(Code::kNone, "it was accepted");
}

TEST(DaytonaCreateBody, IsAPrivateEphemeralNamedSandboxWithALifetime) {
  EXPECT_EQ(json::value(body(spec())), json::parse(R"({
    "name": "berth-1", "env": {}, "public": false,
    "labels": {"berth-owner": "host-1", "berth-name": "berth-1",
               "code-toolbox-language": "python"},
    "ttlMinutes": 10, "autoStopInterval": 10, "autoDeleteInterval": 0,
    "networkBlockAll": true})"));
}

TEST(DaytonaCreateBody, CarriesWhatIsAskedForAndConfigured) {
  CreateSpec asked = spec();
  asked.languages = {"javascript"};
  asked.network = Network::kOpen;
  asked.lifetime = std::chrono::seconds(61);
  asked.env = {{"A", "b'\"\n"}};
  Settings with = settings();
  with.target = "eu";
  with.snapshot = "mine";
  const json::object got = body(asked, with);
  EXPECT_EQ(got.at("labels").at("code-toolbox-language").as_string(), "javascript");
  EXPECT_FALSE(got.contains("networkBlockAll"));
  EXPECT_EQ(got.at("ttlMinutes").to_number<int>(), 2);
  EXPECT_EQ(got.at("env").at("A").as_string(), "b'\"\n");
  EXPECT_EQ(got.at("target").as_string(), "eu");
  EXPECT_EQ(got.at("snapshot").as_string(), "mine");
}

TEST(DaytonaCreateBody, ANameIsASnapshotAndAReferenceAnImage) {
  CreateSpec asked = spec();
  asked.image = "team-base";
  EXPECT_EQ(body(asked).at("snapshot").as_string(), "team-base");
  asked.image = "ghcr.io/a/b@sha256:0123";
  const json::object got = body(asked);
  EXPECT_EQ(got.at("buildInfo").at("dockerfileContent").as_string(),
            "FROM ghcr.io/a/b@sha256:0123\n");
  EXPECT_FALSE(got.contains("snapshot"));
  asked.image = "a\nRUN curl evil";
  EXPECT_EQ(refusal(asked).code(), Code::kInvalidArgument);
}

TEST(DaytonaCreateBody, ALimitIsKeptExactlyOrRefused) {
  CreateSpec asked = spec();
  asked.limits.memory_bytes = std::uint64_t{2} << 30;
  EXPECT_EQ(refusal(asked).code(), Code::kUnsupported) << "only with an image";
  asked.image = "python:3.12-slim";
  asked.limits.cpu_millis = 2000;
  asked.limits.disk_bytes = std::uint64_t{8} << 30;
  const json::object got = body(asked);
  EXPECT_EQ(got.at("memory").to_number<int>(), 2);
  EXPECT_EQ(got.at("cpu").to_number<int>(), 2);
  EXPECT_EQ(got.at("disk").to_number<int>(), 8);
  for (auto set : {+[](Limits& l) { l.cpu_millis = 1500; }, +[](Limits& l) { l.processes = 5; },
                   +[](Limits& l) { l.memory_bytes = 1000; }, +[](Limits& l) { l.open_files = 5; },
                   +[](Limits& l) { l.file_size_bytes = 5; },
                   +[](Limits& l) { l.cpu_time = std::chrono::seconds(1); }}) {
    CreateSpec other = asked;
    set(other.limits);
    EXPECT_EQ(refusal(other).outcome_class(), OutcomeClass::kRejected);
    EXPECT_EQ(refusal(other).code(), Code::kUnsupported);
  }
}

TEST(DaytonaScope, IsTheOrganizationTheEndpointAndAFingerprint) {
  Settings with = settings();
  const Scope scope = with.scope();
  ASSERT_EQ(scope.size(), 3u);
  EXPECT_EQ(scope[0].second, "org-a");
  EXPECT_EQ(scope[1].second, "https://app.daytona.io/api");
  EXPECT_THAT(scope[2].second, ::testing::MatchesRegex("[0-9a-f]{64}"));
  with.api_key = http::Secret("dtn_other");
  EXPECT_NE(with.scope()[2].second, scope[2].second);
}

TEST(DaytonaSandbox, NeedsAnIdentityToBeBelieved) {
  EXPECT_FALSE(sandbox_of(json::parse("null")));
  EXPECT_FALSE(sandbox_of(json::parse("[]")));
  EXPECT_FALSE(sandbox_of(json::parse(R"({"id":"a","name":"b"})")));
  EXPECT_FALSE(sandbox_of(json::parse(R"({"id":1,"name":"b","organizationId":"c"})")));
  const auto got = sandbox_of(json::parse(
      R"({"id":"a","name":"b","organizationId":"c","createdAt":"1970-01-02T00:00:01.5Z"})"));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->created_unix_ms, 86'401'000u);
}

TEST(DaytonaSandbox, EveryStateHasAPhaseAndAnUnknownOneIsWaitedFor) {
  const auto phase = [](std::string state, std::string desired = "started") {
    Sandbox sandbox;
    sandbox.state = std::move(state);
    sandbox.desired_state = std::move(desired);
    return phase_of(sandbox);
  };
  EXPECT_EQ(phase("started"), Phase::kReady);
  EXPECT_EQ(phase("started", "destroyed"), Phase::kEnding);
  EXPECT_EQ(phase("destroying"), Phase::kEnding);
  EXPECT_EQ(phase("destroyed", "destroyed"), Phase::kGone);
  EXPECT_EQ(phase("error"), Phase::kBroken);
  EXPECT_EQ(phase("build_failed"), Phase::kBroken);
  for (const char* each : {"stopped", "stopping", "archived", "archiving", "paused", "pausing"})
    EXPECT_EQ(phase(each), Phase::kStopped) << each;
  for (const char* each : {"creating", "restoring", "starting", "pending_build",
                           "building_snapshot", "pulling_snapshot", "resuming"})
    EXPECT_EQ(phase(each), Phase::kStarting) << each;
  for (const char* each : {"unknown", "resizing", "snapshotting", "forking", "", "invented"})
    EXPECT_EQ(phase(each), Phase::kUnknown) << each;
}

TEST(DaytonaAnswers, ARefusalIsAnAnswerAndAFaultIsNot) {
  const auto failure = [](int status) {
    Answer answer;
    answer.status = status;
    answer.message = "m";
    return failure_of(answer).outcome_class();
  };
  for (const int refused : {400, 401, 402, 403, 404, 409, 410, 413, 422, 429, 451})
    EXPECT_EQ(failure(refused), OutcomeClass::kRejected) << refused;
  for (const int fault : {301, 302, 408, 500, 502, 503, 504, 599})
    EXPECT_EQ(failure(fault), OutcomeClass::kUncertain) << fault;
}

TEST(DaytonaAnswers, BothSpellingsOfAStateChangeAreKnown) {
  const auto change = [](int status, std::string message) {
    Answer answer;
    answer.status = status;
    answer.message = std::move(message);
    return is_state_change(answer);
  };
  EXPECT_TRUE(change(409, "was modified by another operation"));
  EXPECT_TRUE(change(400, "Sandbox state change in progress"));
  EXPECT_TRUE(change(500, "Sandbox is not in a valid state to be destroyed"));
  EXPECT_FALSE(change(400, "it has forks"));
  EXPECT_FALSE(change(500, "Internal server error"));
}

TEST(DaytonaQuoting, MakesOneInertWordOfAnything) {
  EXPECT_EQ(quoted("it's $(id) `x` \"q\" # \\"), "'it'\\''s $(id) `x` \"q\" # \\'");
  EXPECT_EQ(quoted(""), "''");
}

}  // namespace
}  // namespace berth::daytona
