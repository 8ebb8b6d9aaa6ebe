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
#include "tools/berth/reconcile_at.h"
#include "tools/berth/reconcile_report.h"

namespace berth::cli {
namespace {

// The providers that have something open, and the default one, whose resources are swept.
Task<Tried<std::set<std::string>>> choose_providers(Host& host, const ReconcileOptions& options) {
  IntentFilter filter;
  filter.owner = options.owner;
  filter.provider_id = options.provider;
  filter.name = options.name;
  filter.unresolved_only = options.name.empty();
  auto found = co_await providers_of(host, std::move(filter));
  if (!found) co_return tl::unexpected<Failure>(std::move(found).error());
  std::set<std::string> ids = std::move(*found);
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
    // Who says it is added to what was seen, never in its place.
    const bool blank = options.evidence.find_first_not_of(" \t\r\n\v\f") == std::string::npos;
    if (!blank) wanted.evidence = fmt::format("{} says: {}", user_name(), options.evidence);
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
    auto report = co_await reconcile_at(host, id, core_options(options));
    if (!report) co_return tl::unexpected<Failure>(std::move(report).error());
    summary.add(id, std::move(*report));
  }
  co_return summary;
}

}  // namespace

Task<int> reconcile_intents(Context& context, ReconcileOptions options) {
  auto host = Host::open_existing(context);
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
