#include "tools/berth/reconcile_at.h"

#include <fmt/format.h>

#include <utility>

#include "tools/berth/absent_provider.h"
#include "tools/berth/records.h"

namespace berth::cli {
namespace {

Failure reconcile_failure(Error error) {
  const bool asked = error.kind() == ErrorKind::kNotFound || error.kind() == ErrorKind::kConflict ||
                     error.kind() == ErrorKind::kInvalidArgument;
  return {asked ? Exit::kInput : Exit::kState, std::move(error)};
}

}  // namespace

Task<Tried<std::set<std::string>>> providers_of(Host& host, IntentFilter filter) {
  std::set<std::string> ids;
  // Ends with the intents: each page begins after the last one of the page before.
  for (;;) {
    const auto page = co_await read_intents(host.store(), filter);
    if (!page) co_return failed(Exit::kState, page.error());
    for (const Intent& intent : *page) ids.insert(intent.provider_id);
    if (page->size() < filter.count_max) co_return ids;
    filter.after_name = page->back().name;
  }
}

Task<Tried<ReconcileReport>> reconcile_at(Host& host, const std::string& id,
                                          berth::ReconcileOptions wanted) {
  const std::string name = wanted.name;
  auto provider = co_await host.load(id, {});
  if (provider) {
    auto made = co_await reconcile((*provider)->services, std::move(wanted));
    if (!made) co_return tl::unexpected<Failure>(reconcile_failure(std::move(made).error()));
    co_return std::move(*made);
  }
  const std::string why = provider.error().error.message();
  // An operator's word that nothing is there needs no provider, which may be gone for ever.
  if (wanted.established == Established::kAbsent) {
    AbsentProvider absent(id, why);
    wanted.provider_gone = true;
    LifecycleServices services = host.services_without(absent);
    auto made = co_await reconcile(services, std::move(wanted));
    if (!made) co_return tl::unexpected<Failure>(reconcile_failure(std::move(made).error()));
    co_return std::move(*made);
  }
  ReconcileReport report;
  report.sweep_error =
      fmt::format("provider '{}' cannot be used, so nothing of it was settled: {}{}", id, why,
                  name.empty()
                      ? ""
                      : fmt::format("; what is known to be gone there is settled with `berth "
                                    "reconcile --name {} --established absent --evidence TEXT`",
                                    name));
  co_return report;
}

}  // namespace berth::cli
