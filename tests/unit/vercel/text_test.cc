// The parts of the provider that need no service: who it speaks for, what it asks for, what it
// makes of what comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "berth/outcome.hpp"
#include "plugins/vercel/commands.h"
#include "plugins/vercel/config.h"
#include "plugins/vercel/create_body.h"
#include "plugins/vercel/encoding.h"
#include "plugins/vercel/identity.h"
#include "plugins/vercel/model.h"
#include "plugins/vercel/runner_output.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

// A host that knows nothing but variables.
class HostOf {
 public:
  explicit HostOf(Variables variables) : variables_(std::move(variables)) {
    table_.struct_size = sizeof table_;
    table_.ctx = &variables_;
    table_.secret_get = [](void* ctx, berth_str name, berth_write_fn write, void* user) {
      const auto& known = *static_cast<Variables*>(ctx);
      const auto found = known.find(std::string(name.ptr, name.len));
      if (found == known.end()) return std::uint32_t{0};
      write(user, found->second.data(), found->second.size());
      return std::uint32_t{1};
    };
  }
  Host host() const { return Host(&table_); }

 private:
  Variables variables_;
  berth_host_v1 table_{};
};

std::optional<Failure> failure_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Failure& failure) {
    return failure;
  }
  return std::nullopt;
}

Identity identity_of(Variables variables) {
  const HostOf host(std::move(variables));
  return read_identity(host.host());
}

// Made by hand: {"alg":"none"} . {"iss":"i","owner_id":"team_j","project_id":"prj_j","exp":7} . s
constexpr const char* kJwt =
    "eyJhbGciOiJub25lIn0."
    "eyJpc3MiOiJpIiwib3duZXJfaWQiOiJ0ZWFtX2oiLCJwcm9qZWN0X2lkIjoicHJqX2oiLCJleHAiOjd9.s";
// {"iss":"i","owner_id":"team_j"}: it does not say for which project.
constexpr const char* kHalfJwt = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJpIiwib3duZXJfaWQiOiJ0ZWFtX2oifQ.s";

Variables configured(const std::string& token, const std::string& team = "team_a") {
  return {{"VERCEL_TOKEN", token}, {"VERCEL_TEAM_ID", team}, {"VERCEL_PROJECT_ID", "prj_a"}};
}

TEST(VercelIdentity, PinsConfiguredOpaqueCredentials) {
  Variables variables = configured(" opaque \n");
  variables["VERCEL_OIDC_TOKEN"] = kJwt;
  const Identity identity = identity_of(variables);
  EXPECT_EQ(identity.team, "team_a");
  EXPECT_EQ(identity.project, "prj_a");
  EXPECT_EQ(identity.token.reveal(), "opaque");
  EXPECT_EQ(identity.fingerprint, http::sha256_hex("opaque"));
}

TEST(VercelIdentity, TakesTheScopeOfAnOidcTokenAndKeepsItWhenTheTokenIsRenewed) {
  const Identity identity = identity_of({{"VERCEL_OIDC_TOKEN", kJwt}});
  EXPECT_EQ(identity.team, "team_j");
  EXPECT_EQ(identity.project, "prj_j");
  EXPECT_EQ(identity.expires_unix_s, 7u);
  // {..., "exp":8}
  const Identity renewed = identity_of(
      {{"VERCEL_OIDC_TOKEN",
        "eyJhbGciOiJub25lIn0."
        "eyJpc3MiOiJpIiwib3duZXJfaWQiOiJ0ZWFtX2oiLCJwcm9qZWN0X2lkIjoicHJqX2oiLCJleHAiOjh9.t"}});
  EXPECT_EQ(renewed.expires_unix_s, 8u);
  EXPECT_TRUE(renewed.same_scope(identity));
}

TEST(VercelIdentity, RefusesATokenThatSpeaksForSomebodyElse) {
  for (const char* token : {kJwt, kHalfJwt}) {
    const auto failure = failure_of([&] { identity_of(configured(token)); });
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->message(), "Sandbox token and configured provider scope do not match.");
  }
}

TEST(VercelIdentity, RefusesMissingAndMalformedCredentialsWithoutShowingThem) {
  for (const Variables& variables :
       {Variables{}, configured(" "), Variables{{"VERCEL_OIDC_TOKEN", "secret-opaque"}},
        Variables{{"VERCEL_OIDC_TOKEN", "secret.!!!.x"}},
        Variables{{"VERCEL_OIDC_TOKEN", "secret.c2VjcmV0.x"}},
        Variables{{"VERCEL_OIDC_TOKEN", kHalfJwt}}, configured("secret.c2VjcmV0.x")}) {
    const auto failure = failure_of([&] { identity_of(variables); });
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->outcome_class(), OutcomeClass::kRejected);
    EXPECT_EQ(failure->code(), Code::kUnauthenticated);
    EXPECT_THAT(failure->message(), HasSubstr("Sandbox provider identity is unavailable."));
    EXPECT_THAT(failure->message(), Not(HasSubstr("secret")));
  }
}

