// berth reconcile: settles what was interrupted, provider by provider, and says what it could not.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/lifecycle/reconcile.h"
#include "tools/berth/commands.h"
#include "tools/berth/host.h"
#include "tools/berth/reconcile_report.h"
#include "tools/berth/records.h"

namespace berth::cli {
namespace {

// The providers that have something open, and the default one, whose resources are swept.
Task<Tried<std::set<std::string>>> choose_providers(Host& host, const ReconcileOptions& options) {
  IntentFilter filter;
  filter.owner = options.owner;
  filter.provider_id = options.provider;
  filter.name = options.name;
  filter.unresolved_only = options.name.empty();
  std::set<std::string> ids;
  // Ends with the intents: each page begins after the last one of the page before.
  for (;;) {
    const auto page = co_await read_intents(host.store(), filter);
    if (!page) co_return failed(Exit::kState, page.error());
    for (const Intent& intent : *page) ids.insert(intent.provider_id);
    if (page->size() < filter.count_max) break;
    filter.after_name = page->back().name;
  }
  if (!options.provider.empty()) ids.insert(options.provider);
  if (options.name.empty() && options.owner.empty() && options.provider.empty()) {
    ids.insert(host.settings().provider);
  }
  if (ids.empty() && !options.name.empty()) {
    co_return failed(Exit::kInput, Error(ErrorKind::kNotFound, fmt::format("there is no intent '{}'",
                                                                           options.name)));
  }
  co_return ids;
}

berth::ReconcileOptions core_options(const ReconcileOptions& options) {
  berth::ReconcileOptions wanted;
  wanted.owner = options.owner;
  wanted.name = options.name;
  if (!options.established.empty()) {
    wanted.established = options.established == "absent" ? Established::kAbsent
                                                         : Established::kPresent;
    wanted.evidence = fmt::format("{} says: {}", user_name(), options.evidence);
  }
  wanted.sweep = options.name.empty() && options.owner.empty();
  return wanted;
}

Task<Tried<ReconcileSummary>> reconcile_all(Context& context, Host& host,
                                            const ReconcileOptions& options) {
  auto ids = co_await choose_providers(host, options);
  if (!ids) co_return tl::unexpected<Failure>(std::move(ids).error());
  ReconcileSummary summary;
  for (const std::string& id : *ids) {
    if (context.cancellation.requested()) break;
    auto provider = co_await host.load(id, {});
    if (!provider) {
      summary.problems.push_back(fmt::format("provider '{}' cannot be used, so nothing of it was "
                                             "settled: {}",
                                             id, provider.error().error.message()));
      continue;
    }
    berth::ReconcileOptions wanted = core_options(options);
    auto made = co_await reconcile((*provider)->services, std::move(wanted));
    if (!made) {
      const bool asked = made.error().kind() == ErrorKind::kNotFound ||
                         made.error().kind() == ErrorKind::kConflict ||
                         made.error().kind() == ErrorKind::kInvalidArgument;
      co_return failed(asked ? Exit::kInput : Exit::kState, std::move(made).error());
    }
    summary.add(id, std::move(*made));
  }
  co_return summary;
}

}  // namespace

Task<int> reconcile_intents(Context& context, ReconcileOptions options) {
  auto host = Host::open(context);
  if (!host) co_return report(context, host.error());
  auto summary = co_await reconcile_all(context, **host, options);
  co_await (*host)->close();
  if (!summary) co_return report(context, summary.error());
  const Exit printed = context.common.json ? print_json(context.console, to_json(*summary))
                                           : print_text(context.console, *summary);
  if (printed != Exit::kSuccess) co_return to_int(printed);
  if (context.interrupted_by != 0) co_return exit_of_signal(context.interrupted_by);
  co_return to_int(summary->settled() ? Exit::kSuccess : Exit::kFinding);
}

}  // namespace berth::cli
