#include "core/plugin/abi_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/json.h"

namespace berth::plugin {
namespace {

constexpr std::uint64_t kShortTextMax = 4096;
constexpr std::uint64_t kScopeFieldsMax = 16;
constexpr std::uint32_t kElementBytesMax = 65536;
constexpr std::uint64_t kProbeListMax = 1024;

// Every T of version 1.0 has this size; a shorter one was never allowed.
template <class T>
bool copy_struct(const void* from, T& into) {
  if (from == nullptr) return false;
  std::uint32_t size = 0;
  std::memcpy(&size, from, sizeof size);
  if (size < sizeof(T) || size > kElementBytesMax) return false;
  std::memcpy(static_cast<void*>(&into), from, sizeof(T));
  return true;
}

class Taker {
 public:
  explicit Taker(std::vector<Violation>& violations) : violations_(violations) {}

  bool good() const { return good_; }

  void bad(std::string_view clause, std::string text) {
    good_ = false;
    violations_.push_back({std::string(clause), std::move(text)});
  }

  std::string text(berth_str value, std::uint64_t bytes_max, std::string_view what) {
    if (value.len == 0) return {};
    if (value.ptr == nullptr) {
      bad("MEM-001", fmt::format("{} has a length but no address", what));
      return {};
    }
    if (value.len > bytes_max) {
      bad("MEM-006", fmt::format("{} has {} bytes; at most {} are allowed", what, value.len, bytes_max));
      return {};
    }
    std::string out(value.ptr, static_cast<std::size_t>(value.len));
    if (!is_valid_utf8(out) || out.find('\0') != std::string::npos) {
      bad("MEM-005", fmt::format("{} is not UTF-8 without NUL characters", what));
      return {};
    }
    return out;
  }

  // Messages are for people: a long one is cut and a damaged one mended, not refused.
  std::string message(berth_str value) {
    if (value.len == 0 || value.ptr == nullptr) return {};
    return bounded_message({value.ptr, static_cast<std::size_t>(value.len)});
  }

  template <class T>
  bool structure(const void* from, T& into, std::string_view what) {
    if (copy_struct(from, into)) return true;
    bad("OUT-004", fmt::format("{} is missing or smaller than version 1.0 of it", what));
    return false;
  }

  void zero(std::uint32_t reserved, std::string_view what) {
    if (reserved != 0) bad("MEM-004", fmt::format("a reserved field of {} is not zero", what));
  }

  // Calls `take` with a copy of each element of a list whose stride its first element says.
  template <class T, class Take>
  void list(const T* items, std::uint64_t count, std::uint64_t count_max, std::string_view what,
            Take take) {
    if (count == 0 || !good_) return;
    if (count > count_max)
      return bad("MEM-006", fmt::format("{} has {} elements; at most {} are allowed", what, count, count_max));
    T first;
    if (!structure(items, first, what)) return;
    const auto* at = reinterpret_cast<const unsigned char*>(items);
    for (std::uint64_t i = 0; i < count && good_; ++i, at += first.struct_size) {
      T element;
      if (!structure(at, element, what)) return;
      if (element.struct_size != first.struct_size)
        return bad("MEM-003", fmt::format("the elements of {} differ in size", what));
      take(element);
    }
  }

  Scope scope(berth_pair_list pairs) {
    Scope out;
    if (pairs.count > kScopeFieldsMax || (pairs.count > 0 && pairs.items == nullptr)) {
      bad("SCOPE-001", fmt::format("a scope of {} fields; 1 to {} are allowed", pairs.count, kScopeFieldsMax));
      return out;
    }
    for (std::uint64_t i = 0; i < pairs.count; ++i)
      out.emplace_back(text(pairs.items[i].key, 64, "a scope field's name"),
                       text(pairs.items[i].value, kShortTextMax, "a scope field's value"));
    return out;
  }

