// berth drain: ends everything that providers still have open, under the credentials it was made with,
// so that another provider, account or key can be selected.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/berth/commands.h"
#include "tools/berth/host.h"
#include "tools/berth/reconcile_at.h"
#include "tools/berth/reconcile_report.h"
#include "tools/berth/records.h"

namespace berth::cli {
namespace {

struct Drained {
  ReconcileSummary settled;
  std::map<std::string, std::vector<Intent>> open;  // of each provider that was drained, afterwards

  bool whole() const {
    if (!settled.settled()) return false;
    for (const auto& [id, intents] : open)
      if (!intents.empty()) return false;
    return true;
  }
};

Task<Tried<std::vector<Intent>>> open_intents(Host& host, const std::string& id) {
  IntentFilter filter;
  filter.provider_id = id;
  filter.unresolved_only = true;
  filter.with_results = false;
  auto found = co_await read_intents(host.store(), std::move(filter));
  if (!found) co_return failed(Exit::kState, found.error());
  co_return std::move(*found);
}

Task<Tried<Drained>> drain(Context& context, Host& host, const std::string& provider) {
  IntentFilter filter;
  filter.provider_id = provider;
  filter.unresolved_only = true;
  filter.with_results = false;
  auto ids = co_await providers_of(host, std::move(filter));
  if (!ids) co_return tl::unexpected<Failure>(std::move(ids).error());
  if (!provider.empty()) ids->insert(provider);
  Drained out;
  for (const std::string& id : *ids) {
    if (context.cancellation.requested()) break;
    berth::ReconcileOptions everything;
    everything.sweep = true;
    auto report = co_await reconcile_at(host, id, std::move(everything));
    if (!report) co_return tl::unexpected<Failure>(std::move(report).error());
    out.settled.add(id, std::move(*report));
    auto open = co_await open_intents(host, id);
    if (!open) co_return tl::unexpected<Failure>(std::move(open).error());
    out.open.emplace(id, std::move(*open));
  }
  co_return out;
}

boost::json::object to_json(const Drained& drained) {
  boost::json::object document = to_json(drained.settled);
  boost::json::object providers;
  for (const auto& [id, intents] : drained.open) {
    boost::json::array open;
    for (const Intent& intent : intents) open.push_back(cli::to_json(intent));
    providers[id] = std::move(open);
  }
  document["drained"] = drained.whole();
  document["open"] = std::move(providers);
  return document;
}

Exit print_text(Console& console, const Drained& drained) {
  const Exit printed = print_text(console, drained.settled);
  if (printed != Exit::kSuccess) return printed;
  for (const auto& [id, intents] : drained.open) {
    const Exit line = console.print(
        intents.empty()
            ? fmt::format("provider '{}' has nothing open\n", printable(id))
            : fmt::format("provider '{}' still has {} open; see `berth intents --unresolved "
                          "--provider {}`\n",
                          printable(id), intents.size(), printable(id)));
    if (line != Exit::kSuccess) return line;
  }
  return Exit::kSuccess;
}

}  // namespace

Task<int> drain_providers(Context& context, DrainOptions options) {
  auto host = Host::open_existing(context);
  if (!host) co_return report(context, host.error());
  auto drained = co_await drain(context, **host, options.provider);
  co_await (*host)->close();
  if (!drained) co_return report(context, drained.error());
  const Exit printed = context.common.json ? print_json(context.console, to_json(*drained))
                                           : print_text(context.console, *drained);
  if (printed != Exit::kSuccess) co_return to_int(printed);
  if (context.interrupted_by != 0) co_return exit_of_signal(context.interrupted_by);
  co_return to_int(drained->whole() ? Exit::kSuccess : Exit::kFinding);
}

}  // namespace berth::cli
