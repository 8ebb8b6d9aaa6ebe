// Requests and replies on the wire.
#include <fmt/format.h>

#include "core/base/json.h"
#include "core/plugin/wire.h"
#include "sdk/include/berth/abi.h"

namespace berth::plugin {
namespace {

constexpr std::size_t kTextMax = std::size_t{1} << 20;
constexpr std::size_t kListMax = BERTH_LIST_MAX_ITEMS;
constexpr std::size_t kShortMax = 8192;

// Stands for "there is input" in a command that has crossed the wire. Never read from.
class InputMarker final : public InputSource {
 public:
  State read(std::string&, std::size_t) override { return State::kEnd; }
  void on_ready(std::function<void()>) override {}
};

InputSource* input_marker() {
  static InputMarker marker;
  return &marker;
}

void write(WireWriter& out, const Limits& limits) {
  out.number(limits.cpu_millis);
  out.number(limits.processes);
  out.number(limits.open_files);
  out.number(limits.memory_bytes);
  out.number(limits.disk_bytes);
  out.number(limits.file_size_bytes);
  out.number(limits.cpu_time.count());
}

Limits read_limits(WireReader& in) {
  Limits out;
  out.cpu_millis = in.number<std::uint32_t>();
  out.processes = in.number<std::uint32_t>();
  out.open_files = in.number<std::uint32_t>();
  out.memory_bytes = in.number<std::uint64_t>();
  out.disk_bytes = in.number<std::uint64_t>();
  out.file_size_bytes = in.number<std::uint64_t>();
  out.cpu_time = Duration(in.number<std::int64_t>());
  return out;
}

struct WriteArguments {
  WireWriter& out;