  UsageCounters usage(const berth_usage* from) {
    UsageCounters out;
    if (from == nullptr) return out;
    berth_usage raw;
    if (!structure(from, raw, "the usage")) return out;
    zero(raw.reserved, "the usage");
    const auto known = [](std::uint64_t value) {
      return value == BERTH_USAGE_UNKNOWN ? std::nullopt : std::optional(value);
    };
    out.epoch = raw.epoch;
    out.wall_ns = known(raw.wall_ns);
    out.cpu_ns = known(raw.cpu_ns);
    out.memory_peak_bytes = known(raw.memory_peak_bytes);
    out.network_egress_bytes = known(raw.network_egress_bytes);
    out.cost_micro_usd = known(raw.cost_micro_usd);
    return out;
  }

  SandboxState state(berth_sandbox_state value) {
    if (value > BERTH_STATE_BROKEN)
      bad("OUT-005", fmt::format("sandbox state {} is none that this host knows", value));
    return good_ ? static_cast<SandboxState>(value) : SandboxState::kUnknown;
  }

  static std::optional<WallTime> time(std::uint64_t unix_milliseconds) {
    if (unix_milliseconds == 0 || unix_milliseconds > std::uint64_t{1} << 50) return std::nullopt;
    return wall_time_from_unix_ms(static_cast<std::int64_t>(unix_milliseconds));
  }

