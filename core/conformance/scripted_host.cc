#include "core/conformance/scripted_host.h"

#include <fmt/format.h>
#include <pthread.h>

#include <thread>
#include <utility>

namespace berth::conformance {
namespace {

using Clock = std::chrono::steady_clock;

thread_local bool to_be_unwound = false;

}  // namespace

// The host's functions as the provider sees them.
struct ScriptedHost::HostTable {
  static ScriptedHost& at(void* ctx, std::string_view function) {
    auto& self = *static_cast<ScriptedHost*>(ctx);
    self.called(function);
    return self;
  }
  static void log(void* ctx, berth_log_level level, berth_str message) {
    const auto& inner = at(ctx, "log").inner_;
    inner.log(inner.ctx, level, message);
  }
  static void op_complete(void* ctx, berth_op op, const berth_outcome* outcome) {
    ScriptedHost& self = at(ctx, "op_complete");
    self.inner_.op_complete(self.inner_.ctx, op, outcome);
    self.completed(op);
  }
  static void op_stage(void* ctx, berth_op op, berth_str stage) {
    const auto& inner = at(ctx, "op_stage").inner_;
    inner.op_stage(inner.ctx, op, stage);
  }
  static std::uint32_t op_cancelled(void* ctx, berth_op op) {
    const auto& inner = at(ctx, "op_cancelled").inner_;
    return inner.op_cancelled(inner.ctx, op);
  }
  static std::int32_t op_cancel_fd(void* ctx, berth_op op) {
    const auto& inner = at(ctx, "op_cancel_fd").inner_;
    return inner.op_cancel_fd(inner.ctx, op);
  }
  static std::uint64_t op_deadline(void* ctx, berth_op op) {
    const auto& inner = at(ctx, "op_deadline").inner_;
    return inner.op_deadline(inner.ctx, op);
  }
  static berth_flow output(void* ctx, berth_op op, berth_stream stream, berth_bytes bytes) {
    ScriptedHost& self = at(ctx, "output");
    const std::uint32_t grants = self.sends(op, stream, bytes.len);
    const berth_flow flow = self.inner_.output(self.inner_.ctx, op, stream, bytes);
    self.answered(op, stream, flow, grants);
    return flow;
  }
  static berth_input_status input(void* ctx, berth_op op, std::uint8_t* buffer,
                                  std::uint64_t capacity, std::uint64_t* got) {
    const auto& inner = at(ctx, "input").inner_;
    return inner.input(inner.ctx, op, buffer, capacity, got);
  }
  static std::int32_t op_ready_fd(void* ctx, berth_op op) {
    const auto& inner = at(ctx, "op_ready_fd").inner_;
    return inner.op_ready_fd(inner.ctx, op);
  }
  static berth_wait_status op_wait(void* ctx, berth_op op, std::uint64_t timeout_ns) {
    const auto& inner = at(ctx, "op_wait").inner_;
    return inner.op_wait(inner.ctx, op, timeout_ns);
  }
  static std::uint32_t config_get(void* ctx, berth_str key, berth_write_fn write, void* user) {
    const auto& inner = at(ctx, "config_get").inner_;
    return inner.config_get(inner.ctx, key, write, user);
  }
  static std::uint32_t secret_get(void* ctx, berth_str name, berth_write_fn write, void* user) {
    const auto& inner = at(ctx, "secret_get").inner_;
    return inner.secret_get(inner.ctx, name, write, user);
  }
  static std::uint64_t now(void* ctx) {
    const auto& inner = static_cast<ScriptedHost*>(ctx)->inner_;
    return inner.now(inner.ctx);
  }
  static std::uint32_t post_blocking(void* ctx, berth_task_fn task, void* user) {
    ScriptedHost& self = at(ctx, "post_blocking");
    if (!self.unwinding_) return self.inner_.post_blocking(self.inner_.ctx, task, user);
    std::thread([task, user] {
      to_be_unwound = true;
      task(user);
    }).detach();
    return 1;
  }
};

// The provider's slots as the driver sees them: each copies its arguments into memory of the
// operation's own and calls the provider with the copy.
struct ScriptedHost::Slots {
  static ScriptedHost& of(void* self) { return *static_cast<ScriptedHost*>(self); }

  template <class Call>
  static void through(void* host, berth_op op, std::shared_ptr<Guarded> memory, Call call,
                      bool shutdown = false) {
    ScriptedHost& self = of(host);
    self.lend(op, std::move(memory), shutdown);
    const auto started = Clock::now();
    call(self.provider_, self.self_);
    self.returned(op, started);
  }

