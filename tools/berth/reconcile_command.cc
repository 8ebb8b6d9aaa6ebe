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
#include "tools/berth/absent_provider.h"
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
    // Who says it is added to what was seen, never in its place.
    const bool blank = options.evidence.find_first_not_of(" \t\r\n\v\f") == std::string::npos;
    if (!blank) wanted.evidence = fmt::format("{} says: {}", user_name(), options.evidence);
  }
  wanted.sweep = options.name.empty() && options.owner.empty();
  return wanted;
}

Failure failure_of(Error error) {
  const bool asked = error.kind() == ErrorKind::kNotFound || error.kind() == ErrorKind::kConflict ||
                     error.kind() == ErrorKind::kInvalidArgument;
  return {asked ? Exit::kInput : Exit::kState, std::move(error)};
}

Task<Tried<ReconcileReport>> reconcile_at(Host& host, const std::string& id,
                                          const ReconcileOptions& options) {
  berth::ReconcileOptions wanted = core_options(options);
  auto provider = co_await host.load(id, {});
  if (provider) {
    auto made = co_await reconcile((*provider)->services, std::move(wanted));
    if (!made) co_return tl::unexpected<Failure>(failure_of(std::move(made).error()));
    co_return std::move(*made);
  }
  const std::string why = provider.error().error.message();
  // An operator's word that nothing is there needs no provider, which may be gone for ever.
  if (wanted.established == Established::kAbsent) {
    AbsentProvider absent(id, why);
    LifecycleServices services = host.services_without(absent);
    auto made = co_await reconcile(services, std::move(wanted));
    if (!made) co_return tl::unexpected<Failure>(failure_of(std::move(made).error()));
    co_return std::move(*made);
  }
  ReconcileReport report;
  report.sweep_error =
      fmt::format("provider '{}' cannot be used, so nothing of it was settled: {}{}", id, why,
                  options.name.empty()
                      ? ""
                      : fmt::format("; what is known to be gone there is settled with `berth "
                                    "reconcile --name {} --established absent --evidence TEXT`",
                                    options.name));
  co_return report;
}

Task<Tried<ReconcileSummary>> reconcile_all(Context& context, Host& host,
                                            const ReconcileOptions& options) {
  auto ids = co_await choose_providers(host, options);
  if (!ids) co_return tl::unexpected<Failure>(std::move(ids).error());
  ReconcileSummary summary;
  for (const std::string& id : *ids) {
    if (context.cancellation.requested()) break;
    auto report = co_await reconcile_at(host, id, options);
    if (!report) co_return tl::unexpected<Failure>(std::move(report).error());
    summary.add(id, std::move(*report));
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