 private:
  std::vector<Violation>& violations_;
  bool good_ = true;
};

ProbeReport take_probe(Taker& taker, const void* result) {
  ProbeReport out;
  berth_probe_result raw;
  if (!taker.structure(result, raw, "the probe result")) return out;
  out.usable = raw.usable == 1;
  if (raw.usable > 1) taker.bad("OUT-005", "usable is neither 0 nor 1");
  out.backend = taker.text(raw.backend, kShortTextMax, "the backend");
  taker.list(raw.capabilities, raw.capability_count, kProbeListMax, "the probed capabilities",
             [&](const berth_capability& item) {
               out.capabilities.push_back({taker.text(item.id, 128, "a capability's id"),
                                           item.available == 1, taker.message(item.reason)});
             });
  taker.list(raw.items, raw.item_count, kProbeListMax, "the probe items",
             [&](const berth_probe_item& item) {
               out.items.push_back({item.ok == 1, taker.text(item.name, 128, "a probe item's name"),
                                    taker.message(item.detail), taker.message(item.remedy)});
             });
  return out;
}

Created take_created(Taker& taker, const void* result) {
  Created out;
  berth_create_result raw;
  if (!taker.structure(result, raw, "the create result")) return out;
  taker.zero(raw.reserved, "the create result");
  out.name = taker.text(raw.name, BERTH_REF_MAX_BYTES, "the name");
  out.ref = taker.text(raw.ref, BERTH_REF_MAX_BYTES, "the reference");
  out.scope = taker.scope(raw.scope);
  if (out.ref.empty() || out.name.empty())
    taker.bad("OUT-006", "a created sandbox has no name or no reference");
  return out;
}

Found take_found(Taker& taker, const void* result) {
  Found out;
  berth_lookup_result raw;
  if (!taker.structure(result, raw, "the lookup result")) return out;
  taker.zero(raw.reserved, "the lookup result");
  if (raw.presence > BERTH_PRESENCE_ABSENT_FENCED)
    taker.bad("OUT-005", fmt::format("presence {} is none that this host knows", raw.presence));
  else
    out.presence = static_cast<Presence>(raw.presence);
  out.state = taker.state(raw.state);
  out.name = taker.text(raw.name, BERTH_REF_MAX_BYTES, "the name");
  out.ref = taker.text(raw.ref, BERTH_REF_MAX_BYTES, "the reference");
  out.scope = taker.scope(raw.scope);
  out.created_at = Taker::time(raw.created_unix_ms);
  return out;
}

RunEnd take_run(Taker& taker, const void* result) {
  RunEnd out;
  berth_run_result raw;
  if (!taker.structure(result, raw, "the run result")) return out;
  if (raw.cause > BERTH_CAUSE_LOST)
    taker.bad("OUT-005", fmt::format("cause {} is none that this host knows", raw.cause));
  else
    out.cause = static_cast<Cause>(raw.cause);
  if (out.cause == Cause::kExited) out.exit_code = raw.exit_code;
  if (raw.signal > 0 && raw.signal < 1024) out.signal = static_cast<int>(raw.signal);
  out.stdout_bytes = raw.stdout_bytes;
  out.stderr_bytes = raw.stderr_bytes;
  out.usage = taker.usage(raw.usage);
  return out;
}

FileGot take_file(Taker& taker, const void* result) {
  berth_get_file_result raw;
  if (!taker.structure(result, raw, "the get_file result")) return {};
  return {raw.mode, raw.size_bytes};
}

Destroyed take_destroyed(Taker& taker, const void* result) {
  if (result == nullptr) return {};
  berth_destroy_result raw;
  if (!taker.structure(result, raw, "the destroy result")) return {};
  taker.zero(raw.reserved, "the destroy result");
  return {taker.usage(raw.usage)};
}

ListPage take_page(Taker& taker, const void* result) {
  ListPage out;
  berth_list_result raw;
  if (!taker.structure(result, raw, "the list result")) return out;
  taker.list(raw.items, raw.item_count, BERTH_LIST_MAX_ITEMS, "the list",
             [&](const berth_listed& item) {
               Listed listed;
               listed.state = taker.state(item.state);
               listed.name = taker.text(item.name, BERTH_REF_MAX_BYTES, "a name in the list");
               listed.ref = taker.text(item.ref, BERTH_REF_MAX_BYTES, "a reference in the list");
               listed.created_at = Taker::time(item.created_unix_ms);
               listed.holder = taker.text(item.holder, BERTH_REF_MAX_BYTES, "a holder in the list");
               out.items.push_back(std::move(listed));
             });
  if (raw.complete > 1) taker.bad("OUT-005", "complete is neither 0 nor 1");
  if (raw.complete == 0) {
    out.next_cursor = taker.text(raw.next_cursor, kShortTextMax, "the cursor");
    if (out.next_cursor.empty()) taker.bad("CLEAN-005", "an incomplete list has no cursor");
  }
  return out;
}

Scope take_scope(Taker& taker, const void* result) {
  berth_scope_result raw;
  if (!taker.structure(result, raw, "the scope result")) return {};
  taker.zero(raw.reserved, "the scope result");
  Scope out = taker.scope(raw.fields);
  if (out.empty()) taker.bad("SCOPE-001", "the scope has no field");
  return out;
}

ReplyValue take_value(Taker& taker, Slot slot, const void* result) {
  switch (slot) {
    case Slot::kProbe: return take_probe(taker, result);
    case Slot::kScope: return take_scope(taker, result);
    case Slot::kCreate: return take_created(taker, result);
    case Slot::kLookup:
    case Slot::kFence: return take_found(taker, result);
    case Slot::kRun: return take_run(taker, result);
    case Slot::kGetFile: return take_file(taker, result);
    case Slot::kDestroy: return take_destroyed(taker, result);
    case Slot::kListOwned: return take_page(taker, result);
    case Slot::kOpen:
    case Slot::kPutFile:
    case Slot::kShutdown: return std::monostate{};
  }
  return std::monostate{};
}

Reply bad_reply(Slot slot, OutcomeCode code, const std::vector<Violation>& violations) {
  std::string why = violations.empty() ? std::string("it makes no sense") : violations.back().text;
  return reply_of(OutcomeClass::kUncertain, code,
                  fmt::format("the provider's answer to {} cannot be used: {}", to_string(slot), why));
}

// The index of the value's type that goes with a slot's DONE.
std::size_t value_index(Slot slot) {
  switch (slot) {
    case Slot::kProbe: return 1;
    case Slot::kScope: return 2;
    case Slot::kCreate: return 3;
    case Slot::kLookup:
    case Slot::kFence: return 4;
    case Slot::kRun: return 5;
    case Slot::kGetFile: return 6;
    case Slot::kDestroy: return 7;
    case Slot::kListOwned: return 8;
    case Slot::kOpen:
    case Slot::kPutFile:
    case Slot::kShutdown: return 0;
  }
  return 0;
}

}  // namespace

std::string bounded_message(std::string_view text) {
  constexpr std::string_view kMore = "...";
  const bool cut = text.size() > BERTH_MESSAGE_MAX_BYTES;
  if (cut) {
    std::size_t end = BERTH_MESSAGE_MAX_BYTES - kMore.size();
    // Not inside a character.
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end);
  }
  std::string out = to_valid_utf8(text);
  std::replace(out.begin(), out.end(), '\0', ' ');
  return cut ? out.append(kMore) : out;
}