Settings settings_of(Variables more, std::string_view config = "{}") {
  Variables variables = configured("opaque");
  variables.merge(more);
  const HostOf host(std::move(variables));
  return read_settings(host.host(), config);
}

json::object body_of(const CreateSpec& spec, Variables variables = {},
                     std::string_view config = "{}") {
  return json::parse(create_body(settings_of(std::move(variables), config), "berth-1", spec))
      .get_object();
}

TEST(VercelCreate, AsksForADisposableSandboxThatEndsByItself) {
  CreateSpec spec;
  spec.owner_tag = "owner";
  spec.lifetime = std::chrono::nanoseconds(90'000'000'001);
  spec.languages = {"python"};
  spec.env = {{"A", "1"}};
  EXPECT_EQ(
      json::serialize(body_of(spec)),
      R"({"projectId":"prj_a","ports":[],"timeout":90001,"resources":{"vcpus":2},)"
      R"("name":"berth-1","image":"vercel/sandbox/python:3.14","persistent":false,)"
      R"("networkPolicy":{"mode":"deny-all"},"env":{"A":"1"},"tags":{"berth-owner":"owner"}})");
}

TEST(VercelCreate, ChoosesTheImageByLanguageRequestConfigurationAndVariable) {
  CreateSpec spec;
  const auto image = [&](std::vector<std::string_view> languages, Variables variables = {},
                         std::string_view config = "{}") {
    spec.languages = std::move(languages);
    return std::string(body_of(spec, std::move(variables), config).at("image").as_string());
  };
  EXPECT_EQ(image({"python"}), "vercel/sandbox/python:3.14");
  EXPECT_EQ(image({"javascript"}), "vercel/sandbox/node:22");
  EXPECT_EQ(image({"python", "javascript"}), "vercel/sandbox/universal");
  const Variables own = {{"VERCEL_SANDBOX_IMAGE_PYTHON", "vcr/p:1"},
                         {"VERCEL_SANDBOX_IMAGE_JAVASCRIPT", "vcr/j:1"}};
  EXPECT_EQ(image({"python"}, own), "vcr/p:1");
  EXPECT_EQ(image({"javascript"}, own), "vcr/j:1");
  EXPECT_EQ(image({"python"}, own, R"({"imagePython":"vcr/p:2"})"), "vcr/p:2");
  // The older names of runtimes are not read any more.
  EXPECT_EQ(image({"python"}, {{"VERCEL_SANDBOX_RUNTIME_PYTHON", "python3.13"}}),
            "vercel/sandbox/python:3.14");
  spec.image = "vcr/asked@sha256:00";
  EXPECT_EQ(image({"python"}, own), "vcr/asked@sha256:00");
}

TEST(VercelCreate, RefusesAnImageThatIsNoneWhenItOpens) {
  const auto failure = failure_of([] {
    settings_of({{"VERCEL_SANDBOX_IMAGE_PYTHON", "two words"}});
  });
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code(), Code::kInvalidArgument);
  EXPECT_THAT(failure->message(), HasSubstr("VERCEL_SANDBOX_IMAGE_PYTHON"));
}

