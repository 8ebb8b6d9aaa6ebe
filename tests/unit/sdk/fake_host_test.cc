// The fake host has to see what it promises to see: each breach is committed here on purpose.
#include "berth/testing/fake_host.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "berth/provider.hpp"
#include "tests/unit/sdk/sample_provider.h"

namespace berth::tests {
namespace {

using testing::FakeHost;

// A provider whose `probe`, `run` and `get_file` do what a test says; the rest is Sample's.
class Breaker {
 public:
  using Act = std::function<void(const berth_host_v1&, berth_op)>;

  explicit Breaker(Act act) { act_ = std::move(act); }

  static std::uint32_t entry(const berth_offer* offer, berth_reply* reply) {
    host_ = *offer->host;
    table_.struct_size = sizeof table_;
    table_.probe = [](void*, berth_op op) { act_(host_, op); };
    table_.lookup = [](void*, berth_op op, berth_str) { act_(host_, op); };
    table_.run = [](void*, berth_op op, berth_str, const berth_command*) { act_(host_, op); };
    table_.shutdown = [](void*, berth_op op) {
      berth_outcome outcome{};
      outcome.struct_size = sizeof outcome;
      outcome.outcome_class = BERTH_DONE;
      host_.op_complete(host_.ctx, op, &outcome);
    };
    reply->provider = &table_;
    return 0;
  }

  static void complete(const berth_host_v1& host, berth_op op, berth_outcome_class outcome_class,
                       const void* result = nullptr) {
    berth_outcome outcome{};
    outcome.struct_size = sizeof outcome;
    outcome.outcome_class = outcome_class;
    outcome.message = {"m", 1};
    outcome.result = result;
    host.op_complete(host.ctx, op, &outcome);
  }

