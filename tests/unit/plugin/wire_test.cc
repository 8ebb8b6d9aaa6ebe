// The wire carries what it is given, and nothing that it is given can break its reader.
#include <gtest/gtest.h>

#include <random>

#include "core/plugin/wire.h"

namespace berth::plugin {
namespace {

std::string payload_of(const std::string& frame) {
  std::size_t used = 0;
  const auto found = next_frame(frame, used);
  EXPECT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ(used, frame.size());
  return std::string((*found)->payload);
}

Request a_request() {
  Request request;
  request.slot = Slot::kRun;
  request.deadline = Instant(std::chrono::nanoseconds(123456789));
  RunCall call;
  call.ref = "ref";
  call.command.argv = {"python3", "-c", "print(1)"};
  call.command.env = {{"A", "1"}, {"B", ""}};
  call.command.cwd = "/work";
  call.command.timeout = std::chrono::seconds(7);
  call.command.stdout_cap_bytes = 99;
  call.command.limits.memory_bytes = 1 << 20;
  request.arguments = call;
  return request;
}

std::vector<std::pair<Slot, Reply>> replies() {
  std::vector<std::pair<Slot, Reply>> out;
  const auto add = [&](Slot slot, ReplyValue value) {
    Reply reply{Outcome::make_done(), std::move(value)};
    reply.outcome.stage = "done with it";
    out.emplace_back(slot, std::move(reply));
  };
  add(Slot::kOpen, std::monostate{});
  add(Slot::kProbe, ProbeReport{true, "backend 1", {{"gpu", true, ""}}, {{false, "kvm", "no", "mend it"}}});
  add(Slot::kScope, Scope{{"account", "a"}, {"endpoint", "b"}});
  add(Slot::kCreate, Created{"berth-1", "ref", {{"account", "a"}}});
  Found found;
  found.presence = Presence::kPresent;
  found.ref = "ref";
  found.created_at = wall_time_from_unix_ms(1700000000000);
  add(Slot::kLookup, found);
  RunEnd end;
  end.cause = Cause::kSignalled;
  end.signal = 9;
  end.stdout_bytes = 5;
  end.usage.cpu_ns = 77;
  add(Slot::kRun, end);
  add(Slot::kGetFile, FileGot{0644, 12});
  add(Slot::kDestroy, Destroyed{});
  ListPage page;
  page.items.push_back({"berth-1", "ref", "holder", SandboxState::kReady, std::nullopt});
  page.next_cursor = "next";
  add(Slot::kListOwned, page);
  out.emplace_back(Slot::kCreate, reply_of(OutcomeClass::kRejected, OutcomeCode::kQuota, "too many"));
  return out;
}

TEST(Wire, ARequestArrivesAsItWasSent) {
  const auto request = decode_start(payload_of(encode_start(5, a_request())));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(encode_start(5, *request), encode_start(5, a_request()));
  const auto& call = std::get<RunCall>(request->arguments);
  EXPECT_EQ(call.command.argv[2], "print(1)");
  EXPECT_EQ(call.command.timeout, std::chrono::seconds(7));
  EXPECT_EQ(call.command.input, nullptr);
}

TEST(Wire, EveryReplyArrivesAsItWasSent) {
  for (const auto& [slot, reply] : replies()) {
    const std::string frame = encode_reply(9, slot, reply);
    const auto decoded = decode_reply(slot, payload_of(frame));
    ASSERT_TRUE(decoded.has_value()) << to_string(slot);
    EXPECT_EQ(encode_reply(9, slot, *decoded), frame) << to_string(slot);
  }
}

TEST(Wire, AReplyForAnotherSlotIsRefused) {
  const auto all = replies();
  EXPECT_FALSE(decode_reply(Slot::kLookup, payload_of(encode_reply(9, all[3].first, all[3].second))));
}

TEST(Wire, AFrameLongerThanAnyIsRefusedBeforeItIsThere) {
  const auto header = frame_header(FrameType::kOutput, 1, kFramePayloadMax + 1);
  std::size_t used = 0;
  EXPECT_FALSE(next_frame({header.data(), header.size()}, used).has_value());
}

TEST(Wire, APartOfAFrameIsWaitedFor) {
  const std::string frame = encode_start(5, a_request());
  for (std::size_t size = 0; size < frame.size(); ++size) {
    std::size_t used = 0;
    const auto found = next_frame(std::string_view(frame).substr(0, size), used);
    ASSERT_TRUE(found.has_value());
    EXPECT_FALSE(found->has_value());
  }
}

// Every message with bytes changed at random is read or refused, and what is read can be sent again.
TEST(Wire, ChangedMessagesAreReadOrRefused) {
  std::mt19937 random(20260101);
  std::vector<std::string> payloads{payload_of(encode_start(5, a_request()))};
  for (const auto& [slot, reply] : replies()) payloads.push_back(payload_of(encode_reply(9, slot, reply)));
  payloads.push_back(payload_of(encode_findings(
      FrameType::kRefused, {{registry::Severity::kRefusal, "NEG-001", "a", "b", "c"}})));
  payloads.push_back(payload_of(encode_hello(Hello{})));
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = payloads[random() % payloads.size()];
    for (unsigned change = random() % 4; change > 0 && !bytes.empty(); --change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    const auto request = decode_start(bytes);
    if (request) {
      EXPECT_TRUE(decode_start(payload_of(encode_start(1, *request))).has_value());
    }
    const Slot slot = static_cast<Slot>(random() % kSlotCount);
    auto reply = decode_reply(slot, bytes);
    if (reply) {
      std::vector<Violation> violations;
      check_reply(slot, *reply, violations);
      EXPECT_TRUE(decode_reply(slot, payload_of(encode_reply(1, slot, *reply))).has_value());
    } else {
      ++refused;
    }
    static_cast<void>(decode_findings(bytes));
    static_cast<void>(decode_hello(bytes));
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace berth::plugin