  void operator()(const std::monostate&) const {}
  void operator()(const OpenSpec& spec) const {
    out.text(spec.config_json);
    out.text(spec.state_dir);
    out.text(spec.owner_tag);
  }
  void operator()(const CreateCall& call) const {
    out.text(call.name);
    out.text(call.spec.owner_tag);
    out.number(call.spec.lifetime.count());
    out.texts(call.spec.languages);
    out.text(call.spec.image);
    write(out, call.spec.limits);
    out.number(static_cast<std::uint8_t>(call.spec.network));
    out.pairs(call.spec.env);
  }
  void operator()(const NameCall& call) const { out.text(call.name); }
  void operator()(const RunCall& call) const {
    out.text(call.ref);
    out.texts(call.command.argv);
    out.text(call.command.cwd);
    out.pairs(call.command.env);
    out.number(call.command.timeout.count());
    out.number(call.command.stdout_cap_bytes);
    out.number(call.command.stderr_cap_bytes);
    write(out, call.command.limits);
    out.number<std::uint8_t>(call.command.input != nullptr ? 1 : 0);
  }
  void operator()(const PutFileCall& call) const {
    out.text(call.ref);
    out.text(call.file.path);
    out.number(call.file.mode);
    out.number(call.file.size_bytes);
  }
  void operator()(const GetFileCall& call) const {
    out.text(call.ref);
    out.text(call.file.path);
    out.number(call.file.bytes_max);
  }
  void operator()(const DestroyCall& call) const {
    out.text(call.name);
    out.text(call.ref);
  }
  void operator()(const ListCall& call) const {
    out.text(call.owner_tag);
    out.text(call.cursor);
  }
};

CreateCall read_create(WireReader& in) {
  CreateCall out;
  out.name = in.text(kTextMax);
  out.spec.owner_tag = in.text(kTextMax);
  out.spec.lifetime = Duration(in.number<std::int64_t>());
  out.spec.languages = in.texts(kListMax, kTextMax);
  out.spec.image = in.text(kTextMax);
  out.spec.limits = read_limits(in);
  out.spec.network = in.choice(Network::kOpen);
  out.spec.env = in.pairs(kListMax, kTextMax);
  return out;
}

RunCall read_run(WireReader& in) {
  RunCall out;
  out.ref = in.text(kTextMax);
  out.command.argv = in.texts(kListMax, kTextMax);
  out.command.cwd = in.text(kTextMax);
  out.command.env = in.pairs(kListMax, kTextMax);
  out.command.timeout = Duration(in.number<std::int64_t>());
  out.command.stdout_cap_bytes = in.number<std::uint64_t>();
  out.command.stderr_cap_bytes = in.number<std::uint64_t>();
  out.command.limits = read_limits(in);
  out.command.input = in.flag() ? input_marker() : nullptr;
  return out;
}

Arguments read_arguments(Slot slot, WireReader& in) {
  switch (slot) {
    case Slot::kOpen: {
      OpenSpec out;
      out.config_json = in.text(kTextMax);
      out.state_dir = in.text(kTextMax);
      out.owner_tag = in.text(kTextMax);
      return out;
    }
    case Slot::kCreate: return read_create(in);
    case Slot::kLookup:
    case Slot::kFence: return NameCall{in.text(kTextMax)};
    case Slot::kRun: return read_run(in);
    case Slot::kPutFile: {
      PutFileCall out;
      out.ref = in.text(kTextMax);
      out.file.path = in.text(kTextMax);
      out.file.mode = in.number<std::uint32_t>();
      out.file.size_bytes = in.number<std::uint64_t>();
      return out;
    }
    case Slot::kGetFile: {
      GetFileCall out;
      out.ref = in.text(kTextMax);
      out.file.path = in.text(kTextMax);
      out.file.bytes_max = in.number<std::uint64_t>();
      return out;
    }
    case Slot::kDestroy: {
      DestroyCall out;
      out.name = in.text(kTextMax);
      out.ref = in.text(kTextMax);
      return out;
    }
    case Slot::kListOwned: {
      ListCall out;
      out.owner_tag = in.text(kTextMax);
      out.cursor = in.text(kTextMax);
      return out;
    }
    case Slot::kProbe:
    case Slot::kScope:
    case Slot::kShutdown: return std::monostate{};
  }
  return std::monostate{};
}

void write(WireWriter& out, const std::optional<std::uint64_t>& value) {
  out.number<std::uint8_t>(value ? 1 : 0);
  out.number(value.value_or(0));
}

std::optional<std::uint64_t> read_optional(WireReader& in) {
  const bool there = in.flag();
  const auto value = in.number<std::uint64_t>();
  return there ? std::optional(value) : std::nullopt;
}

void write(WireWriter& out, const UsageCounters& usage) {
  out.number(usage.epoch);
  write(out, usage.wall_ns);
  write(out, usage.cpu_ns);
  write(out, usage.memory_peak_bytes);
  write(out, usage.network_egress_bytes);
  write(out, usage.cost_micro_usd);
}

UsageCounters read_usage(WireReader& in) {
  UsageCounters out;
  out.epoch = in.number<std::uint64_t>();
  out.wall_ns = read_optional(in);
  out.cpu_ns = read_optional(in);
  out.memory_peak_bytes = read_optional(in);
  out.network_egress_bytes = read_optional(in);
  out.cost_micro_usd = read_optional(in);
  return out;
}

void write(WireWriter& out, const std::optional<WallTime>& time) {
  out.number(time ? unix_ms(*time) : std::int64_t{0});
}

std::optional<WallTime> read_time(WireReader& in) {
  const auto ms = in.number<std::int64_t>();
  if (ms < 0 || ms > std::int64_t{1} << 50) in.spoil();
  return ms > 0 ? std::optional(wall_time_from_unix_ms(ms)) : std::nullopt;
}

struct WriteValue {
  WireWriter& out;

