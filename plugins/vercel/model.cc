#include "plugins/vercel/model.h"

#include <boost/json/value.hpp>

namespace berth::vercel {
namespace {

namespace json = boost::json;

const json::value* member(const json::object& object, std::string_view key) {
  return object.if_contains(json::string_view(key.data(), key.size()));
}

std::uint64_t counter(const json::object& object, std::string_view key, std::uint64_t unit) {
  const json::value* value = member(object, key);
  if (value == nullptr || !value->is_number()) return BERTH_USAGE_UNKNOWN;
  return number_of(object, key) * unit;
}

constexpr std::uint64_t kNsPerMs = 1'000'000;

std::optional<Usage> usage_of_session(const json::object& session, std::uint64_t epoch) {
  Usage usage;
  usage.epoch = epoch;
  usage.wall_ns = counter(session, "duration", kNsPerMs);
  usage.cpu_ns = counter(session, "activeCpuDurationMs", kNsPerMs);
  if (const json::value* transfer = member(session, "networkTransfer");
      transfer != nullptr && transfer->is_object())
    usage.network_egress_bytes = counter(transfer->get_object(), "egress", 1);
  if (usage.wall_ns == BERTH_USAGE_UNKNOWN && usage.cpu_ns == BERTH_USAGE_UNKNOWN)
    return std::nullopt;
  return usage;
}

std::optional<Usage> usage_of_sandbox(const json::object& sandbox, std::uint64_t epoch) {
  Usage usage;
  usage.epoch = epoch;
  usage.wall_ns = counter(sandbox, "totalDurationMs", kNsPerMs);
  usage.cpu_ns = counter(sandbox, "totalActiveCpuDurationMs", kNsPerMs);
  usage.network_egress_bytes = counter(sandbox, "totalEgressBytes", 1);
  if (usage.wall_ns == BERTH_USAGE_UNKNOWN && usage.cpu_ns == BERTH_USAGE_UNKNOWN)
    return std::nullopt;
  return usage;
}

std::optional<Session> described_session(const json::object& object) {
  Session out;
  out.id = text_of(object, "id");
  out.status = text_of(object, "status");
  out.project = text_of(object, "projectId");
  if (out.id.empty()) return std::nullopt;
  if (is_terminal(phase_of(out.status)))
    out.usage = usage_of_session(object, number_of(object, "createdAt"));
  return out;
}

}  // namespace

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = member(object, key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_of(const json::object& object, std::string_view key) {
  const json::value* value = member(object, key);
  if (value == nullptr) return 0;
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_int64() && value->get_int64() > 0)
    return static_cast<std::uint64_t>(value->get_int64());
  constexpr double kExactMost = 9007199254740992.0;
  if (value->is_double() && value->get_double() > 0 && value->get_double() < kExactMost)
    return static_cast<std::uint64_t>(value->get_double());
  return 0;
}

const json::object* object_of(const json::value& value, std::string_view key) {
  const auto* object = value.if_object();
  const json::value* found = object == nullptr ? nullptr : member(*object, key);
  return found == nullptr ? nullptr : found->if_object();
}

Phase phase_of(std::string_view status) {
  if (status == "pending") return Phase::kStarting;
  if (status == "running") return Phase::kReady;
  if (status == "stopping" || status == "snapshotting") return Phase::kEnding;
  if (status == "stopped") return Phase::kOver;
  if (status == "failed" || status == "aborted") return Phase::kBroken;
  // What is not known may become anything, so it is looked at again.
  return Phase::kUnknown;
}

SandboxState state_of(Phase phase) {
  switch (phase) {
    case Phase::kStarting:
      return SandboxState::kStarting;
    case Phase::kReady:
      return SandboxState::kReady;
    case Phase::kOver:
      return SandboxState::kStopped;
    case Phase::kBroken:
      return SandboxState::kBroken;
    case Phase::kEnding:
    case Phase::kUnknown:
      return SandboxState::kUnknown;
  }
  return SandboxState::kUnknown;
}

std::optional<Sandbox> listed_sandbox(const json::value& element) {
  const auto* object = element.if_object();
  if (object == nullptr) return std::nullopt;
  Sandbox out;
  out.name = text_of(*object, "name");
  out.status = text_of(*object, "status");
  out.session = text_of(*object, "currentSessionId");
  out.created_unix_ms = number_of(*object, "createdAt");
  if (const json::value* persistent = member(*object, "persistent");
      persistent != nullptr && persistent->is_bool())
    out.persistent = persistent->get_bool();
  if (const json::value* tags = member(*object, "tags"); tags != nullptr && tags->is_object()) {
    out.owner = text_of(tags->get_object(), kOwnerTag);
    out.tagged = !out.owner.empty();
  }
  out.usage = usage_of_sandbox(*object, out.created_unix_ms);
  if (out.name.empty()) return std::nullopt;
  return out;
}

std::optional<Sandbox> sandbox_of(const json::value& answer) {
  const auto* outer = answer.if_object();
  const json::value* described = outer == nullptr ? nullptr : member(*outer, "sandbox");
  if (described == nullptr) return std::nullopt;
  auto out = listed_sandbox(*described);
  if (!out) return std::nullopt;
  if (const auto session = session_of(answer)) {
    out->session = session->id;
    if (!session->status.empty()) out->status = session->status;
    out->project = session->project;
    if (!out->usage) out->usage = session->usage;
  }
  if (out->session.empty()) return std::nullopt;
  return out;
}

std::optional<Session> session_of(const json::value& answer) {
  const auto* object = object_of(answer, "session");
  return object == nullptr ? std::nullopt : described_session(*object);
}

}  // namespace berth::vercel