  static void open(void* host, berth_op op, const berth_open_spec* from) {
    auto memory = std::make_shared<Guarded>(
        sizeof *from + 64 + Guarded::room_of(from->config_json) + Guarded::room_of(from->state_dir) +
        Guarded::room_of(from->owner_tag));
    berth_open_spec spec = *from;
    spec.config_json = memory->put(from->config_json);
    spec.state_dir = memory->put(from->state_dir);
    spec.owner_tag = memory->put(from->owner_tag);
    const auto* at = memory->put(spec);
    through(host, op, memory, [&](auto& table, void* self) { table.open(self, op, at); });
  }
  static const void* get_extension(void* host, berth_str id) {
    return of(host).extension({id.ptr, static_cast<std::size_t>(id.len)});
  }
  static void probe(void* host, berth_op op) {
    through(host, op, nullptr, [&](auto& table, void* self) { table.probe(self, op); });
  }
  static void scope(void* host, berth_op op) {
    through(host, op, nullptr, [&](auto& table, void* self) { table.scope(self, op); });
  }
  static void create(void* host, berth_op op, berth_str name, const berth_create_spec* from) {
    auto memory = std::make_shared<Guarded>(
        sizeof *from + sizeof(berth_limits) + 96 + Guarded::room_of(name) +
        Guarded::room_of(from->owner_tag) + Guarded::room_of(from->languages) +
        Guarded::room_of(from->image) + Guarded::room_of(from->env));
    berth_create_spec spec = *from;
    const berth_str own = memory->put(name);
    spec.owner_tag = memory->put(from->owner_tag);
    spec.languages = memory->put(from->languages);
    spec.image = memory->put(from->image);
    spec.env = memory->put(from->env);
    if (from->limits != nullptr) spec.limits = memory->put(*from->limits);
    if (auto change = std::exchange(of(host).create_change_, nullptr)) change(spec);
    const auto* at = memory->put(spec);
    through(host, op, memory, [&](auto& table, void* self) { table.create(self, op, own, at); });
  }
  static std::shared_ptr<Guarded> keep(berth_str& first) {
    auto memory = std::make_shared<Guarded>(Guarded::room_of(first));
    first = memory->put(first);
    return memory;
  }
  static std::shared_ptr<Guarded> keep(berth_str& first, berth_str& second) {
    auto memory = std::make_shared<Guarded>(Guarded::room_of(first) + Guarded::room_of(second));
    first = memory->put(first);
    second = memory->put(second);
    return memory;
  }
  static void lookup(void* host, berth_op op, berth_str name) {
    const auto memory = keep(name);
    through(host, op, memory, [&](auto& table, void* self) { table.lookup(self, op, name); });
  }
  static void fence(void* host, berth_op op, berth_str name) {
    const auto memory = keep(name);
    through(host, op, memory, [&](auto& table, void* self) { table.fence(self, op, name); });
  }
  static void run(void* host, berth_op op, berth_str ref, const berth_command* from) {
    auto memory = std::make_shared<Guarded>(
        sizeof *from + sizeof(berth_limits) + 96 + Guarded::room_of(ref) +
        Guarded::room_of(from->argv) + Guarded::room_of(from->cwd) + Guarded::room_of(from->env));
    berth_command command = *from;
    const berth_str own = memory->put(ref);
    command.argv = memory->put(from->argv);
    command.cwd = memory->put(from->cwd);
    command.env = memory->put(from->env);
    if (from->limits != nullptr) command.limits = memory->put(*from->limits);
    if (auto change = std::exchange(of(host).command_change_, nullptr)) change(command);
    const auto* at = memory->put(command);
    through(host, op, memory, [&](auto& table, void* self) { table.run(self, op, own, at); });
  }
  static void put_file(void* host, berth_op op, berth_str ref, const berth_put_file_spec* from) {
    auto memory = std::make_shared<Guarded>(sizeof *from + 64 + Guarded::room_of(ref) +
                                            Guarded::room_of(from->path));
    berth_put_file_spec spec = *from;
    const berth_str own = memory->put(ref);
    spec.path = memory->put(from->path);
    const auto* at = memory->put(spec);
    through(host, op, memory, [&](auto& table, void* self) { table.put_file(self, op, own, at); });
  }
  static void get_file(void* host, berth_op op, berth_str ref, const berth_get_file_spec* from) {
    auto memory = std::make_shared<Guarded>(sizeof *from + 64 + Guarded::room_of(ref) +
                                            Guarded::room_of(from->path));
    berth_get_file_spec spec = *from;
    const berth_str own = memory->put(ref);
    spec.path = memory->put(from->path);
    const auto* at = memory->put(spec);
    through(host, op, memory, [&](auto& table, void* self) { table.get_file(self, op, own, at); });
  }
  static void destroy(void* host, berth_op op, berth_str name, berth_str ref) {
    const auto memory = keep(name, ref);
    through(host, op, memory, [&](auto& table, void* self) { table.destroy(self, op, name, ref); });
  }
  static void list_owned(void* host, berth_op op, berth_str tag, berth_str cursor) {
    const auto memory = keep(tag, cursor);
    through(host, op, memory,
            [&](auto& table, void* self) { table.list_owned(self, op, tag, cursor); });
  }
  static void shutdown(void* host, berth_op op) {
    through(
        host, op, nullptr, [&](auto& table, void* self) { table.shutdown(self, op); }, true);
  }
};

ScriptedHost::ScriptedHost(const berth_host_v1& inner, OnViolation on_violation)
    : inner_(inner), on_violation_(std::move(on_violation)), table_memory_(sizeof(berth_host_v1)) {
  berth_host_v1 table{};
  table.struct_size = sizeof table;
  table.ctx = this;
  table.log = &HostTable::log;
  table.op_complete = &HostTable::op_complete;
  table.op_stage = &HostTable::op_stage;
  table.op_cancelled = &HostTable::op_cancelled;
  table.op_cancel_fd = &HostTable::op_cancel_fd;
  table.op_deadline = &HostTable::op_deadline;
  table.output = &HostTable::output;
  table.input = &HostTable::input;
  table.op_ready_fd = &HostTable::op_ready_fd;
  table.op_wait = &HostTable::op_wait;
  table.config_get = &HostTable::config_get;
  table.secret_get = &HostTable::secret_get;
  table.now = &HostTable::now;
  table.post_blocking = &HostTable::post_blocking;
  table_ = table_memory_.put(table);
}

plugin::Binding ScriptedHost::wrap(plugin::Binding binding) {
  provider_ = binding.table;
  self_ = binding.self;
  berth_provider_v1& t = binding.table;
  t.open = &Slots::open;
  t.get_extension = &Slots::get_extension;
  t.probe = &Slots::probe;
  t.scope = &Slots::scope;
  t.create = &Slots::create;
  t.lookup = &Slots::lookup;
  if (t.fence != nullptr) t.fence = &Slots::fence;
  t.run = &Slots::run;
  t.put_file = &Slots::put_file;
  t.get_file = &Slots::get_file;
  t.destroy = &Slots::destroy;
  t.list_owned = &Slots::list_owned;
  t.shutdown = &Slots::shutdown;
  binding.self = this;
  return binding;
}

const void* ScriptedHost::extension(std::string_view id) {
  Guarded memory(id.size() + 32);
  const berth_str lent = memory.put(berth_str{id.data(), id.size()});
  return provider_.get_extension(self_, lent);
}

void ScriptedHost::lend(berth_op op, std::shared_ptr<Guarded> memory, bool shutdown) {
  const std::lock_guard lock(mutex_);
  Lent& lent = lent_[op];
  lent.memory = std::move(memory);
  lent.shutdown = shutdown;
}

void ScriptedHost::returned(berth_op op, Clock::time_point started) {
  const Duration took = Clock::now() - started;
  const std::lock_guard lock(mutex_);
  lent_[op].slot_time = std::max(took, Duration(1));
}

Duration ScriptedHost::slot_time(plugin::OpId op) {
  const std::lock_guard lock(mutex_);
  return lent_[op].slot_time;
}

// The memory goes while the provider may still be inside its slot: after completion it is not
// the provider's any more, wherever the provider is. [OP-004]
void ScriptedHost::completed(berth_op op) {
  const std::lock_guard lock(mutex_);
  const auto found = lent_.find(op);
  if (found == lent_.end()) return;
  if (found->second.memory) found->second.memory->take_back();
  found->second.limited = 0;  // output after this breaks another clause
  found->second.paused = false;
  if (found->second.shutdown) over_ = true;
}

// A stream that was limited stays so. [STRM-005] Of a pause one piece is forgiven, for two streams may be
// read by two threads and the second be on its way already. [STRM-004]
std::uint32_t ScriptedHost::sends(berth_op op, berth_stream stream, std::uint64_t size) {
  constexpr std::uint32_t kForgiven = 1;
  bool past_limit = false;
  bool past_pause = false;
  std::uint32_t grants = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lent_.find(op);
    if (found == lent_.end() || size == 0 || stream >= 32) return 0;
    Lent& lent = found->second;
    grants = lent.grants;
    past_limit = (lent.limited >> stream & 1) != 0;
    past_pause = lent.paused && ++lent.while_paused == kForgiven + 1;
  }
  if (past_limit)
    on_violation_({"STRM-005", fmt::format("{} bytes of stream {} came after its limit", size, stream)});
  if (past_pause) on_violation_({"STRM-004", "output came while it was paused"});
  return grants;
}

void ScriptedHost::answered(berth_op op, berth_stream stream, berth_flow flow, std::uint32_t grants) {
  const std::lock_guard lock(mutex_);
  const auto found = lent_.find(op);
  if (found == lent_.end() || stream >= 32) return;
  Lent& lent = found->second;
  if (flow == BERTH_OUTPUT_LIMIT) lent.limited |= 1u << stream;
  if (flow != BERTH_OUTPUT_PAUSE || lent.paused || lent.granting || lent.grants != grants) return;
  lent.paused = true;
  lent.while_paused = 0;
}

void ScriptedHost::grant_begins(plugin::OpId op) {
  const std::lock_guard lock(mutex_);
  Lent& lent = lent_[op];
  lent.granting = true;
  lent.paused = false;
  ++lent.grants;
}

void ScriptedHost::grant_ends(plugin::OpId op) {
  const std::lock_guard lock(mutex_);
  lent_[op].granting = false;
}

void ScriptedHost::called(std::string_view function) {
  ++callbacks_;
  if (to_be_unwound && !unwound_.exchange(true)) ::pthread_exit(nullptr);
  if (over_)
    on_violation_({"SHUT-001", fmt::format("{} was called after shutdown had completed", function)});
}

}  // namespace berth::conformance