  void operator()(const std::monostate&) const {}
  void operator()(const ProbeReport& report) const {
    out.number<std::uint8_t>(report.usable ? 1 : 0);
    out.text(report.backend);
    out.number(static_cast<std::uint32_t>(report.capabilities.size()));
    for (const CapabilityProbe& item : report.capabilities) {
      out.text(item.id);
      out.number<std::uint8_t>(item.available ? 1 : 0);
      out.text(item.reason);
    }
    out.number(static_cast<std::uint32_t>(report.items.size()));
    for (const ProbeItem& item : report.items) {
      out.number<std::uint8_t>(item.ok ? 1 : 0);
      out.text(item.name);
      out.text(item.detail);
      out.text(item.remedy);
    }
  }
  void operator()(const Scope& scope) const { out.pairs(scope); }
  void operator()(const Created& created) const {
    out.text(created.name);
    out.text(created.ref);
    out.pairs(created.scope);
  }
  void operator()(const Found& found) const {
    out.number(static_cast<std::uint8_t>(found.presence));
    out.number(static_cast<std::uint8_t>(found.state));
    out.text(found.name);
    out.text(found.ref);
    out.pairs(found.scope);
    write(out, found.created_at);
  }
  void operator()(const RunEnd& end) const {
    out.number(static_cast<std::uint8_t>(end.cause));
    out.number<std::uint8_t>(end.exit_code ? 1 : 0);
    out.number(static_cast<std::int32_t>(end.exit_code.value_or(0)));
    out.number(static_cast<std::int32_t>(end.signal.value_or(0)));
    out.number(end.stdout_bytes);
    out.number(end.stderr_bytes);
    write(out, end.usage);
  }
  void operator()(const FileGot& got) const {
    out.number(got.mode);
    out.number(got.size_bytes);
  }
  void operator()(const Destroyed& destroyed) const { write(out, destroyed.usage); }
  void operator()(const ListPage& page) const {
    out.number(static_cast<std::uint32_t>(page.items.size()));
    for (const Listed& item : page.items) {
      out.text(item.name);
      out.text(item.ref);
      out.text(item.holder);
      out.number(static_cast<std::uint8_t>(item.state));
      write(out, item.created_at);
    }
    out.text(page.next_cursor);
  }
};

ProbeReport read_probe(WireReader& in) {
  ProbeReport out;
  out.usable = in.flag();
  out.backend = in.text(kShortMax);
  for (std::uint32_t left = in.count(1024, 9); left > 0 && in.good(); --left) {
    CapabilityProbe item;
    item.id = in.text(kShortMax);
    item.available = in.flag();
    item.reason = in.text(kShortMax);
    out.capabilities.push_back(std::move(item));
  }
  for (std::uint32_t left = in.count(1024, 13); left > 0 && in.good(); --left) {
    ProbeItem item;
    item.ok = in.flag();
    item.name = in.text(kShortMax);
    item.detail = in.text(kShortMax);
    item.remedy = in.text(kShortMax);
    out.items.push_back(std::move(item));
  }
  return out;
}

Created read_created(WireReader& in) {
  Created out;
  out.name = in.text(BERTH_REF_MAX_BYTES);
  out.ref = in.text(BERTH_REF_MAX_BYTES);
  out.scope = in.pairs(16, kShortMax);
  return out;
}

Found read_found(WireReader& in) {
  Found out;
  out.presence = in.choice(Presence::kAbsentFenced);
  out.state = in.choice(SandboxState::kBroken);
  out.name = in.text(BERTH_REF_MAX_BYTES);
  out.ref = in.text(BERTH_REF_MAX_BYTES);
  out.scope = in.pairs(16, kShortMax);
  out.created_at = read_time(in);
  return out;
}

RunEnd read_run_end(WireReader& in) {
  RunEnd out;
  out.cause = in.choice(Cause::kLost);
  const bool exited = in.flag();
  const auto code = in.number<std::int32_t>();
  if (exited) out.exit_code = code;
  const auto signal = in.number<std::int32_t>();
  if (signal < 0 || signal >= 1024) in.spoil();
  if (signal > 0) out.signal = signal;
  out.stdout_bytes = in.number<std::uint64_t>();
  out.stderr_bytes = in.number<std::uint64_t>();
  out.usage = read_usage(in);
  return out;
}

ListPage read_page(WireReader& in) {
  ListPage out;
  for (std::uint32_t left = in.count(kListMax, 21); left > 0 && in.good(); --left) {
    Listed item;
    item.name = in.text(BERTH_REF_MAX_BYTES);
    item.ref = in.text(BERTH_REF_MAX_BYTES);
    item.holder = in.text(BERTH_REF_MAX_BYTES);
    item.state = in.choice(SandboxState::kBroken);
    item.created_at = read_time(in);
    out.items.push_back(std::move(item));
  }
  out.next_cursor = in.text(kShortMax);
  return out;
}

ReplyValue read_value(Slot slot, WireReader& in) {
  switch (slot) {
    case Slot::kProbe: return read_probe(in);
    case Slot::kScope: return Scope(in.pairs(16, kShortMax));
    case Slot::kCreate: return read_created(in);
    case Slot::kLookup:
    case Slot::kFence: return read_found(in);
    case Slot::kRun: return read_run_end(in);
    case Slot::kGetFile: {
      const auto mode = in.number<std::uint32_t>();
      return FileGot{mode, in.number<std::uint64_t>()};
    }
    case Slot::kDestroy: return Destroyed{read_usage(in)};
    case Slot::kListOwned: return read_page(in);
    case Slot::kOpen:
    case Slot::kPutFile:
    case Slot::kShutdown: return std::monostate{};
  }
  return std::monostate{};
}

bool known_code(std::uint32_t code) {
  return code <= BERTH_CODE_INTERNAL ||
         code == static_cast<std::uint32_t>(OutcomeCode::kHostBadReply) ||
         code == static_cast<std::uint32_t>(OutcomeCode::kHostUnknownClass) ||
         code == static_cast<std::uint32_t>(OutcomeCode::kHostException);
}

}  // namespace

std::string encode_start(OpId op, const Request& request) {
  WireWriter out(FrameType::kStart, op);
  out.number(static_cast<std::uint8_t>(request.slot));
  out.number<std::uint8_t>(request.has_input ? 1 : 0);
  out.number(request.deadline.time_since_epoch().count());
  std::visit(WriteArguments{out}, request.arguments);
  return out.take();
}

Result<Request> decode_start(std::string_view payload) {
  WireReader in(payload);
  Request out;
  out.slot = in.choice(Slot::kShutdown);
  out.has_input = in.flag();
  out.deadline = Instant(Duration(in.number<std::int64_t>()));
  out.arguments = read_arguments(out.slot, in);
  if (!in.finished()) return fail(ErrorKind::kCorrupt, "a request cannot be read");
  return out;
}

std::string encode_reply(OpId op, Slot slot, const Reply& reply) {
  WireWriter out(FrameType::kCompleted, op);
  out.number(static_cast<std::uint8_t>(slot));
  out.number(static_cast<std::uint8_t>(reply.outcome.outcome_class));
  out.number(static_cast<std::uint32_t>(reply.outcome.code));
  out.number(static_cast<std::uint64_t>(reply.outcome.retry_after.count()));
  out.text(reply.outcome.message);
  out.text(reply.outcome.stage);
  std::visit(WriteValue{out}, reply.value);
  std::string frame = out.take();
  if (frame.size() - kFrameHeaderBytes <= kFramePayloadMax) return frame;
  return encode_reply(op, slot,
                      reply_of(OutcomeClass::kUncertain, OutcomeCode::kHostBadReply,
                               fmt::format("the provider's answer to {} has {} bytes; at most {} "
                                           "cross to the host",
                                           to_string(slot), frame.size(), kFramePayloadMax)));
}

Result<Reply> decode_reply(Slot slot, std::string_view payload) {
  WireReader in(payload, WireReader::Texts::kUtf8);
  Reply out;
  if (in.choice(Slot::kShutdown) != slot) in.spoil();
  out.outcome.outcome_class = in.choice(OutcomeClass::kUncertain);
  const auto code = in.number<std::uint32_t>();
  if (!known_code(code)) in.spoil();
  out.outcome.code = static_cast<OutcomeCode>(code);
  const auto retry = in.number<std::uint64_t>();
  if (retry > std::uint64_t{7} * 24 * 3600 * 1000) in.spoil();
  out.outcome.retry_after = std::chrono::milliseconds(static_cast<std::int64_t>(retry));
  out.outcome.message = in.text(kShortMax);
  out.outcome.stage = in.text(kShortMax);
  if (in.good() && out.outcome.done()) out.value = read_value(slot, in);
  if (!in.finished()) return fail(ErrorKind::kCorrupt, "a reply cannot be read");
  return out;
}

}  // namespace berth::plugin
