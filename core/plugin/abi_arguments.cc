#include "core/plugin/abi_arguments.h"

#include <algorithm>

namespace berth::plugin {
namespace {

berth_str text(std::string_view value) {
  return value.empty() ? berth_str{nullptr, 0} : berth_str{value.data(), value.size()};
}

std::uint64_t nanoseconds(Duration duration) {
  return static_cast<std::uint64_t>(std::max<Duration::rep>(duration.count(), 0));
}

bool all_default(const Limits& limits) {
  return limits.cpu_millis == 0 && limits.processes == 0 && limits.open_files == 0 &&
         limits.memory_bytes == 0 && limits.disk_bytes == 0 && limits.file_size_bytes == 0 &&
         limits.cpu_time == Duration::zero();
}

}  // namespace

const berth_limits* AbiArguments::limits(const Limits& limits) {
  if (all_default(limits)) return nullptr;
  limits_.struct_size = sizeof limits_;
  limits_.cpu_millis = limits.cpu_millis;
  limits_.memory_bytes = limits.memory_bytes;
  limits_.cpu_time_ns = nanoseconds(limits.cpu_time);
  limits_.disk_bytes = limits.disk_bytes;
  limits_.file_size_bytes = limits.file_size_bytes;
  limits_.processes = limits.processes;
  limits_.open_files = limits.open_files;
  return &limits_;
}

berth_pair_list AbiArguments::pairs(const Environment& list) {
  pairs_.reserve(list.size());
  for (const auto& [key, value] : list) pairs_.push_back({text(key), text(value)});
  return {pairs_.data(), pairs_.size()};
}

berth_str_list AbiArguments::texts(const std::vector<std::string>& list) {
  texts_.reserve(list.size());
  for (const std::string& item : list) texts_.push_back(text(item));
  return {texts_.data(), texts_.size()};
}

struct AbiArguments::Call {
  AbiArguments& arguments;
  const berth_provider_v1& table;
  void* self;
  berth_op op;
  Slot slot;

  void operator()(const std::monostate&) {
    if (slot == Slot::kProbe) table.probe(self, op);
    if (slot == Slot::kScope) table.scope(self, op);
    if (slot == Slot::kShutdown) table.shutdown(self, op);
  }
  void operator()(const OpenSpec& spec) {
    berth_open_spec& out = arguments.open_;
    out.struct_size = sizeof out;
    out.config_json = text(spec.config_json);
    out.state_dir = text(spec.state_dir);
    out.owner_tag = text(spec.owner_tag);
    table.open(self, op, &out);
  }
  void operator()(const CreateCall& call) {
    berth_create_spec& out = arguments.create_;
    out.struct_size = sizeof out;
    out.network = call.spec.network == Network::kOpen ? BERTH_NETWORK_OPEN : BERTH_NETWORK_NONE;
    out.owner_tag = text(call.spec.owner_tag);
    out.lifetime_ns = nanoseconds(call.spec.lifetime);
    out.languages = arguments.texts(call.spec.languages);
    out.image = text(call.spec.image);
    out.limits = arguments.limits(call.spec.limits);
    out.env = arguments.pairs(call.spec.env);
    table.create(self, op, text(call.name), &out);
  }
  void operator()(const NameCall& call) {
    if (slot == Slot::kLookup) table.lookup(self, op, text(call.name));
    if (slot == Slot::kFence) table.fence(self, op, text(call.name));
  }
  void operator()(const RunCall& call) {
    berth_command& out = arguments.command_;
    out.struct_size = sizeof out;
    out.stdin_source = call.command.input != nullptr ? BERTH_STDIN_INPUT : BERTH_STDIN_EMPTY;
    out.argv = arguments.texts(call.command.argv);
    out.cwd = text(call.command.cwd);
    out.env = arguments.pairs(call.command.env);
    out.timeout_ns = nanoseconds(call.command.timeout);
    out.stdout_cap_bytes = call.command.stdout_cap_bytes;
    out.stderr_cap_bytes = call.command.stderr_cap_bytes;
    out.limits = arguments.limits(call.command.limits);
    table.run(self, op, text(call.ref), &out);
  }
  void operator()(const PutFileCall& call) {
    berth_put_file_spec& out = arguments.put_file_;
    out.struct_size = sizeof out;
    out.mode = call.file.mode;
    out.path = text(call.file.path);
    out.size_bytes = call.file.size_bytes;
    table.put_file(self, op, text(call.ref), &out);
  }
  void operator()(const GetFileCall& call) {
    berth_get_file_spec& out = arguments.get_file_;
    out.struct_size = sizeof out;
    out.path = text(call.file.path);
    out.max_bytes = call.file.bytes_max;
    table.get_file(self, op, text(call.ref), &out);
  }
  void operator()(const DestroyCall& call) {
    table.destroy(self, op, text(call.name), text(call.ref));
  }
  void operator()(const ListCall& call) {
    table.list_owned(self, op, text(call.owner_tag), text(call.cursor));
  }
};

void AbiArguments::call(const berth_provider_v1& table, void* self, berth_op op,
                        const Request& request) {
  std::visit(Call{*this, table, self, op, request.slot}, request.arguments);
}

}  // namespace berth::plugin
