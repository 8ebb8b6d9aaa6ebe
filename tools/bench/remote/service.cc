#include "tools/bench/remote/service.h"

#include <utility>

#include "core/base/ids.h"
#include "tools/bench/samples.h"

namespace berth::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};

}  // namespace

Task<Result<LoadedService>> load_service(boost::asio::any_io_executor executor, ServicePlan plan) {
  plugin::LoadRequest request;
  request.id = plan.id;
  request.file = plan.binary / ("../lib/berth/providers/" + plan.id + ".so");
  request.worker = plan.binary / "berth-worker";
  request.hosting = registry::Hosting::kInProcess;
  request.state_dir = plan.folder / plan.id;
  request.owner_tag = "berth-bench";
  auto& config = request.configuration.providers[plan.id].config;
  config["apiUrl"] = plan.url;
  config["caFile"] = plan.authority;
  config["pollFirstMs"] = 5;
  config["pollMostMs"] = 100;
  co_return co_await plugin::load_provider(executor, std::move(request));
}

Task<Result<std::vector<Created>>> make_sandboxes(Provider& provider, std::size_t count) {
  std::vector<Created> made;
  for (std::size_t i = 0; i < count; ++i) {
    CreateSpec spec;
    spec.owner_tag = "berth-bench";
    spec.languages = {"python"};
    OperationContext context{.deadline = now() + kPatience};
    auto answer =
        co_await provider.create(std::move(context), "berth-bench-" + random_hex(8), std::move(spec));
    if (!answer.outcome.done()) co_return fail(ErrorKind::kUnavailable, answer.outcome.message);
    made.push_back(std::move(answer.value));
  }
  co_return made;
}

Task<Status> end_sandboxes(Provider& provider, std::vector<Created> made) {
  for (const Created& one : made) {
    OperationContext context{.deadline = now() + kPatience};
    const auto answer = co_await provider.destroy(std::move(context), one.name, one.ref);
    if (!answer.outcome.done()) co_return fail(ErrorKind::kUnavailable, answer.outcome.message);
  }
  co_return Status{};
}

}  // namespace berth::bench
