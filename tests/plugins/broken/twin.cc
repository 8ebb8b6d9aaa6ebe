// The two tables between a host and the reference provider, and the choice of the fault.
#include "tests/plugins/broken/twin.h"

#include <array>

#include "berth/abi.h"

// The reference provider's own entry, under another name in this library.
extern "C" std::uint32_t berth_reference_entry(const berth_offer* offer, berth_reply* reply);

namespace berth::broken {
namespace {

// Made by the entry, and stays as long as the process.
struct State {
  const berth_host_v1* host = nullptr;
  berth_host_v1 shim{};
  const berth_provider_v1* inner = nullptr;
  void* self = nullptr;
  std::unique_ptr<Twin> twin;
  std::string config;  // what the reference provider is given
};
constinit State* state = nullptr;

Twin& twin() { return *state->twin; }

std::unique_ptr<Twin> find(std::string_view id) {
  for (const Faults* area :
       {&meta_faults(), &load_faults(), &op_faults(), &key_faults(), &out_faults(), &run_faults(), &file_faults(),
        &canc_faults(), &strm_faults(), &clean_faults(), &fence_faults(), &conc_faults(), &mem_faults(),
        &shut_faults(), &fault_faults(), &wild_faults()}) {
    const auto found = area->find(id);
    if (found != area->end()) return found->second();
  }
  return nullptr;
}

// {"fault":"KEY-001",...} as canonical JSON: the value of "fault", taken out of `config`.
std::string take_fault(std::string& config) {
  constexpr std::string_view kKey = "\"fault\":\"";
  const std::size_t at = config.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kKey.size();
  const std::size_t end = config.find('"', begin);
  std::string fault = config.substr(begin, end - begin);
  std::size_t from = at;
  std::size_t to = end + 1;
  if (to < config.size() && config[to] == ',') ++to;
  else if (config[from - 1] == ',') --from;
  config.erase(from, to - from);
  return fault;
}

void fill_shim() {
  berth_host_v1& shim = state->shim;
  shim = *state->host;
  shim.op_complete = [](void*, berth_op op, const berth_outcome* outcome) {
    twin().op_complete(op, outcome);
  };
  shim.output = [](void*, berth_op op, berth_stream stream, berth_bytes bytes) {
    return twin().output(op, stream, bytes);
  };
  shim.input = [](void*, berth_op op, std::uint8_t* buffer, std::uint64_t capacity, std::uint64_t* got) {
    return twin().input(op, buffer, capacity, got);
  };
  shim.op_stage = [](void*, berth_op op, berth_str stage) { twin().op_stage(op, stage); };
  shim.op_cancelled = [](void*, berth_op op) { return twin().op_cancelled(op); };
  shim.op_cancel_fd = [](void*, berth_op op) { return twin().op_cancel_fd(op); };
  shim.post_blocking = [](void*, berth_task_fn task, void* user) {
    return twin().post_blocking(task, user);
  };
  shim.op_wait = [](void*, berth_op op, std::uint64_t timeout_ns) {
    return twin().op_wait(op, timeout_ns);
  };
}

void open(void*, berth_op op, const berth_open_spec* from) {
  state->config = text(from->config_json);
  const std::string id = take_fault(state->config);
  auto fault = id.empty() ? std::move(state->twin) : find(id);
  if (!fault) {
    berth_outcome outcome{};
    outcome.struct_size = sizeof outcome;
    outcome.outcome_class = BERTH_REJECTED;
    outcome.code = BERTH_CODE_INVALID_ARGUMENT;
    outcome.message = text("broken: no fault of that name");
    return state->host->op_complete(state->host->ctx, op, &outcome);
  }
  state->twin = std::move(fault);
  berth_open_spec spec = *from;
  spec.config_json = text(state->config);
  twin().open(op, &spec);
}

constexpr berth_provider_v1 kTable = {
    sizeof(berth_provider_v1),
    0,
    &open,
    [](void*, berth_str id) -> const void* {
      return twin().get_extension(id);
    },
    [](void*, berth_op op) { twin().probe(op); },
    [](void*, berth_op op) { twin().scope(op); },
    [](void*, berth_op op, berth_str name, const berth_create_spec* spec) {
      twin().create(op, name, spec);
    },
    [](void*, berth_op op, berth_str name) { twin().lookup(op, name); },
    [](void*, berth_op op, berth_str name) { twin().fence(op, name); },
    [](void*, berth_op op, berth_str ref, const berth_command* command) {
      twin().run(op, ref, command);
    },
    [](void*, berth_op op, berth_str ref, const berth_put_file_spec* spec) {
      twin().put_file(op, ref, spec);
    },
    [](void*, berth_op op, berth_str ref, const berth_get_file_spec* spec) {
      twin().get_file(op, ref, spec);
    },
    [](void*, berth_op op, berth_str name, berth_str ref) { twin().destroy(op, name, ref); },
    [](void*, berth_op op, berth_str tag, berth_str cursor) { twin().list_owned(op, tag, cursor); },
    [](void*, berth_op op) { twin().shutdown(op); },
};

}  // namespace

const berth_provider_v1& Twin::inner() { return *state->inner; }
void* Twin::self() { return state->self; }
const berth_host_v1& Twin::host() { return *state->host; }

void Twin::done(berth_op op, const void* result) {
  berth_outcome outcome{};
  outcome.struct_size = sizeof outcome;
  outcome.outcome_class = BERTH_DONE;
  outcome.result = result;
  host().op_complete(host().ctx, op, &outcome);
}

void Twin::ended(berth_op op, berth_outcome_class outcome_class, berth_code code,
                 std::string_view message) {
  berth_outcome outcome{};
  outcome.struct_size = sizeof outcome;
  outcome.outcome_class = outcome_class;
  outcome.code = code;
  outcome.message = text(message);
  host().op_complete(host().ctx, op, &outcome);
}

std::uint32_t enter(const berth_offer* offer, berth_reply* reply, std::unique_ptr<Twin> early) {
  state = new State;
  state->host = offer->host;
  state->twin = std::move(early);
  fill_shim();
  berth_offer inner = *offer;
  inner.host = &state->shim;
  const std::uint32_t answer = berth_reference_entry(&inner, reply);
  if (answer != 0) return answer;
  state->inner = reply->provider;
  state->self = reply->self;
  reply->provider = &kTable;
  return 0;
}

}  // namespace berth::broken
