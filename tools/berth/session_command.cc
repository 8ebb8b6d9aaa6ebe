// berth session retire: refuses new calls of a session and cleans what it still has.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/lifecycle/reconcile.h"
#include "tools/berth/commands.h"
#include "tools/berth/host.h"
#include "tools/berth/reconcile_at.h"
#include "tools/berth/records.h"

namespace berth::cli {
namespace {

boost::json::object to_json(const SessionRetireOptions& options, const RetireReport& report) {
  boost::json::array unresolved;
  for (const Intent& intent : report.unresolved) unresolved.push_back(cli::to_json(intent));
  boost::json::object document;
  document["owner"] = options.owner;
  document["session"] = options.session;
  document["state"] = to_string(report.state);
  document["cleaned"] = report.cleaned.count(ReconciledIntent::Result::kReleased);
  document["unresolved"] = std::move(unresolved);
  return document;
}

Exit print_text(Console& console, const SessionRetireOptions& options, const RetireReport& report) {
  for (const Intent& intent : report.unresolved) {
    console.error(fmt::format("{} is {}: {}", intent.name, to_string(intent.state),
                              intent.last_error.empty() ? "not settled" : intent.last_error));
  }
  const std::size_t cleaned = report.cleaned.count(ReconciledIntent::Result::kReleased);
  return console.print(fmt::format("session '{}' of '{}' is {}{}\n", printable(options.session),
                                   printable(options.owner), to_string(report.state),
                                   cleaned == 0 ? "" : fmt::format("; {} cleaned", cleaned)));
}

// The providers that the session still has something open with; the default one when there is none,
// since retiring needs a lifecycle, not a provider.
Task<Tried<std::set<std::string>>> providers_of(Host& host, const SessionRetireOptions& options) {
  IntentFilter filter;
  filter.owner = options.owner;
  filter.session = options.session;
  filter.unresolved_only = true;
  auto found = co_await cli::providers_of(host, std::move(filter));
  if (!found) co_return tl::unexpected<Failure>(std::move(found).error());
  std::set<std::string> ids = std::move(*found);
  if (ids.empty()) ids.insert(host.settings().provider);
  co_return ids;
}

Task<Tried<RetireReport>> retire_with_all(Host& host, const SessionRetireOptions& options) {
  auto ids = co_await providers_of(host, options);
  if (!ids) co_return tl::unexpected<Failure>(std::move(ids).error());
  RetireReport whole;
  for (const std::string& id : *ids) {
    auto provider = co_await host.load(id, {});
    if (!provider) co_return tl::unexpected<Failure>(std::move(provider).error());
    CallKey session;
    session.owner = options.owner;
    session.session = options.session;
    auto made = co_await berth::retire_session((*provider)->services, std::move(session));
    if (!made) co_return failed(Exit::kState, std::move(made).error());
    whole.state = made->state;
    whole.unresolved = std::move(made->unresolved);
    for (ReconciledIntent& intent : made->cleaned.intents) {
      if (intent.provider_id == id) whole.cleaned.intents.push_back(std::move(intent));
    }
  }
  co_return whole;
}

}  // namespace

Task<int> retire_session(Context& context, SessionRetireOptions options) {
  if (is_blank(options.owner) || is_blank(options.session)) {
    co_return report(context, {Exit::kUsage, Error(ErrorKind::kInvalidArgument,
                                                   "owner and session must not be blank")});
  }
  auto host = Host::open(context);
  if (!host) co_return report(context, host.error());
  auto retired = co_await retire_with_all(**host, options);
  co_await (*host)->close();
  if (!retired) co_return report(context, retired.error());
  const Exit printed = context.common.json
                           ? print_json(context.console, to_json(options, *retired))
                           : print_text(context.console, options, *retired);
  if (printed != Exit::kSuccess) co_return to_int(printed);
  co_return to_int(retired->state == SessionState::kRetired ? Exit::kSuccess : Exit::kFinding);
}

}  // namespace berth::cli