void check_reply(Slot slot, Reply& reply, std::vector<Violation>& violations) {
  const bool done = reply.outcome.done();
  if (reply.value.index() != (done ? value_index(slot) : 0)) {
    violations.push_back({"OUT-004", "the answer's result is not that of its slot"});
    reply = bad_reply(slot, OutcomeCode::kHostBadReply, violations);
    return;
  }
  const auto* found = std::get_if<Found>(&reply.value);
  if (!done || found == nullptr) return;
  const bool fenced = found->presence == Presence::kAbsentFenced;
  if (slot == Slot::kLookup && fenced)
    violations.push_back({"KEY-004", "lookup answered ABSENT_FENCED, which only fence may say"});
  else if (slot == Slot::kFence &&
           (found->presence == Presence::kAbsentNow || found->presence == Presence::kInProgress))
    violations.push_back({"FENCE-001", "fence answered neither ABSENT_FENCED, PRESENT nor UNKNOWN"});
  else
    return;
  reply = bad_reply(slot, OutcomeCode::kHostBadReply, violations);
}

Reply take_reply(Slot slot, const berth_outcome* outcome, std::vector<Violation>& violations) {
  Taker taker(violations);
  berth_outcome raw;
  if (!taker.structure(outcome, raw, "the outcome"))
    return bad_reply(slot, OutcomeCode::kHostBadReply, violations);
  taker.zero(raw.reserved, "the outcome");
  Reply reply;
  reply.outcome.message = taker.message(raw.message);
  reply.outcome.stage = taker.text(raw.stage, BERTH_STAGE_MAX_BYTES, "the stage");
  constexpr std::uint64_t kRetryMax = std::uint64_t{7} * 24 * 3600 * 1000;
  reply.outcome.retry_after =
      std::chrono::milliseconds(static_cast<std::int64_t>(std::min(raw.retry_after_ms, kRetryMax)));
  if (raw.outcome_class > BERTH_UNCERTAIN) {
    taker.bad("OUT-001", fmt::format("class {} is none that this host knows", raw.outcome_class));
    return bad_reply(slot, OutcomeCode::kHostUnknownClass, violations);
  }
  reply.outcome.outcome_class = static_cast<OutcomeClass>(raw.outcome_class);
  const bool known_code = raw.code <= BERTH_CODE_INTERNAL;
  if (!known_code)
    violations.push_back({"OUT-002", fmt::format("code {} is none that this host knows", raw.code)});
  reply.outcome.code = known_code ? static_cast<OutcomeCode>(raw.code) : OutcomeCode::kInternal;
  if (reply.outcome.done()) reply.value = take_value(taker, slot, raw.result);
  if (!taker.good()) return bad_reply(slot, OutcomeCode::kHostBadReply, violations);
  if (reply.outcome.outcome_class == OutcomeClass::kUnset && reply.outcome.message.empty())
    reply.outcome.message = fmt::format("the provider ended {} without saying what became of it", to_string(slot));
  check_reply(slot, reply, violations);
  return reply;
}

}  // namespace berth::plugin