 private:
  static inline berth_provider_v1 table_{};
  static inline berth_host_v1 host_{};
  static inline Act act_;
};

// True when exactly one breach was seen, of this clause.
::testing::AssertionResult only(FakeHost& host, std::string_view clause) {
  const auto violations = host.violations();
  if (violations.size() == 1 && violations[0].find(clause) != std::string::npos)
    return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure() << violations.size() << " violations";
  for (const auto& violation : violations) failure << "; " << violation;
  return failure;
}

TEST(FakeHost, SeesASecondCompletion) {
  Breaker breaker([](const auto& host, berth_op op) {
    Breaker::complete(host, op, BERTH_REJECTED);
    Breaker::complete(host, op, BERTH_REJECTED);
  });
  FakeHost host(&Breaker::entry);
  host.probe();
  EXPECT_TRUE(only(host, "OP-002"));
}

TEST(FakeHost, SeesOutputAfterCompletion) {
  Breaker breaker([](const auto& host, berth_op op) {
    Breaker::complete(host, op, BERTH_REJECTED);
    host.output(host.ctx, op, BERTH_STREAM_STDOUT, {nullptr, 0});
  });
  FakeHost host(&Breaker::entry);
  host.run("ref", {});
  EXPECT_TRUE(only(host, "OP-002"));
}

TEST(FakeHost, SeesDoneWithoutAResult) {
  Breaker breaker([](const auto& host, berth_op op) { Breaker::complete(host, op, BERTH_DONE); });
  FakeHost host(&Breaker::entry);
  host.probe();
  EXPECT_TRUE(only(host, "OUT-004"));
}

TEST(FakeHost, SeesAnUnknownClass) {
  Breaker breaker([](const auto& host, berth_op op) { Breaker::complete(host, op, 99); });
  FakeHost host(&Breaker::entry);
  host.probe();
  EXPECT_TRUE(only(host, "OUT-001"));
}

TEST(FakeHost, SeesALookupThatClaimsAFence) {
  Breaker breaker([](const auto& host, berth_op op) {
    berth_lookup_result result{};
    result.struct_size = sizeof result;
    result.presence = BERTH_PRESENCE_ABSENT_FENCED;
    Breaker::complete(host, op, BERTH_DONE, &result);
  });
  FakeHost host(&Breaker::entry);
  host.lookup("berth-1");
  EXPECT_TRUE(only(host, "KEY-004"));
}

TEST(FakeHost, SeesOutputWhilePaused) {
  Breaker breaker([](const auto& host, berth_op op) {
    const std::uint8_t bytes[4] = {};
    EXPECT_EQ(host.output(host.ctx, op, BERTH_STREAM_STDOUT, {bytes, 4}), BERTH_OUTPUT_PAUSE);
    host.output(host.ctx, op, BERTH_STREAM_STDOUT, {bytes, 4});
    Breaker::complete(host, op, BERTH_REJECTED);
  });
  FakeHost host(&Breaker::entry);
  host.behave({.pause_every_bytes = 4});
  host.run("ref", {});
  EXPECT_TRUE(only(host, "STRM-004"));
}

TEST(FakeHost, SeesOutputPastTheCap) {
  Breaker breaker([](const auto& host, berth_op op) {
    const std::uint8_t bytes[4] = {};
    EXPECT_EQ(host.output(host.ctx, op, BERTH_STREAM_STDOUT, {bytes, 4}), BERTH_OUTPUT_LIMIT);
    host.output(host.ctx, op, BERTH_STREAM_STDOUT, {bytes, 4});
    Breaker::complete(host, op, BERTH_REJECTED);
  });
  FakeHost host(&Breaker::entry);
  host.behave({.stdout_limit_bytes = 4});
  EXPECT_EQ(host.run("ref", {}).out.size(), 4u);
  EXPECT_TRUE(only(host, "STRM-005"));
}

TEST(FakeHost, SeesAStreamThatTheSlotDoesNotHave) {
  Breaker breaker([](const auto& host, berth_op op) {
    host.output(host.ctx, op, BERTH_STREAM_FILE, {nullptr, 0});
    Breaker::complete(host, op, BERTH_REJECTED);
  });
  FakeHost host(&Breaker::entry);
  host.run("ref", {});
  EXPECT_TRUE(only(host, "STRM-001"));
}

TEST(FakeHost, SeesAChunkThatIsTooLarge) {
  Breaker breaker([](const auto& host, berth_op op) {
    const std::string bytes(BERTH_OUTPUT_CHUNK_MAX_BYTES + 1, 'x');
    host.output(host.ctx, op, BERTH_STREAM_STDOUT,
                {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    Breaker::complete(host, op, BERTH_REJECTED);
  });
  FakeHost host(&Breaker::entry);
  host.run("ref", {});
  EXPECT_TRUE(only(host, "MEM-006"));
}

TEST(FakeHost, SeesASecretThatIsNotDeclared) {
  Breaker breaker([](const auto& host, berth_op op) {
    const auto ignore = [](void*, const char*, std::uint64_t) {};
    EXPECT_EQ(host.secret_get(host.ctx, {"KNOWN", 5}, ignore, nullptr), 1u);
    EXPECT_EQ(host.secret_get(host.ctx, {"DECLARED", 8}, ignore, nullptr), 0u);
    EXPECT_EQ(host.secret_get(host.ctx, {"OTHER", 5}, ignore, nullptr), 0u);
    Breaker::complete(host, op, BERTH_REJECTED);
  });
  FakeHost host(&Breaker::entry);
  host.set_secret("KNOWN", "1");
  host.declare_secret("DECLARED");
  host.probe();
  EXPECT_TRUE(only(host, "SCOPE-004"));
}

TEST(FakeHost, SeesAShutdownThatDidNotWait) {
  Breaker breaker([](const auto&, berth_op) {});
  FakeHost host(&Breaker::entry);
  host.start_probe();
  EXPECT_TRUE(host.shutdown().done());
  EXPECT_TRUE(only(host, "SHUT-001"));
}

TEST(FakeHost, SeesAnOperationThatItNeverIssued) {
  Breaker breaker([](const auto& host, berth_op op) {
    Breaker::complete(host, op + 1000, BERTH_REJECTED);
    Breaker::complete(host, op, BERTH_REJECTED);
  });
  FakeHost host(&Breaker::entry);
  host.probe();
  EXPECT_TRUE(only(host, "OP-001"));
}

}  // namespace
}  // namespace berth::tests