TEST(VercelCreate, GivesTheResourcesThatThereAreAndRefusesAllOthers) {
  const auto cpus = [](std::uint32_t cpu_millis, std::uint64_t memory_gib) {
    CreateSpec spec;
    spec.limits.cpu_millis = cpu_millis;
    spec.limits.memory_bytes = memory_gib << 30;
    return body_of(spec).at("resources").at("vcpus").to_number<int>();
  };
  EXPECT_EQ(cpus(0, 0), 2);
  EXPECT_EQ(cpus(1000, 0), 1);
  EXPECT_EQ(cpus(4000, 8), 4);
  EXPECT_EQ(cpus(0, 2), 1);
  EXPECT_EQ(cpus(32'000, 64), 32);
  const std::pair<std::uint32_t, std::uint64_t> refused[] = {{500, 0}, {3000, 0}, {2000, 2},
                                                             {0, 1},   {0, 3},    {34'000, 0}};
  for (const auto& [cpu, memory] : refused) {
    const auto failure = failure_of([&, c = cpu, m = memory] { cpus(c, m); });
    ASSERT_TRUE(failure.has_value()) << cpu << " " << memory;
    EXPECT_EQ(failure->code(), Code::kUnsupported);
  }
  CreateSpec spec;
  spec.limits.disk_bytes = 1;
  EXPECT_TRUE(failure_of([&] { body_of(spec); }).has_value());
}

TEST(VercelModel, ReadsStatesAndNumbersThatItDoesNotKnowTheCarefulWay) {
  EXPECT_EQ(state_of(phase_of("defrosting")), SandboxState::kUnknown);
  EXPECT_EQ(state_of(phase_of("snapshotting")), SandboxState::kUnknown);
  EXPECT_TRUE(is_terminal(phase_of("aborted")));
  const auto answer =
      json::parse(R"({"sandbox":{"name":"a","status":7,"createdAt":"x","persistent":"no","new":1},)"
                  R"("session":{"id":"sbx_1","status":"running","duration":-1}})");
  const auto sandbox = sandbox_of(answer);
  ASSERT_TRUE(sandbox.has_value());
  EXPECT_EQ(sandbox->status, "running");
  EXPECT_EQ(sandbox->created_unix_ms, 0u);
  EXPECT_FALSE(sandbox->persistent.has_value());
  EXPECT_FALSE(sandbox_of(json::parse(R"({"sandbox":{"name":"a"}})")).has_value());
  EXPECT_FALSE(sandbox_of(json::parse(R"([1])")).has_value());
}

TEST(VercelEvents, ReadsLinesThatAreCutAnywhereAndPassesOverWhatItDoesNotKnow) {
  const std::string stream =
      R"({"command":{"id":"cmd_1","exitCode":null}})"
      "\n"
      R"({"stream":"stdout","data":"\u00e4)"
      "\xc3\xa4"
      R"("})"
      "\nnot json\n"
      R"({"stream":"system","data":"x"})"
      "\n\n"
      R"({"stream":"error","data":{"code":"sandbox_stream_closed","message":"m"}})"
      "\n"
      R"({"command":{"id":"cmd_1","exitCode":3,"durationMs":212}})";
  for (std::size_t piece = 1; piece < stream.size(); ++piece) {
    EventReader reader;
    for (std::size_t at = 0; at < stream.size(); at += piece) reader.put(stream.substr(at, piece));
    reader.end();
    const auto events = reader.take();
    ASSERT_EQ(events.size(), 4u) << piece;
    EXPECT_EQ(events[0].id, "cmd_1");
    EXPECT_FALSE(events[0].exit_code.has_value());
    EXPECT_EQ(events[1].data, "\xc3\xa4\xc3\xa4");
    EXPECT_EQ(events[2].code, "sandbox_stream_closed");
    EXPECT_EQ(events[3].exit_code, 3);
    EXPECT_EQ(events[3].duration_ms, 212u);
  }
}

std::string taken(RunnerOutput& output) {
  std::string out;
  for (const Piece& piece : output.take())
    out += (piece.stream == Stream::kStdout ? "o:" : "e:") + piece.bytes + ";";
  return out;
}

TEST(VercelRunnerOutput, GivesBytesOnceHoweverOftenTheStreamBegins) {
  RunnerOutput output(0, 0);
  output.put(Stream::kStdout, ":YWJj\n:ZG");
  output.put(Stream::kStderr, ":ZQ==\nsh: a warning\n");
  EXPECT_EQ(taken(output), "o:abc;e:e;");
  EXPECT_FALSE(output.result().has_value());
  output.begin_again();
  output.put(Stream::kStdout, ":YWJjZA==\n:ZWY=\n~exited 3 6 1\n");
  EXPECT_EQ(taken(output), "o:d;o:ef;");
  ASSERT_TRUE(output.result().has_value());
  EXPECT_EQ(output.result()->exit_code, 3);
  EXPECT_THAT(output.other(), HasSubstr("a warning"));
}

TEST(VercelRunnerOutput, AnEndIsNoneBeforeEverythingThatWasSentHasCome) {
  RunnerOutput output(2, 0);
  output.put(Stream::kStdout, ":YWJj\n~signalled 9 100 1\n");
  EXPECT_FALSE(output.result().has_value());  // a byte of the errors is still to come
  output.put(Stream::kStderr, ":ZQ==\n");
  ASSERT_TRUE(output.result().has_value());
  EXPECT_EQ(output.result()->cause, Cause::kSignalled);
  EXPECT_EQ(output.result()->signal, 9u);
  EXPECT_EQ(output.result()->stdout_bytes, 100u);
}

TEST(VercelEncoding, ReadsBothAlphabetsAndRefusesWhatIsNeither) {
  EXPECT_EQ(from_base64("-_8="), "\xfb\xff");
  EXPECT_EQ(from_base64("+/8"), "\xfb\xff");
  EXPECT_EQ(from_base64(""), "");
  for (const char* wrong : {"a", "a b=", "====", "YWJj!"})
    EXPECT_FALSE(from_base64(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace berth::vercel
