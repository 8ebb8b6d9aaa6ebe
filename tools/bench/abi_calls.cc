#include "tools/bench/abi_calls.h"

#include <berth/abi.h>
#include <fcntl.h>

#include <string_view>

#include "core/os/fd.h"
#include "core/os/shared_library.h"

namespace berth::bench {
namespace {

constexpr int kCallsPerSample = 1000;
constexpr int kSamples = 1000;

berth_str str(std::string_view text) { return {text.data(), text.size()}; }

// Counts the operations that ended with DONE; nothing of an outcome is kept.
struct Ended {
  std::uint64_t done = 0;
  std::uint64_t other = 0;
};

void op_complete(void* ctx, berth_op, const berth_outcome* outcome) {
  auto& ended = *static_cast<Ended*>(ctx);
  ++(outcome->outcome_class == BERTH_DONE ? ended.done : ended.other);
}

// The least host there is: no cancellation, no deadline, no input, output taken and dropped.
berth_host_v1 least_host(Ended& ended) {
  berth_host_v1 host{};
  host.struct_size = sizeof(host);
  host.ctx = &ended;
  host.log = [](void*, berth_log_level, berth_str) {};
  host.op_complete = op_complete;
  host.op_stage = [](void*, berth_op, berth_str) {};
  host.op_cancelled = [](void*, berth_op) { return 0u; };
  host.op_cancel_fd = [](void*, berth_op) { return -1; };
  host.op_deadline = [](void*, berth_op) { return std::uint64_t{0}; };
  host.output = [](void*, berth_op, berth_stream, berth_bytes) { return BERTH_OUTPUT_ACCEPTED; };
  host.input = [](void*, berth_op, std::uint8_t*, std::uint64_t, std::uint64_t*) {
    return BERTH_INPUT_END;
  };
  host.op_ready_fd = [](void*, berth_op) { return -1; };
  host.op_wait = [](void*, berth_op, std::uint64_t) { return BERTH_WAIT_TIMEOUT; };
  host.config_get = [](void*, berth_str, berth_write_fn, void*) { return 0u; };
  host.secret_get = [](void*, berth_str, berth_write_fn, void*) { return 0u; };
  host.now = [](void*) { return static_cast<std::uint64_t>(now().time_since_epoch().count()); };
  host.post_blocking = [](void*, berth_task_fn, void*) { return 0u; };
  return host;
}

template <class Call>
Samples sample(const Call& call) {
  Samples samples;
  for (int i = 0; i < kSamples; ++i) {
    const Instant begun = now();
    for (int n = 0; n < kCallsPerSample; ++n) call();
    samples.add((now() - begun) / kCallsPerSample);
  }
  return samples;
}

}  // namespace

Result<AbiCalls> abi_calls(const std::filesystem::path& provider) {
  BERTH_TRY(os::Fd file, os::open_file(provider, O_RDONLY));
  BERTH_TRY(const os::SharedLibrary library, os::SharedLibrary::load_descriptor(file.get()));
  file.release();  // the dynamic linker knows the library by this descriptor for good
  const auto entry =
      reinterpret_cast<berth_provider_entry_fn>(library.symbol(BERTH_ENTRY_SYMBOL));
  if (entry == nullptr) return fail(ErrorKind::kInvalidArgument, "the provider has no entry");

  Ended ended;
  const berth_host_v1 host = least_host(ended);
  berth_offer offer{};
  offer.struct_size = sizeof(offer);
  offer.minor_max = BERTH_ABI_MINOR;
  offer.host = &host;
  offer.host_version = str("berth-bench");
  berth_reply reply{};
  reply.struct_size = sizeof(reply);
  if (entry(&offer, &reply) != 0) return fail(ErrorKind::kRefused, "the provider refuses the offer");
  const berth_provider_v1& table = *reply.provider;

  berth_op op = 0;
  berth_open_spec spec{};
  spec.struct_size = sizeof(spec);
  spec.config_json = str(R"({"state":"memory"})");
  spec.owner_tag = str("berth-bench");
  table.open(reply.self, ++op, &spec);
  if (ended.done != 1) return fail(ErrorKind::kRefused, "the provider does not open");

  AbiCalls calls;
  calls.call = sample([&] { table.get_extension(reply.self, str("bench.unknown/1")); });
  calls.operation = sample([&] { table.lookup(reply.self, ++op, str("berth-bench-unknown")); });
  if (ended.other != 0 || ended.done != op)
    return fail(ErrorKind::kInternal, "not every lookup ended within its slot");
  table.shutdown(reply.self, ++op);
  return calls;
}

}  // namespace berth::bench
